// SPDX-License-Identifier: Apache-2.0
#include "layers/row_positions.h"

#include <algorithm>
#include <cinttypes>
#include <memory>

#include "base/error.h"
#include "layers/falling_positions.h"
#include "layers/host_sequences.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"

namespace heed {
namespace {

// The positions of `count` rows from row `begin` of an element.
const int32_t* read_rows(Schedule& schedule, const Operand& positions, int64_t b, int64_t begin, int64_t count) {
  auto* const read = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) read[i] = static_cast<int32_t>(length_of(positions, b, begin + i));
  return read;
}

bool are_consecutive(const int32_t* positions, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    if (positions[i] != positions[0] + i) return false;
  }
  return true;
}

// A sequence for each element, which may be changed.
Sequence* sequences_of(Schedule& schedule, const CallSequences& sequences, AttentionProblem& problem) {
  KeyLimits& limits = problem.limits;
  Sequence* table = sequences.table;
  if (limits.has_table == 0) {
    table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(problem.batch));
    std::uninitialized_fill_n(table, problem.batch, limits.sequence);
  }
  limits.has_table = 1;
  limits.table = table;
  return table;
}

// Moves window and, where keys have positions of their own, causal mask from the bands to pairs of positions.
void move_bands(const AttentionOptions& given, bool compares_causal, Sequence* table, AttentionProblem& problem) {
  AttentionOptions options = given;
  CachedKeys& cached = problem.cached;
  const bool has_window = options.window != Alignment::None;
  const auto limit_of = [&](int64_t width) {
    return !has_window || width < 0 ? kUnlimited : std::min(width, kUnlimited);
  };
  const bool is_causal = compares_causal && options.causal != Alignment::None;
  if (!has_window && !is_causal) return;
  cached.has_window = 1;
  cached.window_left = limit_of(options.window_left);
  cached.window_right = is_causal ? 0 : limit_of(options.window_right);
  options.window = Alignment::None;
  if (is_causal) options.causal = Alignment::None;
  for (int64_t b = 0; b < problem.batch; ++b) set_band(table[b], options, false);
}

}  // namespace

void check_key_positions(const InputValues& inputs) {
  const SequenceInputs& sequences = *inputs.sequences;
  if (sequences.key_positions == nullptr) return;
  if (is_self_attention(inputs)) {
    fail(Status::InvalidArgument,
         INPUT("sequences->key_positions") " is set, but the keys are the queries, whose positions are " INPUT(
             "sequences->positions") ": expected " WORD("NULL"));
  }
  if (sequences.positions == nullptr) {
    fail(Status::InvalidArgument, INPUT("sequences->key_positions") " is set, but " INPUT(
                                      "sequences->positions") " is " WORD("NULL") ": expected both, or neither");
  }
}

void set_row_positions(Schedule& schedule, const InputValues& inputs, const Visibility& visibility,
                       const CallSequences& sequences, const AttentionOptions& options, PositionUse use, bool reads,
                       AttentionProblem& problem) {
  const bool is_self = is_self_attention(inputs);
  KeyLimits& limits = problem.limits;
  const Operand of_queries = limits.positions;
  limits.positions = {};
  const int64_t num_key_rows = inputs.keys.dim(inputs.keys.rank() - 2);
  const Operand of_keys = is_self ? of_queries : key_positions_operand(sequences, problem.batch, num_key_rows, reads);
  const bool is_causal = options.causal != Alignment::None;
  const bool reads_positions =
      use.rotates || use.reads_distances || options.window != Alignment::None || (is_causal && !is_self);
  if (!reads_positions && !is_causal) return;
  const bool is_known =
      of_queries.data != nullptr && of_keys.data != nullptr && (limits.has_table == 0 || limits.table != nullptr);
  if (!is_known) {
    if (reads_positions) limits.has_table = 1;
    return;
  }
  auto* const elements = schedule.arena().allocate_for<CachedElement>(static_cast<size_t>(problem.batch));
  std::uninitialized_value_construct_n(elements, problem.batch);
  FallingPositions falling(schedule, visibility);
  bool continue_in_all = is_self;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const Sequence& sequence = sequence_of(limits, b);
    CachedElement& element = elements[b];
    element.query_positions = read_rows(schedule, of_queries, b, sequence.query_begin, sequence.query_count);
    element.positions =
        is_self ? element.query_positions : read_rows(schedule, of_keys, b, sequence.key_begin, sequence.key_count);
    if (is_self) {
      falling.check({.element = b,
                     .first_row = sequence.query_begin,
                     .count = sequence.query_count,
                     .positions = element.query_positions,
                     .is_packed = problem.is_packed != 0});
    }
    continue_in_all = continue_in_all && are_consecutive(element.query_positions, sequence.query_count);
  }
  if (!reads_positions) return;
  Sequence* const table = sequences_of(schedule, sequences, problem);
  if (continue_in_all) {
    for (int64_t b = 0; b < problem.batch; ++b) {
      if (table[b].query_count > 0) table[b].query_position = table[b].key_position = elements[b].positions[0];
    }
    return;
  }
  problem.cached.has_positions = 1;
  problem.cached.elements = elements;
  move_bands(options, !is_self, table, problem);
}

}  // namespace heed
