// SPDX-License-Identifier: Apache-2.0
// The product of matrices of numbers that linear operations do not take: the problem, its operands and its cost.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"

namespace heed {

// product[i, m, n] = sum over k of a[i, m, k] * b[i, k, n], computed in `compute` in the order of k. i are the first axes, along
// which a and b may be repeated. Integers wrap around.
struct MatmulProblem {
  Op op = {OpKind{15}, sizeof(MatmulProblem)};
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};  // of the product: (i, m, n)
  int64_t inner_size = 0;                                      // k
  ElementwiseOperand a;                                        // axes (i, m, k); a number, converted to `compute`
  ElementwiseOperand b;                                        // axes (i, k, n); likewise
  ElementwiseOperand product;  // axes (i, m, n); converted from `compute`; shares no memory with the others
  DType compute = DType::F64;  // F32, F64, I32, I64
  int32_t unused = 0;
};

inline constexpr int kMatmulRowAxis = kElementwiseRank - 2;
inline constexpr int kMatmulColumnAxis = kElementwiseRank - 1;

// Calls visit(operand, sizes of its axes, access) for each operand of the problem.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, MatmulProblem>
void visit_operands(Problem& problem, Visit visit) {
  Sizes<kElementwiseRank> of_a;
  std::copy_n(problem.sizes, kElementwiseRank, of_a);
  of_a[kMatmulColumnAxis] = problem.inner_size;
  Sizes<kElementwiseRank> of_b;
  std::copy_n(problem.sizes, kElementwiseRank, of_b);
  of_b[kMatmulRowAxis] = problem.inner_size;
  visit(problem.a, of_a, Access::Read);
  visit(problem.b, of_b, Access::Read);
  visit(problem.product, problem.sizes, Access::Write);
}

// flops: a product and a sum for each k.
inline Cost cost_of(const MatmulProblem& problem) {
  double flops = 2 * static_cast<double>(problem.inner_size);
  for (const int64_t size : problem.sizes) flops *= static_cast<double>(size);
  return {.flops = flops, .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
