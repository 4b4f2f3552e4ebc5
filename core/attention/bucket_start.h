// SPDX-License-Identifier: Apache-2.0
// Where the buckets of a relative bias begin that are for several distances each.
#pragma once

#include <cstdint>

namespace heed {

// The smallest whole number that is not below first * (last / first)^(part / num_parts), exactly: the first distance of a
// bucket. 1 <= first < last <= 2^20, 0 <= part <= num_parts <= 2^20, num_parts >= 1.
int64_t bucket_start(int64_t first, int64_t last, int64_t part, int64_t num_parts);

}  // namespace heed
