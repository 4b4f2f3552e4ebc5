// SPDX-License-Identifier: Apache-2.0
// The cross-entropy of logits and labels with its gradient: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// losses[b, s] = log(sum over c of exp(logits[b, s, c])) - (1 - smoothing) * logits[b, s, labels[b, s]]
//                - smoothing * (mean over c of logits[b, s, c])
// gradient[b, s, c] = factor * (softmax(logits[b, s])[c] - smoothing / num_classes - (c is the label ? 1 - smoothing : 0))
// A row counts if s is less than the length of b, and the label is not ignore_index. Of other rows logits are not read, and loss
// and gradient are 0; of rows beyond the length labels are not read either. The order of sums depends on num_classes alone.
struct CrossEntropyProblem {
  Op op = {OpKind{23}, sizeof(CrossEntropyProblem)};
  int64_t batch = 0;        // b
  int64_t num_steps = 0;    // s
  int64_t num_classes = 0;  // c
  Operand logits;           // axes (b, -, s, c); F32
  Operand labels;           // axes (b, -, s, -); I32, I64; 0 to num_classes - 1 of rows that count
  Operand valid_lens;       // axes (b, -, s, -); F32, I32, I64; whole numbers from 0 to num_steps; optional
  Operand losses;           // axes (b, -, s, -); F64
  Operand gradient;         // axes (b, -, s, c); F32; optional; may be the logits' memory
  int64_t ignore_index = 0;
  double smoothing = 0;
  double factor = 1;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, CrossEntropyProblem>
void visit_operands(Problem& problem, Visit visit) {
  const Sizes<kOperandRank> classes = {problem.batch, 1, problem.num_steps, problem.num_classes};
  const Sizes<kOperandRank> rows = {problem.batch, 1, problem.num_steps, 1};
  visit(problem.logits, classes, Access::Read);
  visit(problem.labels, rows, Access::Read);
  visit(problem.valid_lens, rows, Access::ReadOnHost);
  visit(problem.losses, rows, Access::Write);
  visit(problem.gradient, classes, Access::Write);
}

// flops: for each logit, counted or not, a subtraction, an exponential and an addition, and of a gradient a product and a
// subtraction.
inline Cost cost_of(const CrossEntropyProblem& problem) {
  const double num_logits = static_cast<double>(problem.batch) * static_cast<double>(problem.num_steps) *
                            static_cast<double>(problem.num_classes);
  return {.flops = (problem.gradient.given != 0 ? 5 : 3) * num_logits, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
