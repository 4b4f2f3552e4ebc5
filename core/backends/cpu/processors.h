// SPDX-License-Identifier: Apache-2.0
// How many processors the process may use: what it may run on, and how much time of it.
#pragma once

#include <cstdint>

namespace heed::cpu {

// Those the calling thread may run on, and no more than the time that its control groups allow would keep busy. From 1
// to kMaxThreads. Allocates nothing.
int32_t count_processors();

// By the time allowed alone, rounded up; 0 where there is no limit. `groups` lists the process's control groups as
// /proc/self/cgroup does, `root` is where they are mounted. Those of version 1 and 2, and all above them, count.
int32_t count_processors_of_quota(const char* groups, const char* root);

}  // namespace heed::cpu
