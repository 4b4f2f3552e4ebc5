// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/projection.h"

#include <algorithm>
#include <array>
#include <cinttypes>

#include "attention/validate.h"
#include "base/checked.h"
#include "base/error.h"
#include "ops/visible_keys.h"

namespace heed {
namespace {

// The names of projections in explain: bit i of the index is set if input i is one of the projected inputs.
constexpr const char* kOperations[] = {
    "",
    "project queries",
    "project keys",
    "project queries and keys",
    "project values",
    "project queries and values",
    "project keys and values",
    "project queries, keys and values",
};

// Arrays of at most this many elements (32 KiB) keep the heads of a row contiguous. Such an array fits the first-level
// cache, where attention reads a head equally fast in either layout. And a row whose heads are no multiple of a vector
// is then written as one piece instead of one piece per head.
constexpr int64_t kMaxWholeRowElements = 8192;

// Reserves (batch, heads, rows, head size) in the memory order (batch, row, head): all heads of a row are adjacent.
// Each batch element stores only the rows `held`.
Intermediate& reserve_held_rows(Schedule& schedule, int64_t batch, int64_t rows, KeyRange held, int64_t num_heads,
                                int64_t head_size) {
  const int64_t row_size = num_heads * head_size;
  int64_t num_elements = 0;
  // Multiply rows first: strides are computed from rows * row_size even if batch is 0.
  if (!checked_multiply(rows, row_size, num_elements) || !checked_multiply(num_elements, batch, num_elements)) {
    fail(Status::InvalidArgument,
         "inputs have batch %" PRId64 " and length %" PRId64 ", whose projections to %" PRId64
         " overflow, expected at most 2^63 - 1 elements",
         batch, rows, row_size);
  }
  Intermediate& array = schedule.reserve(schedule.form().dtype, num_elements, batch * held.size() * row_size);
  array.rank = 4;
  std::ranges::copy(std::array{batch, num_heads, rows, head_size}, array.dims);
  std::ranges::copy(std::array{held.size() * row_size, head_size, row_size, int64_t{1}}, array.strides);
  array.origin = -held.first * row_size;
  return array;
}

// Like reserve_held_rows, but in the memory order (batch, head, row), which attention reads fastest. The order stays
// (batch, row, head) if the array is small enough that both layouts are equally fast, or if the device requires it.
Intermediate& reserve_heads(Schedule& schedule, int64_t batch, int64_t rows, KeyRange held, int64_t num_heads,
                            int64_t head_size) {
  Intermediate& array = reserve_held_rows(schedule, batch, rows, held, num_heads, head_size);
  const int64_t row_size = num_heads * head_size;
  if (schedule.form().whole_rows != 0) return array;
  if (batch * held.size() * row_size <= kMaxWholeRowElements && row_size % kCollidingRow != 0) return array;
  array.strides[1] = held.size() * head_size;
  array.strides[2] = head_size;
  array.origin = -held.first * head_size;
  return array;
}

}  // namespace

void set_transform(Schedule& schedule, HeadTransform& transform, const Projected& projected) {
  transform = *projected.transform;
  if (projected.norm_weight != nullptr) {
    const Tensor& weight = projected.norm_weight->value();
    const bool is_shared = weight.rank() == 1;
    schedule.set_operand(transform.norm_weight, weight, {is_shared ? -1 : 0, -1, -1, is_shared ? 0 : 1});
  }
  if (projected.rotations.is_given()) {
    schedule.set_operand(transform.rotations, projected.rotations, {-1, 0, 1, 2});
    if (projected.rotations.dim(0) == 1) transform.rotations.strides[1] = 0;
  }
}

bool may_leave_rows_out(const KeyLimits& limits) {
  return limits.valid_lens.given != 0 || limits.has_table != 0 || limits.num_queries == 0 ||
         limits.sequence.band_first > -limits.num_queries || limits.sequence.band_last < limits.num_keys;
}

int64_t check_sequences(const InputValues& inputs) {
  const bool packed = is_packed(inputs);
  const Value& queries = rows_of(inputs);
  const Value& keys = inputs.keys;
  const Value& values = inputs.values;
  const bool has_cache = inputs.cache != nullptr;
  for (const ProjectedInput input : {ProjectedInput::Queries, ProjectedInput::Keys, ProjectedInput::Values}) {
    const auto& [name, value] = value_of(inputs, input);
    if (!value.is_given()) continue;
    if (value.rank() != (packed ? 2 : 3)) {
      fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s of rank %d, expected rank %s", name,
           to_string(value.shape()).c_str(), value.rank(),
           packed                             ? "2, (total, E), of a packed batch"
           : input == ProjectedInput::Queries ? "3, (B, Q, E)"
                                              : "3, (B, K, E)");
    }
    if (!packed && value.dim(0) != queries.dim(0)) {
      fail(Status::InvalidArgument,
           "%s has " ARGUMENT("dims") " %s, but " INPUT("%s") " has %s: expected the same batch, %" PRId64, name,
           to_string(value.shape()).c_str(), fills_cache(inputs) ? "keys" : "queries",
           to_string(queries.shape()).c_str(), queries.dim(0));
    }
  }
  const int32_t rows = row_axis(inputs);
  if (has_cache && keys.is_given() && keys.dim(rows) != queries.dim(rows)) {
    fail(Status::InvalidArgument,
         INPUT("keys") " has " ARGUMENT("dims") " %s, but " INPUT(
             "queries") " has %s: expected the same number of rows, %" PRId64
                        ", since " INPUT("cache") " gets a key for each query",
         to_string(keys.shape()).c_str(), to_string(queries.shape()).c_str(), queries.dim(rows));
  }
  if (values.is_given() && values.dim(rows) != keys.dim(rows)) {
    fail(Status::InvalidArgument,
         INPUT("values") " has " ARGUMENT("dims") " %s, but " INPUT(
             "keys") " has %s: expected the same number of keys, %" PRId64,
         to_string(values.shape()).c_str(), to_string(keys.shape()).c_str(), keys.dim(rows));
  }
  return packed ? packed_batch(*inputs.sequences, has_cache || keys_are_queries(inputs)) : queries.dim(0);
}

