// SPDX-License-Identifier: Apache-2.0
#include "layers/projection.h"

#include <cinttypes>

#include "base/checked.h"
#include "base/error.h"
#include "ops/visible_keys.h"

namespace heed {
namespace {

// What explain calls the projections of the sources whose bits are set, the first source's being 1.
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

// Elements of an array, 32 KiB, up to which its rows stay whole. It stays in a first-level cache, where attention reads
// the rows of a head as fast apart as one after the other; and a row whose heads do not fill whole vectors is written
// as one, rather than in as many parts as it has heads.
constexpr int64_t kMaxWholeRows = 8192;
// Rows that lie a multiple of so many elements, 4 KiB, apart fall into the same sets of the caches.
constexpr int64_t kCollidingRow = 1024;

Intermediate reserve_elements(Schedule& schedule, int64_t batch, int64_t rows, int64_t held_rows, int64_t size) {
  int64_t num_elements = 0;
  // Rows first: strides are made of them even where the batch is 0.
  if (!checked_multiply(rows, size, num_elements) || !checked_multiply(num_elements, batch, num_elements)) {
    fail(Status::InvalidArgument,
         "inputs have batch %" PRId64 " and length %" PRId64 ", whose projections to %" PRId64
         " overflow, expected at most 2^63 - 1 elements",
         batch, rows, size);
  }
  return schedule.reserve(num_elements, batch * held_rows * size);
}

// Of `rows` rows, `held` are held of each batch element.
HeadArray reserve_held_rows(Schedule& schedule, int64_t batch, int64_t rows, KeyRange held, int64_t num_heads,
                            int64_t head_size) {
  const int64_t row_size = num_heads * head_size;
  HeadArray heads;
  heads.array = reserve_elements(schedule, batch, rows, held.size(), row_size);
  heads.first_row = held.first;
  heads.batch_stride = held.size() * row_size;
  heads.head_stride = head_size;
  heads.row_stride = row_size;
  return heads;
}

// An array whose heads lie apart, rows one after the other in each, which is how attention reads them fastest; unless
// it is so small that whole rows are read as fast, or the device wants them.
HeadArray reserve_heads(Schedule& schedule, int64_t batch, int64_t rows, KeyRange held, int64_t num_heads,
                        int64_t head_size) {
  HeadArray heads = reserve_held_rows(schedule, batch, rows, held, num_heads, head_size);
  const int64_t row_size = num_heads * head_size;
  if (schedule.form().whole_rows != 0) return heads;
  if (batch * held.size() * row_size <= kMaxWholeRows && row_size % kCollidingRow != 0) return heads;
  heads.head_stride = held.size() * head_size;
  heads.row_stride = head_size;
  return heads;
}

// Whether anything may hide keys from all queries, as far as sizes and options tell: a call is planned alike whether
// lengths are read or not, and takes no less scratch than a smaller one.
bool may_leave_rows_out(const KeyLimits& limits) {
  return limits.valid_lens.given != 0 || limits.has_table != 0 || limits.num_queries == 0 ||
         limits.sequence.band_first > -limits.num_queries || limits.sequence.band_last < limits.num_keys;
}

// The array as an operand, from where its row 0 is or would be.
void place(Schedule& schedule, Operand& operand, const HeadArray& heads) {
  schedule.place(operand, heads.array, -heads.first_row * heads.row_stride);
}

}  // namespace

SourceTensor source_of(const LayerInputs& inputs, Source source) {
  if (source == Source::Queries) return {"inputs->queries", *inputs.queries};
  if (source == Source::Keys) return {"inputs->keys", *inputs.keys};
  return {"inputs->values", *inputs.values};
}

void check_sequences(const LayerInputs& inputs) {
  const Tensor& queries = *inputs.queries;
  const Tensor& keys = *inputs.keys;
  const Tensor& values = *inputs.values;
  for (const Source source : {Source::Queries, Source::Keys, Source::Values}) {
    const auto& [name, tensor] = source_of(inputs, source);
    if (tensor.rank() != 3) {
      fail(Status::InvalidArgument, "%s has dims %s of rank %d, expected rank 3, %s", name,
           to_string(tensor.shape()).c_str(), tensor.rank(), source == Source::Queries ? "(B, Q, E)" : "(B, K, E)");
    }
    if (tensor.dim(0) != queries.dim(0)) {
      fail(Status::InvalidArgument, "%s has dims %s, but inputs->queries has %s: expected the same batch, %" PRId64,
           name, to_string(tensor.shape()).c_str(), to_string(queries.shape()).c_str(), queries.dim(0));
    }
  }
  if (values.dim(1) != keys.dim(1)) {
    fail(Status::InvalidArgument,
         "inputs->values has dims %s, but inputs->keys has %s: expected the same number of keys, %" PRId64,
         to_string(values.shape()).c_str(), to_string(keys.shape()).c_str(), keys.dim(1));
  }
}

void set_parameters(LinearPart& part, const ProjectionParameters& parameters) {
  const Tensor& weight = parameters.weight.value();
  part.output_size = part.head_size = weight.dim(0);
  set_operand(part.weight, weight, {-1, -1, 0, 1});
  part.packed = parameters.weight.packed();
  part.is_packed = part.packed != nullptr ? 1 : 0;
  if (parameters.bias != nullptr) set_operand(part.bias, parameters.bias->value(), {-1, -1, -1, 0});
}

HeadArray reserve_rows(Schedule& schedule, int64_t batch, int64_t rows, int64_t num_heads, int64_t head_size) {
  return reserve_held_rows(schedule, batch, rows, {0, rows}, num_heads, head_size);
}

void place_heads(Schedule& schedule, Operand& operand, const HeadArray& heads) {
  place(schedule, operand, heads);
  operand.strides[0] = heads.batch_stride;
  operand.strides[1] = heads.head_stride;
  operand.strides[2] = heads.row_stride;
  operand.strides[3] = 1;
}

void place_rows(Schedule& schedule, Operand& operand, const HeadArray& heads) {
  place(schedule, operand, heads);
  operand.strides[1] = heads.batch_stride;
  operand.strides[2] = heads.row_stride;
  operand.strides[3] = 1;
}

std::array<HeadArray, kMaxLinearParts> project(Schedule& schedule, const LayerInputs& inputs, const KeyLimits& limits,
                                               std::span<const Projected> all) {
  const bool wants_less = schedule.form().all_rows == 0 && may_leave_rows_out(limits);
  std::array<HeadArray, kMaxLinearParts> results;
  const auto bit_of = [&all](size_t i) { return size_t{1} << static_cast<size_t>(all[i].source); };
  size_t done = 0;
  for (size_t first = 0; first < all.size(); ++first) {
    if ((done & bit_of(first)) != 0) continue;
    const Tensor& input = source_of(inputs, all[first].source).tensor;
    size_t sources = 0;
    for (size_t i = first; i < all.size(); ++i) {
      if (input.is_same_as(source_of(inputs, all[i].source).tensor)) sources |= bit_of(i);
    }
    done |= sources;
    LinearProblem& linear = schedule.add_linear(kOperations[sources]);
    linear.batch = input.dim(0);
    linear.rows = input.dim(1);
    linear.input_size = input.dim(2);
    set_operand(linear.input, input, {-1, 0, 1, 2});
    linear.num_parts = 0;
    // Also where the input is the queries' alone: the scratch that is planned must not depend on which inputs share a
    // tensor.
    if (wants_less) linear.limits = limits;
    for (size_t i = first; i < all.size(); ++i) {
      if ((sources & bit_of(i)) == 0) continue;
      LinearPart& part = linear.parts[linear.num_parts++];
      set_parameters(part, all[i].parameters);
      part.head_size = all[i].head_size;
      KeyRange held = {0, linear.rows};
      if (wants_less && all[i].wanted_rows != WantedRows::All) {
        part.wanted_rows = all[i].wanted_rows;
        held = wanted_rows_of_batch(limits, part.wanted_rows, linear.batch);
      }
      HeadArray& result = results[i];
      result =
          reserve_heads(schedule, linear.batch, linear.rows, held, part.output_size / part.head_size, part.head_size);
      place(schedule, part.output, result);
      part.output.strides[0] = result.head_stride;
      part.output.strides[1] = result.batch_stride;
      part.output.strides[2] = result.row_stride;
      part.output.strides[3] = 1;
    }
  }
  return results;
}

}  // namespace heed
