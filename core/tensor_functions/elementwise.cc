// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/elementwise.h"

#include <cstdint>
#include <initializer_list>

#include "base/error.h"
#include "ops/elementwise.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/integers.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// A quotient of integers need not be one.
void check_quotient(const Argument& a, const Argument& b) {
  fail(Status::InvalidArgument,
       "%s is %s and %s is %s, and a quotient of integers need not be an integer: copy one of them into " WORD(
           "a tensor") " of " DTYPE("F32") " first, and truncate the result if integers are wanted",
       a.name, term_of(a.tensor.dtype()), b.name, term_of(b.tensor.dtype()));
}

// Integers for which a remainder or a power of integers does not exist.
void check_integers(ElementFunction function, const Argument& a, const Argument& b) {
  if (function == ElementFunction::Remainder) {
    if (const auto zero = find_integer(b.tensor, [](int64_t value) { return value == 0; })) {
      fail(Status::InvalidArgument, "%s has 0 at index %s, expected integers other than 0 for a remainder", b.name,
           index_text(b.tensor.shape(), zero->position).c_str());
    }
  }
  if (function == ElementFunction::Power) {
    if (const auto negative = find_integer(b.tensor, [](int64_t value) { return value < 0; })) {
      fail(Status::InvalidArgument,
           "%s has a negative number at index %s, expected at least 0 for a power of integers: copy %s into " WORD(
               "a tensor") " of " DTYPE("F32") " first",
           b.name, index_text(b.tensor.shape(), negative->position).c_str(), a.name);
    }
  }
}

// Checks devices, shapes and memory, and runs the function. `compute` is the dtype of the problem, `name` that of the C function.
void run(const char* name, ElementFunction function, DType compute, std::initializer_list<Argument> inputs,
         const Argument& result) {
  const Shape shape = broadcast_shape(inputs);
  const Argument& first = *inputs.begin();
  for (const Argument& input : inputs) check_same_device(input, first);
  check_same_device(result, first);
  check_shape(result, shape, inputs.size() == 1 ? "those of the input" : "to which the inputs are broadcast");
  result.tensor.require_writable(result.name);
  for (const Argument& input : inputs) check_in_place(result, input);
  if (result.tensor.num_elements() == 0) return;
  if (is_integer(compute) && inputs.size() == 2) check_integers(function, first, *(inputs.begin() + 1));

  ElementwiseProblem problem;
  problem.function = function;
  problem.compute = compute;
  for (int32_t axis = 0; axis < shape.rank; ++axis) problem.sizes[kElementwiseRank - shape.rank + axis] = shape[axis];
  int number = 0;
  for (const Argument& input : inputs) set_broadcast_operand(problem.inputs[number++], input.tensor, shape);
  set_broadcast_operand(problem.output, result.tensor, shape);
  merge_axes(problem.sizes, {&problem.inputs[0], &problem.inputs[1], &problem.inputs[2], &problem.output});
  PooledCall(context_of(result.tensor), name, "function of elements", problem.op).run();
}

}  // namespace

void elementwise(ElementFunction function, const Tensor& a, const Tensor* b, const Tensor& result,
                 const CalledAs& called_as) {
  const Argument first = {ARGUMENT("a"), a};
  const Argument second = {ARGUMENT("b"), b != nullptr ? *b : a};
  const Argument output = {called_as.result, result};
  const FunctionElements elements = row_of(function).elements;
  DType common = DType::Bool;
  if (elements == FunctionElements::Comparison && a.dtype() == DType::Bool && second.tensor.dtype() == DType::Bool) {
    common = DType::Bool;
  } else if (elements != FunctionElements::Truth) {
    common = common_dtype(first, second);
  }
  if (function == ElementFunction::Divide && is_integer(common)) check_quotient(first, second);
  const bool is_real = elements == FunctionElements::Real || elements == FunctionElements::Property;
  if (is_real && is_integer(common)) common = DType::F32;
  if (gives_truth(function)) {
    check_dtype(output, DType::Bool, "since it is a truth value");
  } else {
    check_dtype(output, common, "the " WORD("dtype") " of the result");
  }
  if (b == nullptr) {
    run(called_as.function, function, compute_dtype(common), {first}, output);
  } else {
    run(called_as.function, function, compute_dtype(common), {first, second}, output);
  }
}

void select(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& result) {
  if (condition.dtype() != DType::Bool) {
    fail(Status::InvalidArgument, "condition is %s, expected " DTYPE("BOOL") ": compare it with 0 first",
         term_of(condition.dtype()));
  }
  const Argument first = {ARGUMENT("a"), a};
  const Argument second = {ARGUMENT("b"), b};
  const DType common = a.dtype() == b.dtype() ? a.dtype() : common_dtype(first, second);
  check_dtype({"result", result}, common, "the " WORD("dtype") " of the result");
  run("heed_select", ElementFunction::Select, compute_dtype(common), {{"condition", condition}, first, second},
      {"result", result});
}

void clip(const Tensor& tensor, const Tensor* low, const Tensor* high, const Tensor& result) {
  const Argument clipped = {ARGUMENT("tensor"), tensor};
  const Argument output = {"result", result};
  check_number(clipped);
  const auto check_limit = [&](const char* name, const Tensor* limit) {
    if (limit == nullptr || limit->dtype() == tensor.dtype()) return;
    fail(Status::InvalidArgument, "%s is %s, expected %s, the " WORD("dtype") " of " ARGUMENT("tensor"), name,
         term_of(limit->dtype()), term_of(tensor.dtype()));
  };
  check_limit("low", low);
  check_limit("high", high);
  check_dtype(output, tensor.dtype(), "the " WORD("dtype") " of " ARGUMENT("tensor"));
  const DType compute = compute_dtype(tensor.dtype());
  constexpr const char* kName = "heed_clip";
  if (low != nullptr && high != nullptr) {
    run(kName, ElementFunction::Clip, compute, {clipped, {"low", *low}, {"high", *high}}, output);
  } else if (low != nullptr) {
    run(kName, ElementFunction::Maximum, compute, {clipped, {"low", *low}}, output);
  } else if (high != nullptr) {
    run(kName, ElementFunction::Minimum, compute, {clipped, {"high", *high}}, output);
  } else {
    fail(Status::InvalidArgument, "low and high are " WORD("NULL") ", expected at least one of them");
  }
}

}  // namespace heed
