// SPDX-License-Identifier: Apache-2.0
// The part of processors_linux.cc that tests call with files of their own.
#pragma once

#include <cstdint>

namespace heed::platform {

// How many processors the limits on processor time of the control groups keep busy, rounded up; 0 where there is no
// limit. `groups` is a file that lists the process's control groups as /proc/self/cgroup does, `root` the folder where
// their hierarchies are mounted. Versions 1 and 2 count, and the limits of all parent groups.
int32_t count_processors_of_quota(const char* groups, const char* root) noexcept;

}  // namespace heed::platform
