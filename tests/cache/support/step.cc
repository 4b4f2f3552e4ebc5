// SPDX-License-Identifier: Apache-2.0
#include "cache/support/step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace heed::cache_test {
namespace {

using property::Dims;

property::Input whole_numbers(const std::vector<int64_t>& numbers, const Dims& dims, heed_dtype dtype) {
  property::Array array = property::filled(dims, 0.0);
  std::transform(numbers.begin(), numbers.end(), array.values.begin(),
                 [](int64_t number) { return static_cast<double>(number); });
  return property::make_input(std::move(array), dtype);
}

size_t bytes_of(heed_dtype dtype) { return dtype == HEED_F32 ? 4 : 2; }

// Elements of a result, in the order of their places.
property::Result picked(const property::HostTensor& tensor, const std::vector<size_t>& places, Dims dims) {
  const property::Array all = tensor.read();
  const std::vector<uint8_t> all_bytes = tensor.read_bytes();
  const size_t size = bytes_of(tensor.dtype());
  property::Result result;
  result.dtype = tensor.dtype();
  result.contents.dims = std::move(dims);
  for (const size_t place : places) {
    result.contents.values.push_back(all.values[place]);
    const auto first = all_bytes.begin() + static_cast<std::ptrdiff_t>(place * size);
    result.bytes.insert(result.bytes.end(), first, first + static_cast<std::ptrdiff_t>(size));
  }
  return result;
}

void append_elements(const property::Result& result, size_t first, size_t count, std::vector<uint8_t>& bytes) {
  const size_t size = bytes_of(result.dtype);
  const auto start = result.bytes.begin() + static_cast<std::ptrdiff_t>(first * size);
  bytes.insert(bytes.end(), start, start + static_cast<std::ptrdiff_t>(count * size));
}

}  // namespace

Step::Step(const CachedLayer& layer, heed_cache* cache_handle, const std::vector<Part>& parts, const Form& form)
    : layer_(layer), parts_(parts), form_(form) {
  num_padded_ = form.padded_rows;
  firsts_.push_back(0);
  for (const Part& part : parts) {
    num_padded_ = std::max(num_padded_, static_cast<int64_t>(part.rows.size()));
    firsts_.push_back(firsts_.back() + static_cast<int64_t>(part.rows.size()));
  }
  cache.cache = cache_handle;
  cache.layer = form.layer;
  cache.use = form.use;
  inputs.cache = &cache;
  give_rows();
  give_sequences();
  give_limits();
  make_outputs();
  if (!form.with_workspace) return;
  workspace_ = property::GuardedWorkspace(layer.context(), workspace_size());
}

heed_tensor* Step::input(const property::Input& contents) {
  return inputs_.emplace_back(layer_.context(), contents).handle();
}

size_t Step::index_of(size_t b, int64_t row) const {
  const int64_t first = form_.is_packed ? firsts_[b] : static_cast<int64_t>(b) * num_padded_;
  return static_cast<size_t>(first + row);
}

size_t Step::index_in_head(size_t b, int64_t head, int64_t row) const {
  if (form_.is_packed) return static_cast<size_t>(head * firsts_.back() + firsts_[b] + row);
  return static_cast<size_t>((static_cast<int64_t>(b) * layer_.sizes().num_heads + head) * num_padded_ + row);
}

void Step::give_rows() {
  const int64_t size = layer_.spec().input_size;
  const auto batch = static_cast<int64_t>(parts_.size());
  const Dims dims = form_.is_packed ? Dims{firsts_.back(), size} : Dims{batch, num_padded_, size};
  property::Array rows = property::filled(dims, form_.padding);
  for (size_t b = 0; b < parts_.size(); ++b) {
    for (int64_t row = 0; row < num_rows(b); ++row) {
      const std::vector<double> elements =
          elements_of(parts_[b].rows[static_cast<size_t>(row)], size, layer_.spec().seed);
      std::copy(elements.begin(), elements.end(),
                rows.values.begin() + static_cast<std::ptrdiff_t>(index_of(b, row) * static_cast<size_t>(size)));
    }
  }
  inputs.queries = input(property::make_input(std::move(rows), layer_.spec().dtype));
}

