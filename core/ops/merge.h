// SPDX-License-Identifier: Apache-2.0
// Merges partial results of one attention over disjoint keys: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// The partial result of an attention over some of the keys.
struct MergePart {
  ElementwiseOperand output;       // F32, F16, BF16
  ElementwiseOperand log_sum_exp;  // F32; its stride along the last axis is 0
};

// For each row (..., h, q), with l the log_sum_exp of a part and o its output:
//   total = sum over parts of exp(l) + exp(sink of h)
//   output[..., h, q, d] = sum over parts of exp(l) / total * o[..., h, q, d]
//   log_sum_exp[..., h, q] = log(total)
// A part with l = -inf saw no key: it is ignored, whatever its output contains. A row without any key or sink gets
// output 0 and log_sum_exp -inf.
struct MergeProblem {
  Op op = {OpKind{4}, sizeof(MergeProblem)};
  // The outputs' sizes, (..., h, q, d). The number of rows is the product of all but the last.
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  // In host memory; must live as long as the problem.
  MergePart* parts = nullptr;
  int64_t num_parts = 0;
  ElementwiseOperand sinks;        // axes (-, h, -, -); F32; optional
  ElementwiseOperand output;       // F32, F16, BF16; optional; shares no memory with the parts
  ElementwiseOperand log_sum_exp;  // F32; its stride along the last axis is 0; optional
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, MergeProblem>
void visit_operands(Problem& problem, Visit visit) {
  for (int64_t i = 0; i < problem.num_parts; ++i) {
    visit(problem.parts[i].output, problem.sizes, Access::Read);
    visit(problem.parts[i].log_sum_exp, problem.sizes, Access::Read);
  }
  visit(problem.sinks, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
  visit(problem.log_sum_exp, problem.sizes, Access::Write);
}

// flops: for each part and row an exponential, an addition and a multiplication; for each part and output element a
// multiplication and an addition.
inline Cost cost_of(const MergeProblem& problem) {
  double num_elements = 1;
  for (const int64_t size : problem.sizes) num_elements *= static_cast<double>(size);
  const double row_size = static_cast<double>(problem.sizes[kElementwiseRank - 1]);
  const double num_rows = row_size == 0 ? 0 : num_elements / row_size;
  return {.flops = static_cast<double>(problem.num_parts) * (3 * num_rows + 2 * num_elements),
          .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
