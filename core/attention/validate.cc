// SPDX-License-Identifier: Apache-2.0
#include "attention/validate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention/lengths.h"
#include "base/checked.h"
#include "base/error.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"

namespace heed {
namespace {

// Sets mask or bias: (B, H, Q, K) or (Q, K), with size 1 where an axis is repeated. With rows that are appended to a cache
// the last axis may also be of the call's rows alone: then `of_new_rows` becomes 1.
void set_pair_operand(Operand& operand, const AttentionProblem& problem, const Tensor& tensor, const char* name,
                      bool has_heads, int32_t& of_new_rows) {
  const int64_t num_queries = problem.limits.num_queries;
  if (problem.cached.appends != 0 && tensor.rank() > 0 && problem.limits.num_keys > num_queries &&
      tensor.dim(tensor.rank() - 1) == num_queries && num_queries != 1)
    of_new_rows = 1;
  const int64_t num_keys = of_new_rows != 0 ? num_queries : problem.limits.num_keys;
  const Shape full{problem.batch, has_heads ? problem.num_heads : 1, num_queries, num_keys};
  const Shape plane{num_queries, num_keys};
  if (tensor.rank() != 4 && tensor.rank() != 2) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s of rank %d, expected rank 4, %s, or rank 2, %s, with ones where it is "
"repeated; one row of keys for each batch element is (B, 1, 1, K), one for each query (B, 1, Q, K)",
         name, to_string(tensor.shape()).c_str(), tensor.rank(), to_string(full).c_str(), to_string(plane).c_str());
  }
  const int32_t missing = 4 - tensor.rank();
  if (tensor.rank() == 2 && tensor.dim(0) != 1 && tensor.dim(0) != problem.limits.num_queries &&
      tensor.dim(0) == problem.batch && (tensor.dim(1) == 1 || tensor.dim(1) == num_keys)) {
    const Shape for_each_element{problem.batch, 1, 1, tensor.dim(1)};
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected %s, (Q, K), with ones where it is repeated; one row of keys "
"for each batch element is (B, 1, 1, K): reshape it to %s",
         name, to_string(tensor.shape()).c_str(), to_string(plane).c_str(), to_string(for_each_element).c_str());
  }
  for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
    if (tensor.dim(axis) != 1 && tensor.dim(axis) != full[axis + missing]) {
      fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s with ones where it is repeated%s",
           name, to_string(tensor.shape()).c_str(), to_string(missing == 0 ? full : plane).c_str(),
           has_heads ? "" : " (there are no heads here)");
    }
  }
  if (missing == 0) {
    set_operand(operand, tensor, {0, 1, 2, 3});
  } else {
    set_operand(operand, tensor, {-1, -1, 0, 1});
  }
}

// A number for each head. `what`: the words for one of them.
void set_head_numbers(Operand& operand, const AttentionProblem& problem, const Tensor& numbers, const char* name,
                      const char* what, bool has_heads) {
  const Shape expected{has_heads ? problem.num_heads : 1};
  if (numbers.dtype() != DType::F32)
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32"), name, term_of(numbers.dtype()));
  if (!(numbers.shape() == expected)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, one %s for each head%s", name,
         to_string(numbers.shape()).c_str(), to_string(expected).c_str(), what,
         has_heads ? "" : " (there are no heads here)");
  }
  set_operand(operand, numbers, {-1, 0, -1, -1});
}

}  // namespace

void set_band(Sequence& sequence, const AttentionOptions& options, bool is_of_positions) {
  const int64_t bottom_right = is_of_positions ? 0 : sequence.key_count - sequence.query_count;
  const int64_t first = is_of_positions ? -kUnlimited : -sequence.query_count;
  sequence.band_first = first;
  sequence.band_last = is_of_positions ? kUnlimited : sequence.key_count;
  if (options.causal != Alignment::None)
    sequence.band_last = options.causal == Alignment::BottomRight ? bottom_right : 0;
  if (options.window != Alignment::None) {
    const int64_t shift = options.window == Alignment::BottomRight ? bottom_right : 0;
    // The negation cannot overflow: only window_left >= 0 is negated, and -INT64_MAX is representable.
    if (options.window_left >= 0) sequence.band_first = std::max(first, saturating_add(shift, -options.window_left));
    if (options.window_right >= 0)
      sequence.band_last = std::min(sequence.band_last, saturating_add(shift, options.window_right));
  }
}

