// SPDX-License-Identifier: Apache-2.0
// How many processors the process may use.
#pragma once

#include <cstdint>

namespace heed::platform {

// The number of processors that the calling thread may run on, or a smaller number if the limit on the process's
// processor time allows less. At least 1. Allocates nothing.
int32_t count_processors() noexcept;

}  // namespace heed::platform
