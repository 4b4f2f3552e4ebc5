// SPDX-License-Identifier: Apache-2.0
// Some batch elements of a call, to compare their results with those in the whole batch.
#pragma once

#include <cstdint>

#include "support/call.h"

namespace heed::property {

// The call with batch elements first to first + count - 1, in tensors with the same strides as the whole batch.
Call part_of_batch(const Call& call, int64_t first, int64_t count);

// The call's results of these batch elements.
Results part_of_batch(const Call& call, const Results& results, int64_t first, int64_t count);

}  // namespace heed::property
