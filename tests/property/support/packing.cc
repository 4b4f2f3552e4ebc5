// SPDX-License-Identifier: Apache-2.0
#include "support/packing.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace heed::property {
namespace {

// Calls visit(index in the padded array, index in the packed one) for each row of both.
template <typename Visit>
void for_each_common_index(const Dims& packed_dims, size_t axis, const Input& offsets, Visit visit) {
  const std::vector<double>& starts = offsets.contents.values;
  for_each_index(packed_dims, [&](const Dims& index, size_t position) {
    const auto row = static_cast<double>(index[axis]);
    const auto next = std::upper_bound(starts.begin(), starts.end(), row);
    Dims padded = index;
    padded[axis] -= static_cast<int64_t>(*(next - 1));
    padded.insert(padded.begin(), next - starts.begin() - 1);
    visit(padded, position);
  });
}

size_t position_of(const Dims& index, const Dims& dims) {
  int64_t position = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) position = position * dims[axis] + index[axis];
  return static_cast<size_t>(position);
}

Dims packed_dims_of(const Dims& padded, size_t axis, const Input& offsets) {
  Dims dims(padded.begin() + 1, padded.end());
  dims[axis] = static_cast<int64_t>(offsets.contents.values.back());
  return dims;
}

// The axis of rows in an array whose last axis are the elements of a row, and in one without that axis.
size_t row_axis(const Dims& dims, bool has_elements = true) { return dims.size() - (has_elements ? 2 : 1); }

Input padded_input(const Input& input, size_t axis, const Input& offsets, double fill) {
  return make_input(pad(input.contents, axis, offsets, largest_of(counts_of(offsets)), fill), input.dtype);
}

template <typename T>
std::vector<T> pack(const std::vector<T>& padded, const Dims& dims, size_t axis, const Input& offsets) {
  const Dims packed = packed_dims_of(dims, axis, offsets);
  std::vector<T> result(static_cast<size_t>(num_elements(packed)));
  if (padded.empty()) return {};
  for_each_common_index(packed, axis, offsets, [&](const Dims& index, size_t position) {
    result[position] = padded[position_of(index, dims)];
  });
  return result;
}

reference::Bounded pack(const reference::Bounded& padded, const Dims& dims, size_t axis, const Input& offsets) {
  reference::Bounded result;
  result.values = pack(padded.values, dims, axis, offsets);
  result.errors = pack(padded.errors, dims, axis, offsets);
  result.may_be_nan = pack(padded.may_be_nan, dims, axis, offsets);
  return result;
}

std::optional<Result> pack(const std::optional<Result>& padded, bool has_elements, const Input& offsets) {
  if (!padded) return std::nullopt;
  const Dims& dims = padded->contents.dims;
  const size_t axis = row_axis(dims, has_elements) - 1;
  Result result = {padded->dtype, pack(padded->contents, axis, offsets), {}};
  const size_t size = padded->bytes.size() / std::max<size_t>(1, padded->contents.values.size());
  result.bytes.resize(result.contents.values.size() * size);
  for_each_common_index(result.contents.dims, axis, offsets, [&](const Dims& index, size_t position) {
    const auto from = static_cast<std::ptrdiff_t>(position_of(index, dims) * size);
    std::copy_n(padded->bytes.begin() + from, size,
                result.bytes.begin() + static_cast<std::ptrdiff_t>(position * size));
  });
  return result;
}

}  // namespace

Input make_offsets(const std::vector<int64_t>& counts, heed_dtype dtype) {
  Array offsets = filled({static_cast<int64_t>(counts.size()) + 1}, 0.0);
  for (size_t b = 0; b < counts.size(); ++b) offsets.values[b + 1] = offsets.values[b] + static_cast<double>(counts[b]);
  return make_input(std::move(offsets), dtype);
}

std::vector<int64_t> counts_of(const Input& offsets) {
  const std::vector<double>& starts = offsets.contents.values;
  std::vector<int64_t> counts;
  for (size_t b = 0; b + 1 < starts.size(); ++b) counts.push_back(static_cast<int64_t>(starts[b + 1] - starts[b]));
  return counts;
}

int64_t largest_of(const std::vector<int64_t>& counts) {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

const Input& key_offsets_of(const Call& call) { return call.key_offsets ? *call.key_offsets : *call.query_offsets; }

Array pad(const Array& packed, size_t axis, const Input& offsets, int64_t num_rows, double fill) {
  Dims dims = packed.dims;
  dims[axis] = num_rows;
  dims.insert(dims.begin(), static_cast<int64_t>(offsets.contents.values.size()) - 1);
  Array padded = filled(dims, fill);
  for_each_common_index(packed.dims, axis, offsets, [&](const Dims& index, size_t position) {
    padded.values[position_of(index, dims)] = packed.values[position];
  });
  return padded;
}

Array pack(const Array& padded, size_t axis, const Input& offsets) {
  return {packed_dims_of(padded.dims, axis, offsets), pack(padded.values, padded.dims, axis, offsets)};
}

Call padded_form(const Call& packed, double fill) {
  Call call = packed;
  const Input of_queries = *packed.query_offsets;
  const Input& of_keys = key_offsets_of(packed);
  const auto lens_of = [](const Input& offsets) {
    Array lens = filled({static_cast<int64_t>(offsets.contents.values.size()) - 1}, 0.0);
    const std::vector<int64_t> counts = counts_of(offsets);
    std::copy(counts.begin(), counts.end(), lens.values.begin());
    return make_input(std::move(lens), HEED_I64);
  };
  call.queries = padded_input(packed.queries, row_axis(packed.queries.contents.dims), of_queries, fill);
  for (std::optional<Input> Call::*const member : {&Call::keys, &Call::values}) {
    if (!(packed.*member)) continue;
    call.*member = padded_input(*(packed.*member), row_axis((packed.*member)->contents.dims), of_keys, fill);
  }
  if (packed.positions) call.positions = padded_input(*packed.positions, 0, of_queries, 0.0);
  if (packed.key_positions) call.key_positions = padded_input(*packed.key_positions, 0, of_keys, 0.0);
  call.query_lens = lens_of(of_queries);
  if (packed.keys) call.valid_lens = lens_of(of_keys);
  call.query_offsets.reset();
  call.key_offsets.reset();
  return call;
}

reference::AttentionResult packed_results(const Call& packed, const reference::AttentionResult& padded) {
  const ResultDims dims = result_dims(padded_form(packed, 0.0));
  reference::AttentionResult result;
  result.output = pack(padded.output, dims.output, row_axis(dims.output) - 1, *packed.query_offsets);
  result.log_sum_exp =
      pack(padded.log_sum_exp, dims.log_sum_exp, row_axis(dims.log_sum_exp, false) - 1, *packed.query_offsets);
  return result;
}

Results packed_results(const Call& packed, const Results& padded) {
  return {pack(padded.output, true, *packed.query_offsets), std::nullopt,
          pack(padded.log_sum_exp, false, *packed.query_offsets)};
}

}  // namespace heed::property
