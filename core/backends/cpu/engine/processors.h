// SPDX-License-Identifier: Apache-2.0
// How many processors the process may use.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/backend.h"
#include "platform/processors.h"

namespace heed::cpu {

// platform::count_processors(), at most kMaxThreads.
inline int32_t count_processors() { return std::min(platform::count_processors(), kMaxThreads); }

}  // namespace heed::cpu
