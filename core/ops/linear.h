// SPDX-License-Identifier: Apache-2.0
// Products of one input with one or more weights: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/activation.h"
#include "ops/cost.h"
#include "ops/head_transform.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// One weight of a linear operation: output[h, s, r, d] = sum over e of input[s, r, e] * weight[n, e] + bias[n] with n =
// h * head_size + d, accumulated in f32 in the order of e. With several heads a projection writes the rows of each head
// separately; with head_size = output_size this is the plain product.
struct LinearPart {
  int64_t output_size = 0;  // n
  int64_t head_size = 0;    // d, divides output_size
  Operand weight;           // axes (-, -, n, e); F32, F16, BF16
  Operand bias;             // axes (-, -, -, n); F32, F16, BF16; optional
  Operand output;           // axes (h, s, r, d); F32, F16, BF16
  // The packed copy of the weight, from pack_linear of the same device. Null if the weight is not packed, and in
  // problems that are only planned.
  const void* packed = nullptr;
  // 1 if the weight is packed. Plans depend on this, never on the address.
  int32_t is_packed = 0;
  // Which rows are computed. Other rows of the output are not written and need not be in memory. Always All unless the
  // device's IntermediateForm allows other rows.
  WantedRows wanted_rows = WantedRows::All;
  // 1: rows that are not wanted become 0.
  int32_t zeroes_unwanted = 0;
  // What happens to each sum before it is stored: output = activation(cap((sum + bias) * scale)) * factor + addend, in
  // f32, with cap(x) = soft_cap * tanh(x / soft_cap), or x without a soft cap. Each step is rounded by itself. The cap
  // computes x / soft_cap as a product with 1 / soft_cap, and is within 7 * 2^-24 of the exact one, relative to it.
  // Without `transform`.
  Activation activation = Activation::None;
  float scale = 1;
  float soft_cap = 0;  // 0: none
  Operand factor;      // axes (h, s, r, d); F32, F16, BF16; optional; may be the output's memory
  Operand addend;      // the same; optional
  // axes (h, s, r, d); F32; optional; written: sum + bias, which a backward reads, also with a transform. Rows that are not wanted
  // are not written.
  Operand sum;
  // Applied to each head of the output. Then the output is F32, or the device's dtype of intermediates, and contiguous in
  // d.
  HeadTransform transform;
};

// The projections of queries, keys and values.
inline constexpr int32_t kMaxLinearParts = 3;

// Products of one input with several weights. Each output element is a separate sum, so that several parts in one
// problem give the same bits as one problem for each part.
struct LinearProblem {
  Op op = {OpKind{0}, sizeof(LinearProblem)};
  int64_t batch = 0;       // s
  int64_t rows = 0;        // r
  int64_t input_size = 0;  // e
  Operand input;           // axes (-, s, r, e); F32, F16, BF16
  LinearPart parts[kMaxLinearParts];
  int32_t num_parts = 1;
  // If the rows are keys, values or queries of an attention, the limits of that attention. Used only by parts whose
  // wanted_rows is not All; then num_keys, or num_queries, equals `rows`, and key_begin, or query_begin, is 0 in the whole
  // table.
  KeyLimits limits;
};

// Calls visit(operand, sizes of its axes, access) for each operand of the problem, given or not. Where an operand lacks
// an axis, the size is 1 or the stride is 0.
template <typename Problem, typename Visit>
requires std::same_as<std::remove_const_t<Problem>, LinearProblem>
void visit_operands(Problem& problem, Visit visit) {
  const int64_t s = problem.batch;
  const int64_t r = problem.rows;
  const int64_t e = problem.input_size;
  visit(problem.input, Sizes<kOperandRank>{1, s, r, e}, Access::Read);
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    auto& part = problem.parts[i];
    const int64_t n = part.output_size;
    const int64_t d = part.head_size;
    visit(part.weight, Sizes<kOperandRank>{1, 1, n, e}, Access::Read);
    visit(part.bias, Sizes<kOperandRank>{1, 1, 1, n}, Access::Read);
    visit(part.factor, Sizes<kOperandRank>{n / d, s, r, d}, Access::Read);
    visit(part.addend, Sizes<kOperandRank>{n / d, s, r, d}, Access::Read);
    visit(part.output, Sizes<kOperandRank>{n / d, s, r, d}, Access::Write);
    visit(part.sum, Sizes<kOperandRank>{n / d, s, r, d}, Access::Write);
    visit(part.transform.norm_weight, Sizes<kOperandRank>{n / d, 1, 1, d}, Access::Read);
    visit(part.transform.rotations, Sizes<kOperandRank>{1, s, r, part.transform.rotary_size}, Access::Read);
  }
  visit(problem.limits.valid_lens, Sizes<kOperandRank>{s, 1, problem.limits.num_queries, 1}, Access::ReadOnHost);
  visit(problem.limits.positions, Sizes<kOperandRank>{s, 1, num_query_rows(problem.limits, s), 1}, Access::ReadOnHost);
}

// The cost of the wanted rows. Lengths without data count as num_keys.
Cost cost_of(const LinearProblem& problem);

}  // namespace heed
