// SPDX-License-Identifier: Apache-2.0
// The cosines and sines that rotary positions multiply: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cached_keys.h"
#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// A position is a number of kRotaryNumDigits digits in base kRotaryRadix, which is enough for 2^32 of them. The rotation of
// a position is the complex product of those of its digits.
inline constexpr int64_t kRotaryRadix = 16;
inline constexpr int64_t kRotaryNumDigits = 8;
inline constexpr int64_t kMaxRotaryPositions = int64_t{1} << 32;

// output[s, r] = cosines of position * frequency for each pair, then the sines, each times `factor`; computed in f64 and
// rounded once. Row r of batch element s is a query or a key of `limits`, whose position is position_of_query or
// position_of_key; in a ragged batch all rows are in one array, at query_begin or key_begin.
struct RotationsProblem {
  Op op = {OpKind{5}, sizeof(RotationsProblem)};
  int64_t batch = 0;
  KeyLimits limits;
  int64_t num_pairs = 0;
  // [kRotaryNumDigits][kRotaryRadix][2 * num_pairs], the lowest digit first: for each digit and each of its values v, the
  // cosines of v * kRotaryRadix^digit * frequency of all pairs, then the sines. In host memory that outlives the call.
  const double* digits = nullptr;
  double factor = 1;
  // [batch], with the positions of a call with a cache; else null. In host memory that outlives the call.
  const CachedElement* elements = nullptr;
  int32_t of_keys = 0;  // 1: rows are keys, 0: queries
  int32_t unused = 0;
  Operand output;  // axes (-, s, r, d) with d < 2 * num_pairs; F32, contiguous in d
};

// The number of rows of batch element b that have a rotation.
int64_t num_rotated_rows(const RotationsProblem& problem, int64_t b);

// Writes the rotations of rows begin .. end - 1 of batch element b. The output is in the host's memory. The rotation of a
// position is the product of those of its digits; in f64 a product of eight factors is off by some 10^-15, which rounding
// to f32 hides. Consecutive positions share all factors but the lowest digit's.
void write_rotations(const RotationsProblem& problem, int64_t b, int64_t begin, int64_t end);

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, RotationsProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t b = problem.batch;
  const int64_t rows = problem.of_keys != 0 ? num_key_rows(problem.limits, b) : num_query_rows(problem.limits, b);
  visit(problem.limits.positions, Sizes<kOperandRank>{b, 1, num_query_rows(problem.limits, b), 1}, Access::ReadOnHost);
  visit(problem.output, Sizes<kOperandRank>{1, b, rows, 2 * problem.num_pairs}, Access::Write);
}

// flops: a complex product for each pair.
inline Cost cost_of(const RotationsProblem& problem) {
  const double rows = problem.of_keys != 0 ? num_keys_of_batch(problem.limits, problem.batch)
                                           : num_queries_of_batch(problem.limits, problem.batch);
  return {.flops = 6 * rows * static_cast<double>(problem.num_pairs), .bytes = bytes_of_operands(problem)};
}

}  // namespace heed
