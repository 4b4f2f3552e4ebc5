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
  if (input.tensor.rank() == 0)
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " () of rank 0, expected rank 1 to %d", input.name,
         kMaxRank);
}

void check_same_device(const Argument& argument, const Argument& as) {
  check_same_device(argument.name, argument.tensor.device_name(), as.name, as.tensor.device_name());
}

void check_result(const Argument& result, const Shape& expected, const char* what, const Argument& input) {
  check_same_device(result, input);
  if (!(result.tensor.shape() == expected)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, %s", result.name,
         to_string(result.tensor.shape()).c_str(), to_string(expected).c_str(), what);
  }
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
  if (overlaps(result.tensor, input.tensor))
    fail(Status::InvalidArgument, "%s shares memory with %s, expected separate memory", result.name, input.name);
}

// The memory of every tensor of the C functions is a context. If it is not, the cast throws, which is reported as an
// internal error.
const Context& context_of(const Tensor& tensor) { return dynamic_cast<const Context&>(*tensor.memory()); }

}  // namespace heed
