// SPDX-License-Identifier: Apache-2.0
#include "attention/cost.h"

#include <algorithm>
#include <cstdint>

#include "attention/lengths.h"
#include "attention/operands.h"

namespace heed {
namespace {

// Bytes of an operand of these sizes, where repeated axes count once.
template <int rank>
double bytes_of(const StridedOperand<rank>& operand, const int64_t (&sizes)[rank]) {
  if (operand.given == 0) return 0;
  auto bytes = static_cast<double>(size_of(operand.dtype));
  for (int axis = 0; axis < rank; ++axis) {
    if (operand.strides[axis] != 0) bytes *= static_cast<double>(sizes[axis]);
  }
  return bytes;
}

template <typename Problem>
double bytes_of_operands(const Problem& problem) {
  double bytes = 0;
  visit_operands(problem, [&](const auto& operand, const auto& sizes, Access) { bytes += bytes_of(operand, sizes); });
  return bytes;
}

// Holds the product of any two sizes: the pairs of a narrow band are the difference of two numbers that large.
__extension__ using Int128 = __int128;

// Pairs with key <= query + last and key < length, for queries first_query .. first_query + num_queries - 1. In closed
// form, since explain may be asked about shapes that nobody could run.
Int128 pairs_up_to(Int128 last, int64_t length, int64_t first_query, int64_t num_queries) {
  // Row i of these has clamp(i + grown, 0, length) keys.
  const Int128 grown = first_query + last + 1;
  const Int128 empty = std::clamp<Int128>(-grown, 0, num_queries);
  const Int128 rising_end = std::clamp<Int128>(length - grown, empty, num_queries);
  const Int128 rising = rising_end - empty;
  const Int128 least = empty + grown;
  return rising * least + rising * (rising - 1) / 2 + (num_queries - rising_end) * length;
}

double visible_pairs(const AttentionProblem& problem) {
  const auto in_band = [&problem](int64_t length, int64_t first_query, int64_t num_queries) {
    if (problem.band_last < problem.band_first) return 0.0;
    const auto pairs = [&](Int128 last) { return pairs_up_to(last, length, first_query, num_queries); };
    return static_cast<double>(pairs(problem.band_last) - pairs(Int128{problem.band_first} - 1));
  };
  const Operand& lens = problem.valid_lens;
  if (lens.data == nullptr)
    return static_cast<double>(problem.batch) * in_band(problem.num_keys, 0, problem.num_queries);
  const bool per_query = lens.strides[2] != 0;
  double sum = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (!per_query) {
      sum += in_band(length_of(lens, b, 0), 0, problem.num_queries);
    } else {
      for (int64_t q = 0; q < problem.num_queries; ++q) sum += in_band(length_of(lens, b, q), q, 1);
    }
  }
  return sum;
}

}  // namespace

Cost cost_of(const LinearProblem& problem) {
  Cost cost;
  cost.bytes = bytes_of_operands(problem);
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    cost.flops += 2.0 * static_cast<double>(problem.batch) * static_cast<double>(problem.rows) *
                  static_cast<double>(problem.input_size) * static_cast<double>(problem.parts[i].output_size);
  }
  return cost;
}

Cost cost_of(const DropoutProblem& problem) {
  double num_elements = 1;
  for (const int64_t size : problem.sizes) num_elements *= static_cast<double>(size);
  Cost cost;
  cost.flops = problem.dropout == 0 ? 0 : num_elements;
  cost.bytes = bytes_of_operands(problem);
  return cost;
}

double flops_of(const AttentionProblem& problem) {
  const double score_flops =
      (problem.scoring == Scoring::Additive ? 4.0 : 2.0) * static_cast<double>(problem.head_size);
  const double value_flops = problem.output.given != 0 ? 2.0 * static_cast<double>(problem.value_head_size) : 0.0;
  return static_cast<double>(problem.num_heads) * visible_pairs(problem) * (score_flops + value_flops);
}

Cost cost_of(const AttentionProblem& problem) {
  Cost cost;
  cost.flops = flops_of(problem);
  cost.bytes = bytes_of_operands(problem);
  return cost;
}

}  // namespace heed