OutputShapes shapes_without_heads(const InputValues& inputs) {
  const Value& queries = inputs.queries;
  const Value& values = inputs.values;
  OutputShapes shapes;
  shapes.dtype = queries.dtype();
  shapes.is_packed = is_packed(inputs);
  if (shapes.is_packed) {
    shapes.output = {queries.dim(0), values.dim(1)};
    shapes.log_sum_exp.emplace({queries.dim(0)});
    return shapes;
  }
  shapes.output = {queries.dim(0), queries.dim(1), values.dim(2)};
  shapes.weights.emplace({queries.dim(0), queries.dim(1), values.dim(1)});
  shapes.log_sum_exp.emplace({queries.dim(0), queries.dim(1)});
  return shapes;
}

void set_attention_without_heads(const InputValues& inputs, int64_t head_size, AttentionProblem& problem) {
  const int32_t rows = row_axis(inputs);
  problem.batch = batch_of(inputs);
  problem.num_heads = problem.num_kv_heads = 1;
  problem.limits = unlimited(inputs.queries.dim(rows), inputs.keys.dim(rows));
  problem.head_size = head_size;
  problem.value_head_size = inputs.values.dim(rows + 1);
}

void set_values_and_results(Schedule& schedule, AttentionProblem& attention, const InputValues& inputs,
                            const OutputValues& outputs) {
  const int32_t batch = batch_axis(inputs);
  const int32_t rows = row_axis(inputs);
  if (outputs.output.is_given()) {
    schedule.set_operand(attention.values, inputs.values, {batch, -1, rows, rows + 1});
    schedule.set_operand(attention.output, outputs.output, {batch, -1, rows, rows + 1});
  }
  if (outputs.weights.is_given()) schedule.set_operand(attention.weights, outputs.weights, {0, -1, 1, 2});
  if (outputs.log_sum_exp.is_given())
    schedule.set_operand(attention.log_sum_exp, outputs.log_sum_exp, {batch, -1, rows, -1});
}

void set_parameters(Schedule& schedule, LinearPart& part, const ProjectionParameters& parameters) {
  const Tensor& weight = parameters.weight.value();
  part.output_size = part.head_size = weight.dim(0);
  schedule.set_operand(part.weight, weight, {-1, -1, 0, 1});
  part.packed = parameters.weight.packed();
  part.is_packed = part.packed != nullptr ? 1 : 0;
  if (parameters.bias != nullptr) schedule.set_operand(part.bias, parameters.bias->value(), {-1, -1, -1, 0});
}

