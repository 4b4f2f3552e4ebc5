// SPDX-License-Identifier: Apache-2.0
// Without a gradient of the norm's weight, one loop reverses the rotation of each head and takes it through the norm. Otherwise the
// first loop stores the reversed gradients and describes the heads, the second one sums the weight's gradients over them,
// column by column, and the third one takes the reversed gradients through the norm, in place.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/backward/norm_gradients.h"
#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "backends/cpu/zero_rows.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

constexpr double kFlopsOfHeadElement = 30;

// Two rows for the rotation, one of which the norm uses, and a weight.
constexpr size_t kHeadsOfScratch = 3;

size_t row_bytes(const KernelTable& kernels, int64_t head_size) {
  return round_up_to_alignment(static_cast<size_t>(round_up(head_size, int64_t{kernels.lanes})) * sizeof(float));
}

double count_heads(const HeadTransformBackwardProblem& problem) {
  return static_cast<double>(problem.num_heads) * static_cast<double>(problem.batch) *
         static_cast<double>(problem.rows);
}

bool sums_weight_gradient(const HeadTransformBackwardProblem& problem) {
  return problem.transform.norm != NormKind::None && problem.norm_weight_gradient.given != 0;
}

// Whether all heads have one weight.
bool has_shared_weight(const HeadTransformBackwardProblem& problem) {
  return problem.norm_weight_gradient.strides[0] == 0;
}

// A head of a row: heads of one number follow one another.
struct RowHead {
  int64_t h;
  int64_t row;  // in the whole batch
  int64_t s;
  int64_t r;

  RowHead(const HeadTransformBackwardProblem& problem, int64_t index) {
    const int64_t num_rows = problem.batch * problem.rows;
    h = index / num_rows;
    row = index % num_rows;
    s = row / problem.rows;
    r = row % problem.rows;
  }

  StridedRow in(const Operand& operand) const {
    return {static_cast<float*>(operand.data) + index_in(operand, {h, s, r, 0}), operand.strides[3], DType::F32};
  }
};

// What a loop does to each head.
struct Steps {
  bool rotates;
  bool normalizes;
  bool describes;
};

class HeadGradients {
 public:
  HeadGradients(const KernelTable& kernels, const HeadTransformBackwardProblem& problem, NormalizedRow* described)
      : kernels_(kernels), problem_(problem), described_(described) {}

  // Heads begin .. end - 1. `own`: kHeadsOfScratch rows.
  void run(int64_t begin, int64_t end, const Steps& steps, std::byte* own) const {
    const size_t bytes = row_bytes(kernels_, problem_.head_size);
    auto* const scratch = reinterpret_cast<float*>(own);
    auto* const weight = reinterpret_cast<float*>(own + 2 * bytes);
    NormBackwardArguments norm = {};
    norm.size = problem_.head_size;
    norm.kind = problem_.transform.norm;
    norm.epsilon = problem_.transform.epsilon;
    norm.scratch = scratch;
    int64_t weight_of = -1;
    for (int64_t index = begin; index < end; ++index) {
      const RowHead head(problem_, index);
      const StridedRow gradient = head.in(problem_.sum_gradient);
      if (steps.rotates) rotate(head, gradient, scratch);
      if (!steps.normalizes && !steps.describes) continue;
      if (head.h != weight_of)
        norm.weight = widened(kernels_, problem_.transform.norm_weight, problem_.head_size, weight, head.h);
      weight_of = head.h;
      norm.output_gradient = gradient;
      norm.input = head.in(problem_.sum);
      if (steps.normalizes) norm.input_gradient = gradient;
      if (steps.describes) norm.normalized = described_ + place_of(head);
      kernels_.norm_backward_row(&norm);
    }
  }

 private:
  void rotate(const RowHead& head, const StridedRow& to, float* scratch) const {
    const Operand& rotations = problem_.transform.rotations;
    RotateBackwardArguments arguments = {};
    arguments.transform = &problem_.transform;
    arguments.head_size = problem_.head_size;
    arguments.output_gradient = head.in(problem_.output_gradient);
    arguments.sum_gradient = to;
    if (rotations.given != 0)
      arguments.rotations = static_cast<const float*>(rotations.data) + index_in(rotations, {0, head.s, head.r, 0});
    arguments.scratch = scratch;
    kernels_.rotate_backward_row(&arguments);
  }

  // Heads are described in the order in which they are summed.
  int64_t place_of(const RowHead& head) const {
    return has_shared_weight(problem_) ? head.row * problem_.num_heads + head.h
                                       : head.h * problem_.batch * problem_.rows + head.row;
  }

  const KernelTable& kernels_;
  const HeadTransformBackwardProblem& problem_;
  NormalizedRow* described_;
};

void sum_weight_gradients(const KernelTable& kernels, const HeadTransformBackwardProblem& problem,
                          const NormalizedRow* described, const Workers& workers) {
  const bool is_shared = has_shared_weight(problem);
  const int64_t num_norms = is_shared ? 1 : problem.num_heads;
  const int64_t num_rows = problem.batch * problem.rows * (is_shared ? problem.num_heads : 1);
  sum_norm_gradients(kernels, num_norms, num_rows, problem.head_size, workers, [&](int64_t h) {
    NormGradientArguments arguments = {};
    arguments.rows = described + h * num_rows;
    arguments.num_rows = num_rows;
    arguments.input_stride = problem.sum.strides[3];
    arguments.gradient_stride = problem.sum_gradient.strides[3];
    arguments.weight_gradient = parameter_row(problem.norm_weight_gradient, h);
    arguments.accumulates_weight = problem.accumulates;
    return arguments;
  });
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const HeadTransformBackwardProblem& problem, int32_t num_workers) {
  require_width("the size of a head", problem.head_size);
  Plan plan;
  plan.kernel = "head_transform_backward";
  plan.isa = kernels.isa;
  const double heads = count_heads(problem);
  const double shared = sums_weight_gradient(problem) ? normalized_rows_bytes(heads) : 0;
  plan_loop_with_scratch(plan, std::ceil(heads / static_cast<double>(rows_of_task(problem.head_size))),
                         heads * static_cast<double>(problem.head_size) * kFlopsOfHeadElement,
                         kHeadsOfScratch * row_bytes(kernels, problem.head_size), num_workers, shared);
  add_reasons_of_strides(plan, problem.output_gradient, problem.sum_gradient, problem.head_size);
  return plan;
}

void run_problem(const KernelTable& kernels, const HeadTransformBackwardProblem& problem, const Plan& plan,
                 const Workers& workers, void* memory) {
  if (problem.head_size == 0) return;
  const auto num_heads = static_cast<int64_t>(count_heads(problem));
  const int64_t task_heads = rows_of_task(problem.head_size);
  auto* const described = reinterpret_cast<NormalizedRow*>(shared_scratch(plan, memory));
  const HeadGradients gradients(kernels, problem, described);
  const auto run = [&](const Steps& steps) {
    run_loop_with_scratch(plan, workers, memory, [&](int64_t task, std::byte* own) {
      gradients.run(task * task_heads, std::min(num_heads, (task + 1) * task_heads), steps, own);
    });
  };
  if (!sums_weight_gradient(problem)) {
    run({.rotates = true, .normalizes = problem.transform.norm != NormKind::None, .describes = false});
    return;
  }
  run({.rotates = true, .normalizes = false, .describes = true});
  sum_weight_gradients(kernels, problem, described, workers);
  run({.rotates = false, .normalizes = true, .describes = false});
}

}  // namespace heed::cpu
