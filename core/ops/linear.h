// SPDX-License-Identifier: Apache-2.0
// Products of one input with one or more weights: the problem, its operands and its cost.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/cost.h"
#include "ops/op.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed {

// One weight that a linear operation multiplies its input by: output[h, s, r, d] = sum over e of input[s, r, e] *
// weight[n, e] + bias[n] with n = h * head_size + d, accumulated in f32 in the order of e. So a projection can write
// each head's rows by themselves; one head of the whole output size is the plain product.
struct LinearPart {
  int64_t output_size = 0;  // n
  int64_t head_size = 0;    // d, divides output_size
  Operand weight;           // axes (-, -, n, e); F32, F16, BF16
  Operand bias;             // axes (-, -, -, n); F32, F16, BF16; optional
  Operand output;           // axes (h, s, r, d); F32, F16, BF16
  // The weight once more, as the same device's pack_linear has laid it out. Null when it is not packed, and in problems
  // that are only planned.
  const void* packed = nullptr;
  // 1 when it is packed. Plans depend on it, never on the address.
  int32_t is_packed = 0;
  // Which rows are computed. The others of the output are not written, and need not lie in memory of the call. All
  // rows, unless the device's IntermediateForm allows others.
  WantedRows wanted_rows = WantedRows::All;
};

// Queries, keys and values of one tensor.
inline constexpr int32_t kMaxLinearParts = 3;

// Products of one input with as many weights. Each element of an output is its own sum, so that several parts in one
// problem give the same bits as one problem for each.
struct LinearProblem {
  Op op = {OpKind::Linear, sizeof(LinearProblem)};
  int64_t batch = 0;       // s
  int64_t rows = 0;        // r
  int64_t input_size = 0;  // e
  Operand input;           // axes (-, s, r, e); F32, F16, BF16
  LinearPart parts[kMaxLinearParts];
  int32_t num_parts = 1;
  // The limits of the attention whose keys the rows are. They decide something only where a part does not want all rows;
  // then num_keys is `rows`, and a table has key_begin 0 throughout.
  KeyLimits limits;
};

// Calls visit(operand, sizes of its axes, access) for each operand that the problem can have, given or not. Of an axis
// that an operand does not have the size is 1 or its stride 0.
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
    visit(part.output, Sizes<kOperandRank>{n / d, s, r, d}, Access::Write);
  }
  visit(problem.limits.valid_lens, Sizes<kOperandRank>{s, 1, problem.limits.num_queries, 1}, Access::ReadOnHost);
}

// Of the rows that its parts want. Lengths without data count as num_keys.
Cost cost_of(const LinearProblem& problem);

}  // namespace heed