void Step::give_sequences() {
  const auto batch = static_cast<int64_t>(parts_.size());
  if (form_.names_sequences) {
    std::vector<int64_t> names;
    for (const Part& part : parts_) names.push_back(part.sequence);
    cache.sequences = input(whole_numbers(names, {batch}, form_.index_dtype));
  }
  const bool has_positions =
      std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return !part.positions.empty(); });
  if (has_positions) {
    const Dims dims = form_.is_packed ? Dims{firsts_.back()} : Dims{batch, num_padded_};
    std::vector<int64_t> positions(static_cast<size_t>(property::num_elements(dims)), 0);
    for (size_t b = 0; b < parts_.size(); ++b) {
      if (parts_[b].positions.size() != parts_[b].rows.size()) throw std::logic_error("each row needs a position");
      for (int64_t row = 0; row < num_rows(b); ++row)
        positions[index_of(b, row)] = parts_[b].positions[static_cast<size_t>(row)];
    }
    sequences.positions = input(whole_numbers(positions, dims, form_.index_dtype));
  }
  if (form_.is_packed) {
    sequences.query_offsets = input(whole_numbers(firsts_, {batch + 1}, form_.index_dtype));
  } else {
    std::vector<int64_t> lens;
    for (size_t b = 0; b < parts_.size(); ++b) lens.push_back(num_rows(b));
    const bool is_uneven = std::any_of(lens.begin(), lens.end(), [&](int64_t len) { return len != num_padded_; });
    if (is_uneven) sequences.query_lens = input(whole_numbers(lens, {batch}, form_.index_dtype));
  }
  if (sequences.positions != nullptr || sequences.query_offsets != nullptr || sequences.query_lens != nullptr)
    inputs.sequences = &sequences;
}

void Step::give_limits() {
  if (form_.mask) inputs.mask = input(*form_.mask);
  if (form_.bias) inputs.bias = input(*form_.bias);
  if (form_.alibi_slopes) inputs.alibi_slopes = input(*form_.alibi_slopes);
  if (form_.sinks) inputs.sinks = input(*form_.sinks);
}

// The rows of the longest sequence after the call. Other layers may have appended the rows already: what all layers have
// is what this one has.
int64_t Step::num_keys() const {
  int64_t longest = 0;
  for (size_t b = 0; b < parts_.size(); ++b) {
    const int64_t appended = form_.use == HEED_CACHE_APPEND ? num_rows(b) : 0;
    longest = std::max(longest, heed_cache_length(cache.cache, parts_[b].sequence) + appended);
  }
  return longest;
}

void Step::make_outputs() {
  const auto batch = static_cast<int64_t>(parts_.size());
  const int64_t heads = layer_.sizes().num_heads;
  const int64_t size = layer_.output_size();
  const auto make = [&](std::optional<property::HostTensor>& tensor, heed_dtype dtype, const Dims& dims) {
    tensor.emplace(layer_.context(), dtype, dims, property::row_major_strides(dims));
    return tensor->handle();
  };
  outputs.output = make(output_, form_.output_dtype.value_or(layer_.spec().dtype),
                        form_.is_packed ? Dims{firsts_.back(), size} : Dims{batch, num_padded_, size});
  if (form_.with_log_sum_exp) {
    outputs.log_sum_exp =
        make(log_sum_exp_, HEED_F32, form_.is_packed ? Dims{heads, firsts_.back()} : Dims{batch, heads, num_padded_});
  }
  if (form_.with_weights) {
    const int64_t columns = num_keys() + property::num_constant_keys(layer_.call());
    outputs.weights = make(weights_, HEED_F32, {batch, heads, num_padded_, columns});
  }
}

heed_status Step::run_with(heed_workspace* workspace) const {
  return heed_layer_forward(layer_.layer(), &inputs, workspace, &outputs);
}

heed_status Step::fill() const { return heed_layer_fill_cache(layer_.layer(), &inputs, workspace_.get()); }

size_t Step::workspace_size() const {
  size_t num_bytes = 0;
  property::check(heed_layer_workspace_size(layer_.layer(), &inputs, &outputs, &num_bytes));
  return num_bytes;
}

// Rule 4: the output of rows that belong to no part is 0, their log_sum_exp -infinity, their weights 0.
void Step::expect_empty_padding(size_t b) const {
  if (form_.is_packed || num_rows(b) == num_padded_) return;
  const auto size = static_cast<size_t>(layer_.output_size());
  const property::Array output = output_->read();
  for (int64_t row = num_rows(b); row < num_padded_; ++row) {
    for (size_t d = 0; d < size; ++d) EXPECT_EQ(output.values[index_of(b, row) * size + d], 0.0) << "padding";
  }
  if (!log_sum_exp_) return;
  const property::Array log_sum_exp = log_sum_exp_->read();
  for (int64_t head = 0; head < layer_.sizes().num_heads; ++head) {
    for (int64_t row = num_rows(b); row < num_padded_; ++row)
      EXPECT_EQ(log_sum_exp.values[index_in_head(b, head, row)], -kInfinity) << "padding";
  }
}

