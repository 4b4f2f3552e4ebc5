// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/rotary_positions.h"

#include <algorithm>
#include <cinttypes>
#include <span>
#include <utility>

#include "base/checked.h"
#include "layers/cache_call.h"
#include "layers/kinds/projection.h"
#include "layers/row_positions.h"

namespace heed {
namespace {

// Whether queries and keys have the same positions, row by row.
bool share_positions(const LayerCall& call) {
  const SequenceInputs& sequences = *call.inputs.sequences;
  if (sequences.positions != nullptr || sequences.has_table()) return is_self_attention(call.inputs);
  return call.attention->limits.num_queries == call.attention->limits.num_keys;
}

// Whether the rows of each batch element have the same positions: keys have 0, 1, ... unless the call gives others.
bool is_same_for_all(const LayerCall& call, bool of_keys) {
  const SequenceInputs& sequences = *call.inputs.sequences;
  if (sequences.is_packed()) return false;
  return of_keys ? sequences.key_positions == nullptr
                 : sequences.positions == nullptr && call.attention->limits.has_table == 0;
}

}  // namespace

RotaryPositions::RotaryPositions(const RopeOptions& options, int64_t head_size, const HostAllocator& allocator) {
  // Each table has one list.
  RopeOptions checked = with_defaults(options, head_size);
  const std::span<const float> short_factors = std::exchange(checked.short_factors, {});
  table_ = host_make_shared<RotaryTable>(allocator, checked, head_size, allocator);
  options_ = table_->options();
  if (short_factors.empty()) return;
  checked.factors = short_factors;
  short_table_ = host_make_shared<RotaryTable>(allocator, checked, head_size, allocator);
  options_.short_factors = short_table_->options().factors;
}

void RotaryPositions::set(HeadTransform& transform) const {
  transform.layout = options().layout;
  transform.rotary_size = options().rotary_size;
  transform.rotary_offset = options().rotary_offset;
}

void RotaryPositions::set(RotationsProblem& problem, const LayerCall& call, bool of_keys) const {
  problem.batch = call.attention->batch;
  problem.limits = call.attention->limits;
  problem.limits.valid_lens = {};
  problem.elements = call.attention->cached.elements;
  problem.num_pairs = options().rotary_size / 2;
  const bool is_short = short_table_ != nullptr &&
                        largest_position(problem.limits, problem.elements, problem.batch) < options().original_length;
  problem.digits = (is_short ? short_table_ : table_)->digits();
  problem.factor = static_cast<double>(options().attention_factor);
  problem.of_keys = of_keys ? 1 : 0;
  if (of_keys) problem.limits.positions = {};
}

Value RotaryPositions::add_cached_keys(Schedule& schedule, const LayerCall& call) const {
  const AttentionProblem& attention = *call.attention;
  const int64_t size = options().rotary_size;
  // The workspace suffices for any number of rows.
  int64_t most = 0;
  if (!checked_multiply(attention.cached.max_rows * size, attention.batch, most)) most = INT64_MAX;
  const int64_t num_rows = attention.limits.num_keys;
  Intermediate& rotations = schedule.reserve(DType::F32, std::max(most, attention.batch * num_rows * size),
                                             attention.batch * num_rows * size);
  rotations.rank = 3;
  const int64_t dims[] = {attention.batch, num_rows, size};
  const int64_t strides[] = {num_rows * size, size, 1};
  std::copy_n(dims, 3, rotations.dims);
  std::copy_n(strides, 3, rotations.strides);
  RotationsProblem& problem = schedule.add<RotationsProblem>("rotations of the cache");
  set(problem, call, true);
  schedule.set_operand(problem.output, rotations, {-1, 0, 1, 2});
  return rotations;
}

Value RotaryPositions::add_rows(Schedule& schedule, const LayerCall& call, bool of_keys, const char* operation) const {
  const InputValues& inputs = call.inputs;
  const bool packed = is_packed(inputs);
  const bool is_same = is_same_for_all(call, of_keys);
  const int64_t rows = (of_keys ? inputs.keys : rows_of(inputs)).dim(row_axis(inputs));
  if (rows > kMaxRotaryPositions) {
    fail(Status::Unsupported,
         "rotary positions of %" PRId64 " rows of " INPUT("%s") " are not supported, expected at most 2^32", rows,
         of_keys ? "keys" : "queries");
  }
  Intermediate& rotations =
      schedule.reserve(DType::F32, Shape{packed || is_same ? 1 : call.attention->batch, rows, options().rotary_size});
  RotationsProblem& problem = schedule.add<RotationsProblem>(operation);
  set(problem, call, of_keys);
  problem.batch = is_same ? 1 : call.attention->batch;
  if (is_same) problem.limits.has_table = 0;
  schedule.set_operand(problem.output, rotations, {-1, packed || is_same ? -1 : 0, 1, 2});
  return rotations;
}

RotaryPositions::Rotations RotaryPositions::add(Schedule& schedule, const LayerCall& call) const {
  if (call.attention->cached.given != 0) {
    // The keys of the call, if there are any, are those of the same rows.
    const Value both = add_rows(schedule, call, false, "rotations of rows");
    return {both, both};
  }
  if (share_positions(call)) {
    // Without given positions, those of keys are those of all batch elements alike.
    const bool of_keys = call.inputs.sequences->positions == nullptr;
    const Value both = add_rows(schedule, call, of_keys, "rotations of queries and keys");
    return {both, both};
  }
  const Value of_queries = add_rows(schedule, call, false, "rotations of queries");
  return {of_queries, add_rows(schedule, call, true, "rotations of keys")};
}

}  // namespace heed