Value reserve_rows(Schedule& schedule, const Value& like, int64_t num_heads, int64_t head_size) {
  const int32_t row_axis = like.rank() - 2;
  const int64_t batch = row_axis == 0 ? 1 : like.dim(0);
  const int64_t num_rows = like.dim(row_axis);
  Intermediate& array = reserve_held_rows(schedule, batch, num_rows, {0, num_rows}, num_heads, head_size);
  const int64_t row_size = num_heads * head_size;
  array.rank = like.rank();
  array.dims[0] = batch;
  array.strides[0] = num_rows * row_size;
  array.dims[row_axis] = num_rows;
  array.strides[row_axis] = row_size;
  array.dims[row_axis + 1] = row_size;
  array.strides[row_axis + 1] = 1;
  return array;
}

void set_heads(Schedule& schedule, Operand& operand, const Value& rows, int64_t num_heads, int64_t head_size) {
  const int32_t row_axis = rows.rank() - 2;
  schedule.set_operand(operand, rows, {row_axis == 0 ? -1 : 0, -1, row_axis, row_axis + 1});
  operand.strides[1] = num_heads == 1 ? 0 : head_size * rows.stride(row_axis + 1);
}

std::array<Value, kMaxLinearParts> project(Schedule& schedule, const InputValues& inputs, const KeyLimits& limits,
                                           std::span<const Projected> all) {
  const Schedule::OnePhase one_phase(schedule);
  const bool packed = is_packed(inputs);
  const int32_t row_axis = heed::row_axis(inputs);
  const bool wants_less = schedule.form().all_rows == 0 && !packed && may_leave_rows_out(limits);
  Value projected[kMaxLinearParts];
  // Reserve all arrays first, so that their order in the workspace does not depend on which inputs are equal.
  std::array<Value, kMaxLinearParts> results;
  const auto reserve = [&](size_t i, int64_t batch, int64_t rows, KeyRange held) -> Value {
    const int64_t num_heads = all[i].parameters.weight.value().dim(0) / all[i].head_size;
    Intermediate& array = reserve_heads(schedule, batch, rows, held, num_heads, all[i].head_size);
    schedule.use(array);
    return array;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    projected[i] = value_of(inputs, all[i].input).value;
    const int64_t batch = packed ? 1 : projected[i].dim(0);
    const int64_t rows = projected[i].dim(row_axis);
    const KeyRange held = wants_less && all[i].wanted_rows != WantedRows::All
                              ? wanted_rows_of_batch(limits, all[i].wanted_rows, batch)
                              : KeyRange{0, rows};
    results[i] = reserve(i, batch, rows, held);
    if (all[i].sum != nullptr) *all[i].sum = reserve(i, batch, rows, held);
  }
  const auto bit_of = [&all](size_t i) { return size_t{1} << static_cast<size_t>(all[i].input); };
  size_t done = 0;
  for (size_t first = 0; first < all.size(); ++first) {
    if ((done & bit_of(first)) != 0) continue;
    const Value& input = projected[first];
    size_t same = 0;
    for (size_t i = first; i < all.size(); ++i) {
      if (same_source(input, projected[i])) same |= bit_of(i);
    }
    done |= same;
    LinearProblem& linear = schedule.add<LinearProblem>(kOperations[same]);
    linear.batch = packed ? 1 : input.dim(0);
    linear.rows = input.dim(row_axis);
    linear.input_size = input.dim(row_axis + 1);
    schedule.set_operand(linear.input, input, {-1, packed ? -1 : 0, row_axis, row_axis + 1});
    linear.num_parts = 0;
    // Even if only queries read the input: the planned scratch must not depend on which inputs are equal.
    if (wants_less) linear.limits = limits;
    for (size_t i = first; i < all.size(); ++i) {
      if ((same & bit_of(i)) == 0) continue;
      LinearPart& part = linear.parts[linear.num_parts++];
      set_parameters(schedule, part, all[i].parameters);
      part.head_size = all[i].head_size;
      if (wants_less) part.wanted_rows = all[i].wanted_rows;
      schedule.set_operand(part.output, results[i], {1, 0, 2, 3});
      if (all[i].transform != nullptr) set_transform(schedule, part.transform, all[i]);
      if (all[i].sum != nullptr) schedule.set_operand(part.sum, *all[i].sum, {1, 0, 2, 3});
    }
  }
  return results;
}

}  // namespace heed
