// SPDX-License-Identifier: Apache-2.0
// The gradients of the weight and of the bias of a linear operation: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// weight_gradient[n, e] = sum over the rows (s, r) in row-major order of output_gradient[h, s, r, d] * (scale * input[s, r, e]),
// bias_gradient[n] = sum over the same rows of output_gradient[h, s, r, d] * scale, with n = h * head_size + d, in f32. Each is
// one chain of additions in the order of the rows. With `accumulates...` it begins with what the gradient holds, otherwise with 0:
// so the gradient of some rows, then accumulated that of the rows after them, has the bits of the gradient of all of them.
//
// A row whose output_gradient is 0 in all n adds nothing, whatever the input holds there, NaN and infinities too.
struct WeightGradientProblem {
  Op op = {OpKind{17}, sizeof(WeightGradientProblem)};
  int64_t batch = 0;        // s
  int64_t rows = 0;         // r
  int64_t input_size = 0;   // e
  int64_t output_size = 0;  // n
  int64_t head_size = 1;    // d, divides output_size
  Operand output_gradient;  // axes (h, s, r, d); F32
  Operand input;            // axes (-, s, r, e); F32
  Operand weight_gradient;  // axes (-, -, n, e); F32; optional; shares no memory with the others
  Operand bias_gradient;    // axes (-, -, -, n); F32; optional; likewise
  float scale = 1;          // the product with the input is rounded to f32
  int32_t accumulates_weight = 0;
  int32_t accumulates_bias = 0;
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, WeightGradientProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t s = problem.batch;
  const int64_t r = problem.rows;
  const int64_t n = problem.output_size;
  const int64_t d = problem.head_size;
  visit(problem.output_gradient, Sizes<kOperandRank>{n / d, s, r, d}, Access::Read);
  visit(problem.input, Sizes<kOperandRank>{1, s, r, problem.input_size}, Access::Read);
  visit(problem.weight_gradient, Sizes<kOperandRank>{1, 1, n, problem.input_size},
        access_of_sum(problem.accumulates_weight));
  visit(problem.bias_gradient, Sizes<kOperandRank>{1, 1, 1, n}, access_of_sum(problem.accumulates_bias));
}

// flops: of the gradients that are given; the products with the scale are not counted.
inline Cost cost_of(const WeightGradientProblem& problem) {
  const double terms =
      static_cast<double>(problem.batch) * static_cast<double>(problem.rows) * static_cast<double>(problem.output_size);
  const double of_weight = 2.0 * static_cast<double>(problem.input_size) * problem.weight_gradient.given;
  return {.flops = terms * (of_weight + problem.bias_gradient.given), .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
