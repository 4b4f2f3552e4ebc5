// SPDX-License-Identifier: Apache-2.0
// Dropout of the elements of an array: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// output[i] = input[i] / (1 - dropout) where i is kept, else 0, with i the index of the element in row-major order;
// what is kept is docs/semantics.md's to say ("Random numbers"). With a dropout of 0 a copy, to the bit where the
// dtypes are the same.
struct DropoutProblem {
  Op op = {OpKind::Dropout, sizeof(DropoutProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;   // F32, F16, BF16
  ElementwiseOperand output;  // F32, F16, BF16; shares no memory with the input
  uint64_t seed = 0;
  float dropout = 0.0f;  // 0 unless training
};

// Calls visit(operand, sizes of its axes, access) for each operand that the problem can have, given or not. Of an axis
// that an operand does not have the size is 1 or its stride 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, DropoutProblem>
void visit_operands(Problem& problem, Visit visit) {
  visit(problem.input, problem.sizes, Access::Read);
  visit(problem.output, problem.sizes, Access::Write);
}

// flops: one multiplication for each element, none where nothing is dropped.
inline Cost cost_of(const DropoutProblem& problem) {
  double num_elements = 1;
  for (const int64_t size : problem.sizes) num_elements *= static_cast<double>(size);
  return {.flops = problem.dropout == 0 ? 0 : num_elements, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
