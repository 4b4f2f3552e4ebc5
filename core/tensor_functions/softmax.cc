// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/softmax.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstddef>
#include <optional>

#include "attention/lengths.h"
#include "base/error.h"
#include "ops/softmax.h"
#include "ops/tensor_operand.h"
#include "tensor/host_image.h"
#include "tensor/walk.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// The axes of the tensors that are a problem's axes (b, h, q, k); -1 if there is none.
using ProblemAxes = int32_t[kOperandRank];

SoftmaxProblem problem_of(const Tensor& scores, const Tensor& weights, const ProblemAxes& axes) {
  const auto size = [&](int32_t axis) { return axis < 0 ? 1 : scores.dim(axis); };
  SoftmaxProblem problem;
  problem.batch = size(axes[0]);
  problem.num_heads = size(axes[1]);
  problem.num_queries = size(axes[2]);
  problem.num_keys = size(axes[3]);
  set_operand(problem.scores, scores, axes);
  set_operand(problem.weights, weights, axes);
  return problem;
}

// A view in which `axis` is the last axis.
Tensor with_axis_last(const Tensor& tensor, int32_t axis) {
  std::array<int32_t, kMaxRank> order{};
  int32_t num_others = 0;
  for (int32_t other = 0; other < tensor.rank(); ++other) {
    if (other != axis) order[static_cast<size_t>(num_others++)] = other;
  }
  order[static_cast<size_t>(num_others)] = axis;
  return tensor.transpose(order.data());
}

}  // namespace

void softmax(const Tensor& tensor, int32_t axis, bool is_logarithm, const Tensor& result) {
  check_float_function({ARGUMENT("tensor"), tensor}, {"result", result});
  const int32_t normal_axis = checked_axis(axis, {ARGUMENT("tensor"), tensor});
  if (result.num_elements() == 0) return;

  const Tensor scores = with_axis_last(tensor, normal_axis);
  const Tensor weights = with_axis_last(result, normal_axis);
  // The last four axes are one problem, which is run for every index of the outer axes.
  const int32_t first = scores.rank() - kOperandRank;
  const auto axis_or_none = [first](int32_t index) { return std::max(first + index, -1); };
  SoftmaxProblem problem =
      problem_of(scores, weights, {axis_or_none(0), axis_or_none(1), axis_or_none(2), axis_or_none(3)});
  problem.is_logarithm = is_logarithm ? 1 : 0;
  const char* function = is_logarithm ? "heed_log_softmax" : "heed_softmax";
  const PooledCall call(context_of(result), function, "softmax", problem.op);
  walk<2>(leading_axes(scores.shape(), first), {scores.strides(), weights.strides()}, [&](const auto& offsets) {
    problem.scores.data = scores.element(offsets[0]);
    problem.weights.data = weights.element(offsets[1]);
    call.run();
  });
}

void masked_softmax(const Tensor& scores, const Tensor* valid_lens, const Tensor& result) {
  check_input({ARGUMENT("scores"), scores});
  const bool has_heads = scores.rank() == 4;
  if (scores.rank() != 3 && !has_heads) {
    fail(Status::InvalidArgument,
         ARGUMENT("scores") " has " ARGUMENT(
             "dims") " %s of rank %d, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)",
         to_string(scores.shape()).c_str(), scores.rank());
  }
  check_result({"result", result}, scores.shape(), "the " ARGUMENT("dims") " of " ARGUMENT("scores"),
               {ARGUMENT("scores"), scores});
  check_memory({"result", result}, {ARGUMENT("scores"), scores});
  SoftmaxProblem problem =
      has_heads ? problem_of(scores, result, {0, 1, 2, 3}) : problem_of(scores, result, {0, -1, 1, 2});
  std::optional<Tensor> host_lens;
  if (valid_lens != nullptr) {
    check_same_device({ARGUMENT("valid_lens"), *valid_lens}, {ARGUMENT("scores"), scores});
    check_memory({"result", result}, {ARGUMENT("valid_lens"), *valid_lens});
    host_lens = host_copy(*valid_lens);
    problem.valid_lens = lengths_operand(*host_lens, ARGUMENT("valid_lens"),
                                         {problem.batch, problem.num_queries, problem.num_keys}, true);
  }
  if (result.num_elements() == 0) return;
  PooledCall(context_of(result), "heed_masked_softmax", "masked softmax", problem.op).run();
}

}  // namespace heed
