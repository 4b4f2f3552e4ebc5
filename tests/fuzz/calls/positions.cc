// SPDX-License-Identifier: Apache-2.0
// Multi-head layers with rotary positions, norms, sinks, constant keys and biases of distances, called with packed
// batches. A packed batch must have the bits of each of its elements alone, and those of a padded batch with lengths of
// queries and keys. Wrong positions and offsets must be refused.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>
#include <string>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/machine.h"
#include "property/support/packing.h"

namespace heed::fuzz {
namespace {

using property::Input;

struct RopeChoice {
  heed_rope_options options = HEED_ROPE_OPTIONS_INIT;
  std::array<float, 4> factors = {1.0F, 1.5F, 4.0F, 32.0F};
};

void choose_rope(RopeChoice& choice, int64_t head_size, Bytes& bytes) {
  heed_rope_options& rope = choice.options;
  rope.layout = bytes.rarely() ? bytes.enumerator(3) : 1 + static_cast<int32_t>(bytes.below(2));
  rope.scaling = bytes.enumerator(HEED_ROPE_SCALING_FACTORS);
  if (bytes.flag()) rope.rotary_offset = bytes.below(2);
  const int64_t most = (head_size - rope.rotary_offset) / 2 * 2;
  rope.rotary_size = bytes.rarely() ? bytes.size() : most == 0 ? 0 : 2 + 2 * bytes.below(most / 2);
  if (bytes.flag()) rope.base = 500.0F;
  if (bytes.flag()) rope.attention_factor = 1.25F;
  if (rope.scaling != HEED_ROPE_SCALING_NONE)
    rope.factor = bytes.rarely() ? NAN : 1.0F + static_cast<float>(bytes.below(8));
  if (rope.scaling >= HEED_ROPE_SCALING_YARN)
    rope.original_length = bytes.rarely() ? bytes.size() : 2 + bytes.below(100);
  if (rope.scaling == HEED_ROPE_SCALING_YARN) rope.no_rounding = bytes.enumerator(1);
  if (rope.scaling == HEED_ROPE_SCALING_FACTORS) {
    rope.factors = choice.factors.data();
    rope.num_factors = bytes.rarely() ? bytes.size(4) : rope.rotary_size / 2;
    // A list has at most the numbers that are there.
    if (rope.num_factors > 4) rope.factors = nullptr;
  }
}

void choose_options(heed_multi_head_attention_options& options, RopeChoice& rope, Bytes& bytes) {
  options.num_kv_heads = 1 + bytes.below(2);
  options.num_heads = options.num_kv_heads * (1 + bytes.below(2));
  options.head_size = 2 + bytes.below(7);
  options.num_hiddens = 1 + bytes.below(4);
  if (bytes.flag()) options.biases = bytes.enumerator(HEED_BIAS_ALL);
  if (bytes.below(4) == 3) options.scoring = HEED_SCORING_ADDITIVE;
  options.causal = bytes.enumerator(HEED_CAUSAL_BOTTOM_RIGHT);
  options.window = bytes.enumerator(HEED_WINDOW_BOTTOM_RIGHT);
  if (options.window != HEED_WINDOW_NONE) {
    options.window_left = bytes.size();
    options.window_right = bytes.size();
  }
  options.empty_rows = bytes.enumerator(HEED_EMPTY_ROWS_MEAN);
  if (bytes.flag()) {
    choose_rope(rope, options.head_size, bytes);
    options.rope = &rope.options;
  }
  if (bytes.flag()) {
    options.qk_norm_epsilon = bytes.rarely() ? -1.0F : 1e-5F;
    options.qk_norm = bytes.enumerator(HEED_QK_NORM_LAYER);
  }
  // One byte for three flags, so that the bytes behind it keep their meaning. Strange numbers are for the first one.
  const uint8_t flags = bytes.next();
  options.sinks = Bytes({&flags, 1}).enumerator(1);
  options.add_bias_kv = flags / 2 % 4 == 3 ? 1 : 0;
  options.add_zero_attn = flags / 8 % 4 == 3 ? 1 : 0;
  options.alibi = bytes.enumerator(HEED_ALIBI_SCALED);
  options.relative_bias = bytes.enumerator(HEED_RELATIVE_BIAS_ONE_WAY);
  if (options.relative_bias != HEED_RELATIVE_BIAS_NONE && bytes.flag()) {
    options.relative_bias_buckets = bytes.rarely() ? bytes.size() : 4 + 2 * bytes.below(8);
    options.relative_bias_max_distance = bytes.rarely() ? bytes.size() : 12 + bytes.below(20);
  }
}

// The numbers of rows between these offsets.
std::vector<int64_t> counts_between(const std::vector<int64_t>& offsets) {
  std::vector<int64_t> counts;
  for (size_t b = 1; b < offsets.size(); ++b) counts.push_back(offsets[b] - offsets[b - 1]);
  return counts;
}

// Rows first to first + count - 1 of (rows, size), as an array with these dims.
Input rows_of(const Input& input, int64_t first, int64_t count, Dims dims) {
  property::Array rows = property::slice(input.contents, 0, first, count);
  rows.dims = std::move(dims);
  return property::make_input(std::move(rows), input.dtype);
}

// Numbers that are the same, a NaN like a NaN.
bool are_the_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The results of one call: output and log_sum_exp.
struct CallResults {
  property::Array output;
  property::Array log_sum_exp;
};

}  // namespace

void Machine::call_packed_layer() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  RopeChoice rope;
  choose_options(options, rope, bytes_);
  const Passed passed(options, bytes_);
  heed_layer* made = made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return heed_multi_head_attention_create(context, passed.get(), out);
  });
  if (made == nullptr) return;
  if (!passed.is_whole()) return heed_layer_destroy(made);
  LayerEntry entry;
  entry.handle.reset(made);
  entry.kind = property::Kind::MultiHead;
  entry.options = options;
  entry.options.rope = nullptr;
  entry.has_positions = true;

  // The batch.
  const int64_t batch = bytes_.below(4);
  const bool is_self = bytes_.flag();
  std::vector<int64_t> queries = {0};
  std::vector<int64_t> keys = {0};
  for (int64_t b = 0; b < batch; ++b) {
    queries.push_back(queries.back() + bytes_.below(7));
    const int64_t byte = bytes_.next();
    keys.push_back(keys.back() + (byte < 0xE0 ? byte % 7 : 40 + byte % 40));
  }
  if (is_self) keys = queries;
  const heed_dtype dtype = float_dtype();
  const int64_t query_size = 1 + bytes_.below(5);
  const int64_t key_size = is_self ? query_size : 1 + bytes_.below(5);
  const Input query_rows = random_input({queries.back(), query_size}, dtype);
  const Input key_rows = random_input({keys.back(), key_size}, dtype);
  const bool has_positions = bytes_.flag();
  std::vector<double> positions(static_cast<size_t>(queries.back()));
  for (double& position : positions)
    position = static_cast<double>(bytes_.rarely() ? int64_t{bytes_.next()} * 1000003 : bytes_.below(12));
  const heed_dtype index_dtype = bytes_.flag() ? HEED_I32 : HEED_I64;

  // One call of these rows. Nothing if heed refuses it.
  const auto forward = [&](const Input& query_input, const Input* key_input, const heed_sequence_inputs& sequences,
                           const Dims& output_dims, const Dims& log_sum_exp_dims,
                           const heed_tensor* valid_lens = nullptr) -> std::optional<CallResults> {
    const HostTensor query_tensor(context, query_input);
    std::optional<HostTensor> key_tensor;
    if (key_input != nullptr) key_tensor.emplace(context, *key_input);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = query_tensor.handle();
    inputs.keys = key_tensor ? key_tensor->handle() : nullptr;
    inputs.sequences = &sequences;
    inputs.valid_lens = valid_lens;
    const HostTensor output(context, HEED_F32, output_dims, property::row_major_strides(output_dims));
    const HostTensor log_sum_exp(context, HEED_F32, log_sum_exp_dims, property::row_major_strides(log_sum_exp_dims));
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.handle();
    outputs.log_sum_exp = log_sum_exp.handle();
    const std::vector<uint8_t> before = output.read_bytes();
    size_t num_bytes = 0;
    const bool has_size = succeeded(heed_layer_workspace_size(made, &inputs, &outputs, &num_bytes));
    if (!succeeded(heed_layer_forward(made, &inputs, nullptr, &outputs))) {
      require(output.read_bytes() == before, "a call that is refused writes nothing");
      return std::nullopt;
    }
    require(has_size, "what can be run has a workspace");
    const CallResults results{output.read(), log_sum_exp.read()};
    const std::vector<uint8_t> after = output.read_bytes();
    // Memory of exactly this size, so that a sanitizer finds accesses outside.
    const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
    const Workspace exact(made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
      return heed_workspace_wrap(context, num_bytes == 0 ? nullptr : scratch.get(), num_bytes, out);
    }));
    require(succeeded(heed_layer_forward(made, &inputs, exact.get(), &outputs)),
            "a workspace of the size that was asked for is large enough");
    require(output.read_bytes() == after, "a workspace changes no bit");
    require(query_tensor.input_is_untouched(), "no call changes its inputs");
    return results;
  };
  const auto numbers = [&](std::vector<double> values, Dims dims) {
    return std::make_unique<HostTensor>(context,
                                        property::make_input({std::move(dims), std::move(values)}, index_dtype));
  };
  const auto offsets_of = [&](std::vector<int64_t> offsets) {
    // Rarely they do not begin at 0, or do not end at the number of rows.
    if (bytes_.rarely()) (bytes_.flag() ? offsets.front() : offsets.back()) += 1 - 2 * bytes_.below(2);
    return std::vector<double>(offsets.begin(), offsets.end());
  };

  // Shapes are enough for the parameters.
  heed_layer_inputs shapes = HEED_LAYER_INPUTS_INIT;
  const auto shape = [&](int64_t size) {
    const int64_t sizes[] = {1, 2, size};
    return Tensor(made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
      return heed_tensor_wrap(context, dtype, 3, sizes, nullptr, nullptr, nullptr, nullptr, out);
    }));
  };
  const Tensor query_shape = shape(query_size);
  const Tensor key_shape = shape(key_size);
  shapes.queries = query_shape.get();
  shapes.keys = key_shape.get();
  require(succeeded(heed_layer_initialize(made, &shapes, bytes_.next())), "a layer can be initialized");
  for (const char* name : {"sinks", "q_norm.weight", "relative_bias.weight", "bias_k", "bias_v"}) {
    heed_tensor* const taken = made_by(&capi_test::OutParameters::tensor,
                                       [&](heed_tensor** out) { return heed_layer_parameter(made, name, out); });
    if (taken == nullptr) continue;
    const Tensor snapshot(taken);
    Dims dims;
    for (int32_t axis = 0; axis < heed_tensor_rank(taken); ++axis) dims.push_back(heed_tensor_dim(taken, axis));
    const HostTensor value(context, random_input(dims, HEED_F32));
    require(succeeded(heed_layer_set_parameter(made, name, value.handle())), "a parameter of its shape can be set");
  }

  // All elements, packed.
  const std::vector<double> query_offsets = offsets_of(queries);
  const std::vector<double> key_offsets = is_self ? query_offsets : offsets_of(keys);
  const bool is_right = std::equal(queries.begin(), queries.end(), query_offsets.begin()) &&
                        std::equal(keys.begin(), keys.end(), key_offsets.begin());
  const auto query_offset_tensor = numbers(query_offsets, {batch + 1});
  const auto key_offset_tensor = numbers(key_offsets, {batch + 1});
  const auto position_tensor = numbers(positions, {queries.back()});
  heed_sequence_inputs packed = HEED_SEQUENCE_INPUTS_INIT;
  packed.query_offsets = query_offset_tensor->handle();
  if (!is_self) packed.key_offsets = key_offset_tensor->handle();
  if (has_positions) packed.positions = position_tensor->handle();
  if (bytes_.rarely()) packed.key_offsets = nullptr;
  if (bytes_.rarely()) packed.query_lens = query_offset_tensor->handle();
  const bool is_complete = packed.query_lens == nullptr && (is_self || packed.key_offsets != nullptr);
  const int64_t heads = options.num_heads;
  const int64_t width = options.num_hiddens;
  const std::optional<CallResults> all =
      forward(query_rows, is_self ? nullptr : &key_rows, packed, {queries.back(), width}, {heads, queries.back()});
  if (!all) return layers_.add(std::move(entry), bytes_);
  require(is_right && is_complete, "wrong offsets are refused");

  const auto require_same = [&](const CallResults& results, int64_t b, int64_t element, int64_t num_rows,
                                const char* what) {
    const int64_t first = queries[static_cast<size_t>(b)];
    const int64_t count = queries[static_cast<size_t>(b) + 1] - first;
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t d = 0; d < width; ++d) {
        const auto at = static_cast<size_t>((first + row) * width + d);
        const auto other = static_cast<size_t>((element * num_rows + row) * width + d);
        require(are_the_same(all->output.values[at], results.output.values[other]), what);
      }
      for (int64_t head = 0; head < heads; ++head) {
        const auto at = static_cast<size_t>(head * queries.back() + first + row);
        const auto other = static_cast<size_t>((element * heads + head) * num_rows + row);
        require(are_the_same(all->log_sum_exp.values[at], results.log_sum_exp.values[other]), what);
      }
    }
  };
  // Each element alone, in a batch of one.
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t first = queries[static_cast<size_t>(b)];
    const int64_t count = queries[static_cast<size_t>(b) + 1] - first;
    const int64_t first_key = keys[static_cast<size_t>(b)];
    const int64_t num_keys = keys[static_cast<size_t>(b) + 1] - first_key;
    const Input query_input = rows_of(query_rows, first, count, {1, count, query_size});
    const Input key_input = rows_of(key_rows, first_key, num_keys, {1, num_keys, key_size});
    const auto begin = positions.begin() + static_cast<std::ptrdiff_t>(first);
    const auto own_positions = numbers({begin, begin + static_cast<std::ptrdiff_t>(count)}, {1, count});
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    if (has_positions) sequences.positions = own_positions->handle();
    const std::optional<CallResults> alone =
        forward(query_input, is_self ? nullptr : &key_input, sequences, {1, count, width}, {1, heads, count});
    require(alone.has_value(), "an element of a packed batch can be computed alone");
    require_same(*alone, b, 0, count, "a packed batch has the bits of each element alone");
  }
  // All elements, padded. In self-attention with and without valid_lens; in other calls with them, with positions,
  // since K is another number, and if no row is the mean of all values.
  if (batch > 0 && (is_self || (has_positions && options.empty_rows == HEED_EMPTY_ROWS_ZERO))) {
    const std::vector<int64_t> query_counts = counts_between(queries);
    const std::vector<int64_t> key_counts = counts_between(keys);
    const int64_t longest = property::largest_of(query_counts);
    const auto padded_rows = [](const Array& rows, const std::vector<int64_t>& counts, double fill) {
      return property::pad(rows, 0, property::make_offsets(counts), property::largest_of(counts), fill);
    };
    const Input padded_queries = property::make_input(padded_rows(query_rows.contents, query_counts, NAN), dtype);
    const Input padded_keys = property::make_input(padded_rows(key_rows.contents, key_counts, NAN), dtype);
    const auto lens_of = [&](const std::vector<int64_t>& counts) {
      return numbers({counts.begin(), counts.end()}, {batch});
    };
    const auto query_lens = lens_of(query_counts);
    const auto key_lens = lens_of(key_counts);
    const Array padded_positions = padded_rows({{queries.back()}, positions}, query_counts, 0.0);
    const auto all_positions = numbers(padded_positions.values, {batch, longest});
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    sequences.query_lens = query_lens->handle();
    if (has_positions) sequences.positions = all_positions->handle();
    for (const bool has_valid_lens : {false, true}) {
      if (!is_self && !has_valid_lens) continue;
      const std::optional<CallResults> results =
          forward(padded_queries, is_self ? nullptr : &padded_keys, sequences, {batch, longest, width},
                  {batch, heads, longest}, has_valid_lens ? key_lens->handle() : nullptr);
      require(results.has_value(), "a packed batch can be padded");
      for (int64_t b = 0; b < batch; ++b) {
        require_same(*results, b, b, longest, "a padded batch has the bits of a packed one");
        for (int64_t row = query_counts[static_cast<size_t>(b)]; row < longest; ++row) {
          for (int64_t d = 0; d < width; ++d)
            require(results->output.values[static_cast<size_t>((b * longest + row) * width + d)] == 0, "padding is 0");
        }
      }
    }
  }
  layers_.add(std::move(entry), bytes_);
}

}  // namespace heed::fuzz
