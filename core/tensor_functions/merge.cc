// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/merge.h"

#include <cstdio>
#include <vector>

#include "base/error.h"
#include "ops/merge.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// "outputs[2]".
struct ElementName {
  char text[40];
  ElementName(const char* array, size_t index) { std::snprintf(text, sizeof text, "%s[%zu]", array, index); }
};

// An operand with the tensor's last axes; `missing` axes at the end are not the tensor's.
void set_operand(ElementwiseOperand& operand, const Tensor& tensor, int32_t missing) {
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  const int32_t first = kElementwiseRank - missing - tensor.rank();
  for (int32_t axis = 0; axis < tensor.rank(); ++axis)
    operand.strides[first + axis] = tensor.dim(axis) == 1 ? 0 : tensor.stride(axis);
}

Shape without_last(const Shape& shape) {
  Shape result = shape;
  --result.rank;
  return result;
}

void check_f32(const Argument& argument) {
  if (argument.tensor.dtype() == DType::F32) return;
  fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32"), argument.name, term_of(argument.tensor.dtype()));
}

// Checks a part against the first one.
void check_part(std::span<const AttentionPart> parts, size_t index) {
  const ElementName output_name("outputs", index);
  const ElementName log_sum_exp_name("log_sum_exps", index);
  const Argument first{"outputs[0]", parts[0].output};
  const Argument output{output_name.text, parts[index].output};
  const Argument log_sum_exp{log_sum_exp_name.text, parts[index].log_sum_exp};
  check_input(output);
  if (output.tensor.rank() < 2) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s of rank %d, expected rank 2 to %d, (..., Q, Dv)",
         output.name, to_string(output.tensor.shape()).c_str(), output.tensor.rank(), kMaxRank);
  }
  if (index > 0) {
    check_same_device(output, first);
    check_shape(output, first.tensor.shape(), "the " ARGUMENT("dims") " of outputs[0]");
    if (output.tensor.dtype() != first.tensor.dtype()) {
      fail(Status::InvalidArgument, "%s is %s, but outputs[0] is %s: expected the same " WORD("dtype"), output.name,
           term_of(output.tensor.dtype()), term_of(first.tensor.dtype()));
    }
  }
  check_same_device(log_sum_exp, first);
  check_f32(log_sum_exp);
  check_shape(log_sum_exp, without_last(first.tensor.shape()),
              "the " ARGUMENT("dims") " of outputs[0] without the last");
}

void check_sinks(const Argument& sinks, const Argument& first) {
  check_same_device(sinks, first);
  check_f32(sinks);
  const int32_t rank = first.tensor.rank();
  if (rank < 3) {
    fail(Status::InvalidArgument,
         "sinks is set, but outputs[0] has " ARGUMENT("dims") " %s without an axis of heads, expected " WORD("NULL"),
         to_string(first.tensor.shape()).c_str());
  }
  check_shape(sinks, {first.tensor.dim(rank - 3)}, "one for each head of outputs[0], (..., H, Q, Dv)");
}

}  // namespace

void merge_attention(std::span<const AttentionPart> parts, const Tensor* sinks, const Tensor* output,
                     const Tensor* log_sum_exp) {
  for (size_t i = 0; i < parts.size(); ++i) check_part(parts, i);
  const Argument first{"outputs[0]", parts[0].output};
  if (sinks != nullptr) check_sinks({"sinks", *sinks}, first);
  if (output == nullptr && log_sum_exp == nullptr)
    fail(Status::InvalidArgument, "output and log_sum_exp are " WORD("NULL") ", expected at least one of them");
  if (output != nullptr)
    check_result({"output", *output}, first.tensor.shape(), "the " ARGUMENT("dims") " of outputs[0]", first);
  if (log_sum_exp != nullptr) {
    const Argument result{"log_sum_exp", *log_sum_exp};
    check_same_device(result, first);
    check_f32(result);
    check_shape(result, without_last(first.tensor.shape()), "the " ARGUMENT("dims") " of outputs[0] without the last");
  }
  const auto check_result_memory = [&](const Argument& result) {
    for (size_t i = 0; i < parts.size(); ++i) {
      check_memory(result, {ElementName("outputs", i).text, parts[i].output});
      check_memory(result, {ElementName("log_sum_exps", i).text, parts[i].log_sum_exp});
    }
    if (sinks != nullptr) check_memory(result, {"sinks", *sinks});
  };
  if (output != nullptr) check_result_memory({"output", *output});
  if (log_sum_exp != nullptr) check_result_memory({"log_sum_exp", *log_sum_exp});
  if (output != nullptr && log_sum_exp != nullptr) check_memory({"log_sum_exp", *log_sum_exp}, {"output", *output});

  std::vector<MergePart> operands(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    set_operand(operands[i].output, parts[i].output, 0);
    set_operand(operands[i].log_sum_exp, parts[i].log_sum_exp, 1);
  }
  MergeProblem problem;
  const Shape& shape = first.tensor.shape();
  for (int32_t axis = 0; axis < shape.rank; ++axis) problem.sizes[kElementwiseRank - shape.rank + axis] = shape[axis];
  problem.parts = operands.data();
  problem.num_parts = static_cast<int64_t>(operands.size());
  if (sinks != nullptr) set_operand(problem.sinks, *sinks, 2);
  if (output != nullptr) set_operand(problem.output, *output, 0);
  if (log_sum_exp != nullptr) set_operand(problem.log_sum_exp, *log_sum_exp, 1);
  for (int32_t axis = 0; axis + 1 < shape.rank; ++axis) {
    if (shape[axis] == 0) return;
  }
  PooledCall(context_of(output != nullptr ? *output : *log_sum_exp), "heed_attention_merge", "merge", problem.op).run();
}

}  // namespace heed
