// SPDX-License-Identifier: Apache-2.0
#include "attention/lengths.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "base/decimal_text.h"
#include "base/error.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

// Checks one element; the error names it.
void check_length(const Operand& lens, const char* name, int64_t b, int64_t q, const LengthsFor& rows, bool per_query) {
  const int64_t num_keys = rows.num_keys;
  char shown[32];
  if (lens.dtype == DType::F32) {
    const float length = static_cast<const float*>(lens.data)[b * lens.strides[0] + q * lens.strides[2]];
    // Compared as doubles: in f32 num_keys may be rounded up, so that a greater length would pass. False for NaN.
    const auto wide = static_cast<double>(length);
    if (wide >= 0 && wide <= static_cast<double>(num_keys) && std::floor(wide) == wide) return;
    std::snprintf(shown, sizeof shown, "%s", DecimalText(wide, 9).c_str());
  } else {
    const int64_t length = length_of(lens, b, q);
    if (length >= 0 && length <= num_keys) return;
    std::snprintf(shown, sizeof shown, "%" PRId64, length);
  }
  char index[64];
  if (per_query) {
    std::snprintf(index, sizeof index, "[%" PRId64 ", %" PRId64 "]", b, q);
  } else {
    std::snprintf(index, sizeof index, "[%" PRId64 "]", b);
  }
  fail(Status::InvalidArgument, "%s%s is %s, expected a whole number from 0 to the number of %s, %" PRId64, name, index,
       shown, rows.counted, num_keys);
}

}  // namespace

Operand lengths_operand(const Tensor& lens, const char* name, const LengthsFor& rows, bool read) {
  if (lens.dtype() != DType::F32 && lens.dtype() != DType::I32 && lens.dtype() != DType::I64) {
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") ", " DTYPE("I32") " or " DTYPE("I64"), name,
         term_of(lens.dtype()));
  }
  const bool per_query = lens.rank() == 2;
  if (!(lens.shape() == Shape{rows.batch} || lens.shape() == Shape{rows.batch, rows.num_queries})) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected (%" PRId64 ") for the batch or (%" PRId64 ", %" PRId64
                                    ") for batch and queries",
         name, to_string(lens.shape()).c_str(), rows.batch, rows.batch, rows.num_queries);
  }
  Operand operand;
  set_operand(operand, lens, {0, -1, per_query ? 1 : -1, -1});
  if (!read) operand.data = nullptr;
  if (operand.data == nullptr) return operand;
  for (int64_t b = 0; b < rows.batch; ++b) {
    for (int64_t q = 0; q < (per_query ? rows.num_queries : 1); ++q) check_length(operand, name, b, q, rows, per_query);
  }
  return operand;
}

}  // namespace heed