namespace {

void set_bands(AttentionProblem& problem, const CallSequences& sequences, const AttentionOptions& options,
               bool is_of_positions) {
  set_band(problem.limits.sequence, options, is_of_positions);
  if (problem.limits.table == nullptr) return;
  for (int64_t b = 0; b < problem.batch; ++b) set_band(sequences.table[b], options, is_of_positions);
}

// Tensors whose rows are (B, Q) or pairs (Q, K) do not fit a packed batch.
void check_packed(const Visibility& visibility) {
  for (const auto& [name, tensor] : {std::pair{visibility.names->valid_lens, visibility.valid_lens},
                                     {visibility.names->mask, visibility.mask},
                                     {visibility.names->bias, visibility.bias}}) {
    if (tensor == nullptr) continue;
    fail(Status::InvalidArgument,
         "%s is set, but so is " INPUT("sequences->query_offsets") ", by which the batch is packed: expected " WORD(
             "NULL"),
         name);
  }
}

}  // namespace

void set_visibility(AttentionProblem& problem, const Visibility& visibility, const CallSequences& sequences,
                    const AttentionOptions& options, const CallForm& form) {
  const auto& [dtype, has_heads, keys_are_queries, reads_lengths, places_keys] = form;
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [valid_lens, mask, bias, alibi_slopes, sinks, names] = visibility;
  if (sequences.is_packed()) check_packed(visibility);
  problem.is_packed = sequences.is_packed() ? 1 : 0;
  if (sequences.cached != nullptr) {
    problem.limits = sequences.cached->limits;
    problem.cached = sequences.cached->keys;
  } else {
    set_sequences(problem.limits, sequences, problem.batch, keys_are_queries, reads_lengths);
    set_bands(problem, sequences, options, sequences.positions != nullptr && !places_keys);
  }
  if (valid_lens != nullptr) {
    problem.limits.valid_lens =
        lengths_operand(*valid_lens, names->valid_lens,
                        {problem.batch, problem.limits.num_queries, problem.limits.num_keys}, reads_lengths);
  }
  if (mask != nullptr) {
    if (mask->dtype() != DType::Bool) {
      fail(Status::InvalidArgument,
           "%s is %s, expected " DTYPE("BOOL") " (true: may attend); a mask of numbers to be added is %s", names->mask,
           term_of(mask->dtype()), names->bias);
    }
    set_pair_operand(problem.mask, problem, *mask, names->mask, has_heads, problem.cached.mask_of_new_rows);
  }
  if (bias != nullptr) {
    if (bias->dtype() != DType::F32 && bias->dtype() != dtype) {
      const bool both = dtype != DType::F32;
      fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") "%s%s", names->bias, term_of(bias->dtype()),
           both ? " or the " WORD("dtype") " of " INPUT("queries") ", " : "", both ? term_of(dtype) : "");
    }
    set_pair_operand(problem.bias, problem, *bias, names->bias, has_heads, problem.cached.bias_of_new_rows);
  }
  if (alibi_slopes != nullptr) {
    set_head_numbers(problem.alibi_slopes, problem, *alibi_slopes, INPUT("alibi_slopes"), "slope", has_heads);
  }
  if (sinks != nullptr) set_head_numbers(problem.sinks, problem, *sinks, INPUT("sinks"), "score", has_heads);
  problem.scale =
      options.scale != 0 ? options.scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.head_size)));
  problem.soft_cap = options.soft_cap;
  problem.empty_rows = options.empty_rows;
}

}  // namespace heed
