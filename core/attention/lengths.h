// SPDX-License-Identifier: Apache-2.0
// Checks of valid_lens, which may be F32, I32 or I64.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

class Tensor;

// What the lengths must fit: rows (batch, num_queries) with num_keys keys each, or whatever `counted` says they count.
struct LengthsFor {
  int64_t batch = 0;
  int64_t num_queries = 0;
  int64_t num_keys = 0;
  const char* counted = "keys";
};

// Makes an operand with axes (b, -, q, -) from the tensor valid_lens, (batch) or (batch, num_queries), in host memory.
// `name`: the name of the argument in messages. Without `read` the operand has no data and elements are not checked.
// Throws InvalidArgument for another dtype or shape, or for an element that is no whole number from 0 to num_keys.
Operand lengths_operand(const Tensor& lens, const char* name, const LengthsFor& rows, bool read);

}  // namespace heed
