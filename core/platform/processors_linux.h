// SPDX-License-Identifier: Apache-2.0
// The part of processors_linux.cc that tests call with files of their own.
#pragma once

#include <cstdint>

namespace heed::platform {

// The limit on processor time of the control groups, in processors and rounded up; 0 if there is no limit. `groups` is
// a file that lists the process's control groups as /proc/self/cgroup does, `root` the folder where their hierarchies
// are mounted. Versions 1 and 2 are supported, and the limits of all parent groups are included.
int32_t count_processors_of_quota(const char* groups, const char* root) noexcept;

}  // namespace heed::platform
