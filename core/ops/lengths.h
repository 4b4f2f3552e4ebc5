// SPDX-License-Identifier: Apache-2.0
// Reads elements of valid_lens, which may be F32, I32 or I64.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

// The valid length of row (b, q), from a checked operand with axes (b, -, q, -). No other function depends on the dtype
// of lengths.
int64_t length_of(const Operand& valid_lens, int64_t b, int64_t q);

}  // namespace heed
