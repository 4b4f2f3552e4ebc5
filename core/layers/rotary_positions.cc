// SPDX-License-Identifier: Apache-2.0
#include "layers/rotary_positions.h"

#include <vector>

#include "layers/projection.h"

namespace heed {
namespace {

// Whether queries and keys have the same positions, row by row.
bool share_positions(const LayerCall& call) {
  const AttentionInputs& others = *call.inputs.others;
  if (others.positions != nullptr) return false;
  if (others.has_table()) return keys_are_queries(call.inputs) && others.key_offsets == nullptr;
  return call.attention->limits.num_queries == call.attention->limits.num_keys;
}

}  // namespace

RotaryPositions::RotaryPositions(const RopeOptions& options, int64_t head_size, const HostAllocator& allocator)
    : options_(with_defaults(options, head_size)),
      factors_(options_.factors.begin(), options_.factors.end(), HostStlAllocator<float>(allocator)),
      digits_(HostStlAllocator<double>(allocator)) {
  options_.factors = factors_;
  const std::vector<double> digits = rotary_digits(rotary_frequencies(options_));
  digits_.assign(digits.begin(), digits.end());
}

void RotaryPositions::set(HeadTransform& transform) const {
  transform.layout = options_.layout;
  transform.rotary_size = options_.rotary_size;
  transform.rotary_offset = options_.rotary_offset;
}

Value RotaryPositions::add_rows(Schedule& schedule, const LayerCall& call, bool of_keys, const char* operation) const {
  const InputValues& inputs = call.inputs;
  const bool packed = is_packed(inputs);
  const KeyLimits& limits = call.attention->limits;
  // Keys have the positions 0, 1, ... in each batch element.
  const bool is_same_for_all = !packed && (of_keys || (limits.has_table == 0 && inputs.others->positions == nullptr));
  const int64_t rows = (of_keys ? inputs.keys : inputs.queries).dim(row_axis(inputs));
  if (rows > kMaxRotaryPositions) {
    fail(Status::Unsupported,
         "rotary positions of %" PRId64 " rows of inputs->%s are not supported, expected at most 2^32", rows,
         of_keys ? "keys" : "queries");
  }
  Intermediate& rotations = schedule.reserve(
      DType::F32, Shape{packed || is_same_for_all ? 1 : call.attention->batch, rows, options_.rotary_size});
  RotationsProblem& problem = schedule.add_rotations(operation);
  problem.batch = is_same_for_all ? 1 : call.attention->batch;
  problem.limits = limits;
  problem.limits.valid_lens = {};
  if (is_same_for_all) problem.limits.has_table = 0;
  if (of_keys) problem.limits.positions = {};
  problem.num_pairs = options_.rotary_size / 2;
  problem.digits = digits_.data();
  problem.factor = static_cast<double>(options_.attention_factor);
  problem.of_keys = of_keys ? 1 : 0;
  schedule.set_operand(problem.output, rotations, {-1, packed || is_same_for_all ? -1 : 0, 1, 2});
  return rotations;
}

RotaryPositions::Rotations RotaryPositions::add(Schedule& schedule, const LayerCall& call) const {
  if (share_positions(call)) {
    // Keys' positions are those of all batch elements alike.
    const Value both = add_rows(schedule, call, true, "rotations of queries and keys");
    return {both, both};
  }
  const Value of_queries = add_rows(schedule, call, false, "rotations of queries");
  return {of_queries, add_rows(schedule, call, true, "rotations of keys")};
}

}  // namespace heed
