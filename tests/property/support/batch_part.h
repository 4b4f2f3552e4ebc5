// SPDX-License-Identifier: Apache-2.0
// Some items of a batch, for what must be the same with and without the others.
#pragma once

#include <cstdint>

#include "support/call.h"

namespace heed::property {

// The call with these items alone, which have the strides that they have in the whole.
Call part_of_batch(const Call& call, int64_t first, int64_t count);

// What these items have got.
Results part_of_batch(const Results& results, int64_t first, int64_t count);

}  // namespace heed::property
