// SPDX-License-Identifier: Apache-2.0
#include "support/batch_part.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "support/packing.h"

namespace heed::property {
namespace {

enum class Operand { Rows, Pairs };

std::optional<Input> part_of(const std::optional<Input>& input, Operand operand, int64_t batch, int64_t first,
                             int64_t count) {
  if (!input) return std::nullopt;
  // An input that is the same for all batch elements stays whole.
  const Dims& dims = input->contents.dims;
  if (dims[0] != batch || (operand == Operand::Pairs && dims.size() == 2)) return input;
  return Input{slice(input->contents, 0, first, count), input->dtype, input->strides, input->unused_before};
}

// Rows `first` to first + count - 1 along an axis. The strides stay.
Input rows_of(const Input& input, size_t axis, int64_t first, int64_t count) {
  return {slice(input.contents, axis, first, count), input.dtype, input.strides, input.unused_before};
}

std::optional<Result> part_of(const std::optional<Result>& result, size_t axis, int64_t first, int64_t count) {
  if (!result) return std::nullopt;
  const Dims& dims = result->contents.dims;
  const size_t size = result->bytes.size() / std::max<size_t>(1, result->contents.values.size());
  Result part = {result->dtype, slice(result->contents, axis, first, count), {}};
  for_each_index(dims, [&](const Dims& index, size_t position) {
    if (index[axis] < first || index[axis] >= first + count) return;
    const auto from = result->bytes.begin() + static_cast<std::ptrdiff_t>(position * size);
    part.bytes.insert(part.bytes.end(), from, from + static_cast<std::ptrdiff_t>(size));
  });
  return part;
}

// The rows of some batch elements.
struct Rows {
  int64_t first;
  int64_t count;
};

Rows rows_of_elements(const Input& offsets, int64_t first, int64_t count) {
  const std::vector<double>& starts = offsets.contents.values;
  const auto begin = static_cast<int64_t>(starts[static_cast<size_t>(first)]);
  return {begin, static_cast<int64_t>(starts[static_cast<size_t>(first + count)]) - begin};
}

Input part_of_offsets(const Input& offsets, int64_t first, int64_t count) {
  const std::vector<int64_t> counts = counts_of(offsets);
  return make_offsets({counts.begin() + first, counts.begin() + first + count}, offsets.dtype);
}

Call part_of_packed(const Call& call, int64_t first, int64_t count) {
  Call part = call;
  const Rows queries = rows_of_elements(*call.query_offsets, first, count);
  const Rows keys = rows_of_elements(key_offsets_of(call), first, count);
  const size_t axis = call.queries.contents.dims.size() - 2;
  part.queries = rows_of(call.queries, axis, queries.first, queries.count);
  if (call.keys) part.keys = rows_of(*call.keys, axis, keys.first, keys.count);
  if (call.values) part.values = rows_of(*call.values, axis, keys.first, keys.count);
  if (call.positions) part.positions = rows_of(*call.positions, 0, queries.first, queries.count);
  if (call.key_positions) part.key_positions = rows_of(*call.key_positions, 0, keys.first, keys.count);
  part.query_offsets = part_of_offsets(*call.query_offsets, first, count);
  if (call.key_offsets) part.key_offsets = part_of_offsets(*call.key_offsets, first, count);
  return part;
}

}  // namespace

Call part_of_batch(const Call& call, int64_t first, int64_t count) {
  if (is_packed(call)) return part_of_packed(call, first, count);
  const int64_t batch = sizes_of(call).batch;
  Call part = call;
  part.queries = *part_of(call.queries, Operand::Rows, batch, first, count);
  part.keys = part_of(call.keys, Operand::Rows, batch, first, count);
  part.values = part_of(call.values, Operand::Rows, batch, first, count);
  part.valid_lens = part_of(call.valid_lens, Operand::Rows, batch, first, count);
  part.positions = part_of(call.positions, Operand::Rows, batch, first, count);
  part.key_positions = part_of(call.key_positions, Operand::Rows, batch, first, count);
  part.attention_mask = part_of(call.attention_mask, Operand::Rows, batch, first, count);
  part.self_attention_mask = part_of(call.self_attention_mask, Operand::Rows, batch, first, count);
  part.query_lens = part_of(call.query_lens, Operand::Rows, batch, first, count);
  part.mask = part_of(call.mask, Operand::Pairs, batch, first, count);
  part.bias = part_of(call.bias, Operand::Pairs, batch, first, count);
  part.self_valid_lens = part_of(call.self_valid_lens, Operand::Rows, batch, first, count);
  part.self_mask = part_of(call.self_mask, Operand::Pairs, batch, first, count);
  part.self_bias = part_of(call.self_bias, Operand::Pairs, batch, first, count);
  return part;
}

Results part_of_batch(const Call& call, const Results& results, int64_t first, int64_t count) {
  if (!is_packed(call)) {
    return {part_of(results.output, 0, first, count), part_of(results.weights, 0, first, count),
            part_of(results.log_sum_exp, 0, first, count)};
  }
  const Rows rows = rows_of_elements(*call.query_offsets, first, count);
  const ResultDims dims = result_dims(call);
  return {part_of(results.output, dims.output.size() - 2, rows.first, rows.count), std::nullopt,
          part_of(results.log_sum_exp, dims.log_sum_exp.size() - 1, rows.first, rows.count)};
}

}  // namespace heed::property
