// SPDX-License-Identifier: Apache-2.0
// How many processors the process may use.
#pragma once

#include <cstdint>

namespace heed::platform {

// The processors that the calling thread may run on, or fewer where a limit on the process's processor time keeps only
// fewer of them busy. At least 1. Allocates nothing.
int32_t count_processors() noexcept;

}  // namespace heed::platform
