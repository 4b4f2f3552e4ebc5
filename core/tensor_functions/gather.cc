// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/gather.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "ops/gather.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/integers.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// Throws for an index outside -axis_size .. axis_size - 1.
void check_indices(const Argument& indices, int64_t axis_size, int32_t axis) {
  const auto wrong =
      find_integer(indices.tensor, [axis_size](int64_t index) { return index < -axis_size || index >= axis_size; });
  if (!wrong) return;
  const std::string where = index_text(indices.tensor.shape(), wrong->position);
  if (axis_size == 0) {
    fail(Status::InvalidArgument,
         "%s has %" PRId64 " at index %s, but axis %d of " ARGUMENT("tensor") " has size 0, expected at least 1",
         indices.name, wrong->value, where.c_str(), axis);
  }
  fail(Status::InvalidArgument,
       "%s has %" PRId64 " at index %s, expected %" PRId64 " to %" PRId64
       ", since axis %d of " ARGUMENT("tensor") " has size %" PRId64,
       indices.name, wrong->value, where.c_str(), -axis_size, axis_size - 1, axis, axis_size);
}

// Where the axes of the result are in the tensor and in the indices; -1: not there.
struct ChosenAxes {
  Shape result;
  int32_t of_tensor[kElementwiseRank];
  int32_t of_indices[kElementwiseRank];
  int32_t chosen = 0;  // the axis of the problem that stands for the tensor's
};

void run(const Tensor& tensor, const Tensor& indices, int32_t axis, const Tensor& result, const ChosenAxes& axes,
         const char* function) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const Argument output = {"result", result};
  check_same_device({"indices", indices}, input);
  check_same_device(output, input);
  if (result.dtype() != tensor.dtype()) {
    fail(Status::InvalidArgument, "result is %s, expected %s, the " WORD("dtype") " of " ARGUMENT("tensor"),
         term_of(result.dtype()), term_of(tensor.dtype()));
  }
  check_memory(output, input);
  check_memory(output, {"indices", indices});
  check_index_dtype({"indices", indices});
  if (result.num_elements() == 0) return;
  check_indices({"indices", indices}, tensor.dim(axis), axis);

  GatherProblem problem;
  int32_t of_result[kElementwiseRank];
  const int32_t missing = kElementwiseRank - axes.result.rank;
  for (int32_t i = 0; i < kElementwiseRank; ++i) {
    of_result[i] = std::max(i - missing, -1);
    problem.sizes[i] = i < missing ? 1 : axes.result[i - missing];
  }
  set_operand(problem.input, tensor, axes.of_tensor);
  set_operand(problem.indices, indices, axes.of_indices);
  set_operand(problem.output, result, of_result);
  problem.axis = axes.chosen;
  problem.axis_size = tensor.dim(axis);
  problem.input.strides[axes.chosen] = tensor.dim(axis) == 1 ? 0 : tensor.stride(axis);
  PooledCall(context_of(result), function, "gathering", problem.op).run();
}

}  // namespace

void gather(const Tensor& tensor, const Tensor& indices, int32_t axis, const Tensor& result) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const int32_t chosen = checked_axis(axis, input);
  ChosenAxes axes;
  axes.result = tensor.shape();
  if (indices.rank() == tensor.rank()) axes.result[chosen] = indices.dim(chosen);
  bool fits = indices.rank() == tensor.rank();
  for (int32_t other = 0; fits && other < tensor.rank(); ++other)
    fits = other == chosen || indices.dim(other) == 1 || indices.dim(other) == tensor.dim(other);
  if (!fits) {
    fail(Status::InvalidArgument,
         "indices has " ARGUMENT("dims") " %s and " ARGUMENT("tensor") " has " ARGUMENT(
             "dims") " %s: expected the same, or 1, on every axis but %d",
         to_string(indices.shape()).c_str(), to_string(tensor.shape()).c_str(), chosen);
  }
  check_shape({"result", result}, axes.result, "those of " ARGUMENT("tensor") " with the size of indices on the axis");
  const int32_t missing = kElementwiseRank - tensor.rank();
  for (int32_t i = 0; i < kElementwiseRank; ++i) axes.of_tensor[i] = axes.of_indices[i] = std::max(i - missing, -1);
  axes.chosen = missing + chosen;
  run(tensor, indices, chosen, result, axes, "heed_gather");
}

void take(const Tensor& tensor, const Tensor& indices, int32_t axis, const Tensor& result) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const int32_t chosen = checked_axis(axis, input);
  ChosenAxes axes;
  if (tensor.rank() - 1 + indices.rank() > kMaxRank) {
    fail(Status::InvalidArgument,
         "indices has " ARGUMENT("dims") " %s of rank %d and " ARGUMENT(
             "tensor") " has rank %d, which gives a result of rank %d: expected at most %d",
         to_string(indices.shape()).c_str(), indices.rank(), tensor.rank(), tensor.rank() - 1 + indices.rank(),
         kMaxRank);
  }
  // Filled from the end: the axes behind the chosen one, those of the indices, and those before.
  int32_t place = kElementwiseRank - 1;
  const auto add = [&](int32_t of_tensor, int32_t of_indices) {
    axes.of_tensor[place] = of_tensor;
    axes.of_indices[place--] = of_indices;
  };
  for (int32_t other = tensor.rank() - 1; other > chosen; --other) add(other, -1);
  for (int32_t other = indices.rank() - 1; other >= 0; --other) add(-1, other);
  const int32_t first_of_indices = place + 1;
  for (int32_t other = chosen - 1; other >= 0; --other) add(other, -1);
  axes.result.rank = kElementwiseRank - 1 - place;
  for (int32_t i = place + 1; i < kElementwiseRank; ++i) {
    const int32_t of_tensor = axes.of_tensor[i];
    axes.result[i - place - 1] = of_tensor >= 0 ? tensor.dim(of_tensor) : indices.dim(axes.of_indices[i]);
  }
  // An index without an axis takes the place of an axis of size 1, which every problem of fewer axes has in front.
  axes.chosen = indices.rank() > 0 ? first_of_indices : place;
  while (place >= 0) add(-1, -1);
  check_shape({"result", result}, axes.result,
              "those of " ARGUMENT("tensor") " with those of indices in the place of the axis");
  run(tensor, indices, chosen, result, axes, "heed_take");
}

}  // namespace heed
