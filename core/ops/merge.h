// SPDX-License-Identifier: Apache-2.0
// One attention from its parts over disjoint keys: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// What an attention over some of the keys computed.
struct MergePart {
  ElementwiseOperand output;       // F32, F16, BF16
  ElementwiseOperand log_sum_exp;  // F32; its stride along the last axis is 0
};

// For each row (..., h, q), with l the log_sum_exp of a part and o its output:
//   total = sum over parts of exp(l) + exp(sink of h)
//   output[..., h, q, d] = sum over parts of exp(l) / total * o[..., h, q, d]
//   log_sum_exp[..., h, q] = log(total)
// A part whose l is -inf saw no key and is left out, whatever its output holds. A row without keys and sink is 0 and
// -inf.
struct MergeProblem {
  Op op = {OpKind::Merge, sizeof(MergeProblem)};
  // Of the outputs: (..., h, q, d). The number of rows is the product of all but the last.
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  // In memory of the host that lives as long as the problem.
  MergePart* parts = nullptr;
  int64_t num_parts = 0;
  ElementwiseOperand sinks;        // axes (-, h, -, -); F32; optional
  ElementwiseOperand output;       // F32, F16, BF16; optional; shares no memory with the parts
  ElementwiseOperand log_sum_exp;  // F32; its stride along the last axis is 0; optional
};

// Calls visit(operand, sizes of its axes, access) for each operand that the problem can have, given or not. Of an axis
// that an operand does not have the size is 1 or its stride 0.
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

// flops: for each part an exponential, an addition and a multiplication for each row, and a multiplication and an
// addition for each element of the output.
inline Cost cost_of(const MergeProblem& problem) {
  double num_elements = 1;
  for (const int64_t size : problem.sizes) num_elements *= static_cast<double>(size);
  const double row_size = static_cast<double>(problem.sizes[kElementwiseRank - 1]);
  const double num_rows = row_size == 0 ? 0 : num_elements / row_size;
  return {.flops = static_cast<double>(problem.num_parts) * (3 * num_rows + 2 * num_elements),
          .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