std::vector<property::Results> Step::results() const {
  for (const property::HostTensor& tensor : inputs_) EXPECT_TRUE(tensor.input_is_untouched()) << "an input was written";
  const auto size = static_cast<size_t>(layer_.output_size());
  const int64_t heads = layer_.sizes().num_heads;
  std::vector<property::Results> results;
  for (size_t b = 0; b < parts_.size(); ++b) {
    expect_empty_padding(b);
    const int64_t count = num_rows(b);
    property::Results of_part;
    std::vector<size_t> places;
    for (int64_t row = 0; row < count; ++row) {
      for (size_t d = 0; d < size; ++d) places.push_back(index_of(b, row) * size + d);
    }
    of_part.output = picked(*output_, places, {count, static_cast<int64_t>(size)});
    places.clear();
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t row = 0; row < count; ++row) places.push_back(index_in_head(b, head, row));
    }
    if (log_sum_exp_) of_part.log_sum_exp = picked(*log_sum_exp_, places, {heads, count});
    if (weights_) {
      const auto columns = static_cast<size_t>(heed_tensor_dim(weights_->handle(), 3));
      std::vector<size_t> of_weights;
      for (const size_t place : places) {
        for (size_t k = 0; k < columns; ++k) of_weights.push_back(place * columns + k);
      }
      of_part.weights = picked(*weights_, of_weights, {heads, count, static_cast<int64_t>(columns)});
    }
    results.push_back(std::move(of_part));
  }
  return results;
}

std::vector<property::Results> forward(const CachedLayer& layer, heed_cache* cache, const std::vector<Part>& parts,
                                       const Form& form) {
  const Step step(layer, cache, parts, form);
  property::check(step.run());
  return step.results();
}

property::Results forward_one(const CachedLayer& layer, heed_cache* cache, const Part& part, const Form& form) {
  return forward(layer, cache, {part}, form).front();
}

void fill_cache(const CachedLayer& layer, heed_cache* cache, const std::vector<Part>& parts, const Form& form) {
  property::check(Step(layer, cache, parts, form).fill());
}

RowBits row_bits(const property::Results& results) {
  const auto count = static_cast<size_t>(results.output->contents.dims[0]);
  const auto size = static_cast<size_t>(results.output->contents.dims[1]);
  RowBits bits(count);
  for (size_t row = 0; row < count; ++row) {
    append_elements(*results.output, row * size, size, bits[row]);
    if (!results.log_sum_exp) continue;
    const auto heads = static_cast<size_t>(results.log_sum_exp->contents.dims[0]);
    for (size_t head = 0; head < heads; ++head) append_elements(*results.log_sum_exp, head * count + row, 1, bits[row]);
  }
  return bits;
}

testing::AssertionResult same_rows(const RowBits& a, const RowBits& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " rows, and " << b.size();
  for (size_t row = 0; row < a.size(); ++row) {
    if (a[row] == b[row]) continue;
    const auto differing = std::mismatch(a[row].begin(), a[row].end(), b[row].begin(), b[row].end()).first;
    return testing::AssertionFailure() << "row " << row << " of " << a.size() << " differs from byte "
                                       << differing - a[row].begin() << " of " << a[row].size() << " on";
  }
  return testing::AssertionSuccess();
}

RowBits last_rows(const RowBits& rows, size_t count) {
  if (count > rows.size()) throw std::logic_error("there are fewer rows");
  return {rows.end() - static_cast<std::ptrdiff_t>(count), rows.end()};
}

RowBits append_in_pieces(const CachedLayer& layer, heed_cache* cache, int64_t sequence,
                         const std::vector<int64_t>& rows, const std::vector<int64_t>& sizes, const Form& form) {
  RowBits all;
  for (const std::vector<int64_t>& piece : cut(rows, sizes)) {
    const RowBits bits = row_bits(forward_one(layer, cache, {sequence, piece}, form));
    all.insert(all.end(), bits.begin(), bits.end());
  }
  return all;
}

property::Results replay(const CachedLayer& layer, const heed_cache_options& like, const std::vector<int64_t>& rows,
                         const std::vector<int64_t>& positions, const Form& form) {
  heed_cache_options options = layer.contiguous(std::max<int64_t>(1, static_cast<int64_t>(rows.size())));
  options.dtype = like.dtype;
  options.unrotated_keys = like.unrotated_keys;
  const Cache cache = make_cache(layer, options);
  return forward_one(layer, cache.get(), {0, rows, positions}, form);
}

}  // namespace heed::cache_test
