// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/check.h"

#include "base/error.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/overlap.h"

namespace heed {

void check_input(const Argument& input) {
  const DType dtype = input.tensor.dtype();
  if (!is_computable(dtype)) {
    fail(Status::InvalidArgument,
         "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") " or " DTYPE("BF16") ": copy it into " WORD(
             "a tensor") " of one of these first",
         input.name, term_of(dtype));
  }
  check_has_axis(input);
}

void check_has_axis(const Argument& input) {
  if (input.tensor.rank() > 0) return;
  fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " () of rank 0, expected rank 1 to %d", input.name,
       kMaxRank);
}

void check_index_dtype(const Argument& indices) {
  if (is_integer(indices.tensor.dtype())) return;
  fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("I32") " or " DTYPE("I64"), indices.name,
       term_of(indices.tensor.dtype()));
}

int32_t checked_axis(int32_t axis, const Argument& tensor) {
  const int32_t normal_axis = normalize_axis(axis, tensor.tensor.rank());
  if (normal_axis >= 0) return normal_axis;
  fail(Status::InvalidArgument, "axis is %d, but %s has " ARGUMENT("dims") " %s of rank %d", axis, tensor.name,
       to_string(tensor.tensor.shape()).c_str(), tensor.tensor.rank());
}

void check_shape(const Argument& result, const Shape& expected, const char* what) {
  if (result.tensor.shape() == expected) return;
  fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, %s", result.name,
       to_string(result.tensor.shape()).c_str(), to_string(expected).c_str(), what);
}

std::string index_text(const Shape& shape, int64_t position) {
  Shape index = shape;
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    index[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return to_string(index);
}

void check_same_device(const Argument& argument, const Argument& as) {
  check_same_device(argument.name, argument.tensor.device_name(), as.name, as.tensor.device_name());
}

void check_result(const Argument& result, const Shape& expected, const char* what, const Argument& input) {
  check_same_device(result, input);
  check_shape(result, expected, what);
  const DType dtype = result.tensor.dtype();
  if (dtype == DType::F32 || dtype == input.tensor.dtype()) return;
  if (input.tensor.dtype() == DType::F32) {
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") ", the " WORD("dtype") " of %s", result.name,
         term_of(dtype), input.name);
  }
  fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") " or the " WORD("dtype") " of %s, %s", result.name,
       term_of(dtype), input.name, term_of(input.tensor.dtype()));
}

void check_memory(const Argument& result, const Argument& input) {
  input.tensor.require_data(input.name);
  result.tensor.require_writable(result.name);
  require_separate(result.tensor, result.name, input.tensor, input.name);
}

// The memory of every tensor of the C functions is a context. If it is not, the cast throws, which is reported as an
// internal error.
const Context& context_of(const Tensor& tensor) { return dynamic_cast<const Context&>(*tensor.memory()); }

}  // namespace heed
