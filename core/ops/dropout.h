// SPDX-License-Identifier: Apache-2.0
// Dropout of the elements of an array: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// output[i] = (input[i] / (1 - dropout) if element i is kept, else 0) + addend[i]; i is the row-major index of the element.
// docs/semantics.md ("Random numbers") defines which elements are kept. With dropout 0 and no addend this is a copy,
// bitwise if the dtypes are equal.
struct DropoutProblem {
  Op op = {OpKind{3}, sizeof(DropoutProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;   // F32, F16, BF16
  ElementwiseOperand output;  // F32, F16, BF16; shares no memory with the input
  ElementwiseOperand addend;  // F32, F16, BF16; optional; then dropout is not 0
  uint64_t seed = 0;
  float dropout = 0.0f;  // 0 unless training
  // As in NormProblem: rows that are no queries become 0. Only with an addend.
  int32_t has_limits = 0;
  KeyLimits limits;
  // 1: a copy into another order of axes, in which elements that lie side by side cannot be so in both arrays. Then their
  // strides are no reason for a slow plan.
  int32_t transposes = 0;
  int32_t unused = 0;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, DropoutProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.addend, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

// flops: one multiplication for each element, and one addition of an addend; none with dropout 0.
inline Cost cost_of(const DropoutProblem& problem) {
  double num_elements = 1;
  for (const int64_t size : problem.sizes) num_elements *= static_cast<double>(size);
  return {.flops = problem.dropout == 0 ? 0 : num_elements * (1 + problem.addend.given),
          .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
