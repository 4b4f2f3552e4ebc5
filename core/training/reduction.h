// SPDX-License-Identifier: Apache-2.0
// How the losses of rows or elements become one number.
#pragma once

#include <cstdint>

namespace heed {

// The same numbers as HEED_LOSS_ in heed.h.
enum class LossReduction : int32_t { Mean = 0, Sum = 1, MeanOfItems = 2 };

}  // namespace heed
