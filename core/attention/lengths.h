// SPDX-License-Identifier: Apache-2.0
// valid_lens, which may be F32, I32 or I64: checking them.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

class Tensor;

// What lengths are for: rows (batch, num_queries), each with num_keys keys.
struct LengthsFor {
  int64_t batch = 0;
  int64_t num_queries = 0;
  int64_t num_keys = 0;
};

// The operand of valid_lens, axes (b, -, q, -), from a tensor (batch) or (batch, num_queries) in the host's memory.
// Throws InvalidArgument for another dtype or shape and, where `read` and there are data, for an element that is no
// length; without `read` the operand has no data. `name` is the argument's.
Operand lengths_operand(const Tensor& lens, const char* name, const LengthsFor& rows, bool read);

}  // namespace heed
