// SPDX-License-Identifier: Apache-2.0
// The elements of valid_lens, which may be F32, I32 or I64.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

// The valid length of row (b, q): an element of an operand with axes (b, -, q, -) that has been checked. The only
// function that knows the dtypes of lengths.
int64_t length_of(const Operand& valid_lens, int64_t b, int64_t q);

}  // namespace heed
