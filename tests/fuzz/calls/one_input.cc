// SPDX-License-Identifier: Apache-2.0
// Linear layers, dropout and positional encodings: each call creates a layer, runs it and checks the output.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/layers.h"
#include "fuzz/calls/machine.h"
#include "property/support/packing.h"
#include "reference/error_bound.h"
#include "reference/multi_head_attention.h"
#include "reference/philox.h"
#include "reference/positional_encoding.h"

namespace heed::fuzz {
namespace {

using property::Input;
using property::Layout;

// The rows of the input times the weight, plus the bias, within the reference's bounds.
void require_linear(const heed_layer* layer, const Input& input, heed_dtype dtype, const Array& output) {
  const auto parameters = parameters_of(layer);
  const Input& weight = parameters.at("weight");
  reference::Projection projection;
  projection.output_size = weight.contents.dims[0];
  projection.input_size = weight.contents.dims[1];
  projection.weight = weight.contents.values;
  if (parameters.count("bias") != 0) projection.bias = parameters.at("bias").contents.values;
  const Dims& dims = input.contents.dims;
  reference::Bounded exact;
  exact.values = input.contents.values;
  exact.errors.assign(exact.values.size(), 0.0);
  const reference::Bounded expected = reference::project(
      projection, exact, std::accumulate(dims.begin(), dims.end() - 1, int64_t{1}, std::multiplies<>()));
  require(output.values.size() == expected.values.size(), "an output has a number for each row and feature");
  for (size_t i = 0; i < expected.values.size(); ++i) {
    require(reference::accepts(property::format_of(dtype), expected.values[i], expected.errors[i], output.values[i]),
            "a linear layer is within its bounds");
  }
}

// Unchanged elements if nothing is dropped; otherwise each is zero or scaled.
void require_dropout(float dropout, const Input& input, heed_dtype dtype, const Array& output) {
  const auto scale = static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout)));
  require(output.values.size() == input.contents.values.size(), "dropout keeps the shape");
  for (size_t i = 0; i < output.values.size(); ++i) {
    const double actual = output.values[i];
    if (dropout > 0 && actual == 0) continue;
    const double kept = dropout == 0 ? input.contents.values[i]
                                     : static_cast<double>(static_cast<float>(input.contents.values[i]) * scale);
    const double expected = reference::round_to(property::format_of(dtype), kept);
    require(actual == expected || (std::isnan(actual) && std::isnan(expected)), "what is kept is scaled");
  }
}

// Element d of the row of a position.
reference::BoundedNumber row_element(const heed_positional_encoding_options& options, const Input* table,
                                     int64_t position, int64_t d) {
  switch (options.kind) {
    case HEED_POSITIONS_SINUSOIDAL: return reference::sinusoid(reference::Sinusoids::InTurn, options.size, position, d);
    case HEED_POSITIONS_SINUSOIDAL_HALVES:
      return reference::sinusoid(reference::Sinusoids::Halves, options.size, position, d);
    case HEED_POSITIONS_SINUSOIDAL_HALVES_2I:
      return reference::sinusoid(reference::Sinusoids::HalvesOfPairs, options.size, position, d);
    default: break;
  }
  return {table->contents.values[static_cast<size_t>((options.first_row + position) * options.size + d)], 0.0};
}

// Each row plus that of its position, within the reference's bounds; with dropout what Philox keeps. `positions`: of
// the rows, in order.
void require_encoded(const heed_positional_encoding_options& options, const heed_layer* layer, const Input& input,
                     const heed_layer_inputs& inputs, const std::vector<double>& positions, heed_dtype dtype,
                     const Array& output) {
  const auto parameters = parameters_of(layer);
  const Input* table = parameters.empty() ? nullptr : &parameters.at("weight");
  const double dropout = inputs.training == 1 ? static_cast<double>(options.dropout) : 0.0;
  for (size_t i = 0; i < output.values.size(); ++i) {
    const size_t row = i / static_cast<size_t>(options.size);
    const size_t d = i % static_cast<size_t>(options.size);
    const auto words = reference::philox_4x32_10({static_cast<uint32_t>(i / 4), 0, 0, 0},
                                                 {static_cast<uint32_t>(inputs.dropout_seed), 0});
    reference::BoundedNumber expected;
    if (dropout == 0.0 || words[i % 4] >= std::floor(dropout * 0x1p32)) {
      expected =
          reference::encoded(row_element(options, table, static_cast<int64_t>(positions[row]), static_cast<int64_t>(d)),
                             input.contents.values[i], dropout);
    }
    require(reference::accepts(property::format_of(dtype), expected.value, expected.error, output.values[i]),
            "a positional encoding is within its bounds");
  }
}

// Runs the layer with and without a workspace. Nothing if it needs no workspace, since it refuses the shapes, or if the
// context is strict. `is_right`: whether the numbers in positions and offsets are, which only calls with data read.
std::optional<Array> output_of(heed_context* context, const heed_layer* layer, const heed_layer_inputs* inputs,
                               const HostTensor& input, const HostTensor& output, bool is_right, Bytes& bytes) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.handle();
  size_t num_bytes = 0;
  if (!succeeded(heed_layer_workspace_size(layer, inputs, &outputs, &num_bytes))) return std::nullopt;
  const auto explained =
      text_of([&](char* text, size_t capacity,
                  size_t* needed) { return heed_layer_explain(layer, inputs, &outputs, text, capacity, needed); },
              bytes);
  require(explained.has_value() == is_right, "what has a workspace and right numbers can be explained");
  const std::vector<uint8_t> untouched = output.read_bytes();
  const heed_status status = heed_layer_forward(layer, inputs, nullptr, &outputs);
  if (!succeeded(status)) {
    require(output.read_bytes() == untouched, "a call that is refused writes nothing");
    if (!is_right) return std::nullopt;
    // The last list is that of the whole layer.
    const std::string_view text = explained->data();
    const bool is_fastest = text.substr(text.rfind("\"not_fastest\"")).starts_with("\"not_fastest\": []");
    require(status == HEED_ERROR_NOT_FASTEST && !is_fastest, "it can be run, or explain has the reason");
    return std::nullopt;
  }
  require(is_right, "wrong numbers are refused");
  Array result = output.read();

  // Memory of exactly this size, so that a sanitizer finds accesses outside.
  const std::vector<uint8_t> before = output.read_bytes();
  const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
  const Workspace exact(made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
    return heed_workspace_wrap(context, scratch.get(), num_bytes, out);
  }));
  require(succeeded(heed_layer_forward(layer, inputs, exact.get(), &outputs)),
          "a workspace of the size that was asked for is large enough");
  require(output.read_bytes() == before, "a workspace changes no bit");
  require(input.input_is_untouched() && output.padding_is_untouched(), "nothing but the output is written");
  return result;
}

constexpr float kDropouts[] = {0.0F, 0.5F, 0.1F, 0.999F, 1e-10F, 1.0F, -0.1F, NAN};

}  // namespace

void Machine::call_layer_of_one_input() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const bool is_linear = bytes_.flag();
  heed_linear_options linear = HEED_LINEAR_OPTIONS_INIT;
  linear.output_size = bytes_.rarely() ? bytes_.size() : 1 + bytes_.below(5);
  linear.no_bias = bytes_.enumerator(1);
  heed_dropout_options dropout = HEED_DROPOUT_OPTIONS_INIT;
  dropout.dropout = kDropouts[bytes_.below(bytes_.rarely() ? 8 : 5)];
  const Passed passed_linear(linear, bytes_);
  const Passed passed_dropout(dropout, bytes_);
  const Layer layer(made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return is_linear ? heed_linear_create(context, passed_linear.get(), out)
                     : heed_dropout_create(context, passed_dropout.get(), out);
  }));
  // Sizes that no memory could hold are tested in ask_about_shapes.
  if (layer == nullptr || (is_linear && linear.output_size > kMaxElements)) return;
  require(is_linear ? linear.output_size >= 1 : dropout.dropout < 1, "wrong options are refused");

  const Dims shape = dims();
  if (!are_small(shape)) return;
  const Input input = random_input(shape, float_dtype());
  const HostTensor tensor(context, input);
  const HostTensor other(context, random_input(Dims{2}, HEED_F32));
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = tensor.handle();
  inputs.training = bytes_.enumerator(1);
  inputs.dropout_seed = bytes_.next();
  bool has_another = bytes_.rarely();
  const heed_tensor** const members[] = {&inputs.keys, &inputs.values,       &inputs.valid_lens, &inputs.mask,
                                         &inputs.bias, &inputs.alibi_slopes, &inputs.sinks};
  if (has_another) *members[bytes_.below(std::size(members))] = other.handle();
  const Passed passed(inputs, bytes_);
  if ((inputs.alibi_slopes != nullptr || inputs.sinks != nullptr) && !passed.is_whole()) has_another = false;
  if (!succeeded(heed_layer_initialize(layer.get(), passed.get(), bytes_.next()))) return;
  require(!has_another && !shape.empty(), "wrong inputs are refused");

  Dims output_dims = shape;
  if (is_linear) output_dims.back() = linear.output_size;
  if (!are_small(output_dims)) return;
  const heed_dtype output_dtype = bytes_.flag() ? input.dtype : HEED_F32;
  property::Random random(bytes_.next());
  const HostTensor output(context, output_dtype, output_dims,
                          property::make_strides(static_cast<Layout>(bytes_.below(3)), output_dims, random));
  const std::optional<Array> result = output_of(context, layer.get(), passed.get(), tensor, output, true, bytes_);
  if (!result) return;
  if (is_linear) {
    require_linear(layer.get(), input, output_dtype, *result);
  } else {
    require_dropout(inputs.training == 1 ? dropout.dropout : 0.0F, input, output_dtype, *result);
  }
}

void Machine::encode_positions() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  options.kind = bytes_.enumerator(HEED_POSITIONS_SINUSOIDAL_HALVES_2I);
  options.max_positions = bytes_.rarely() ? bytes_.size() : 1 + bytes_.below(12);
  const bool has_halves =
      options.kind == HEED_POSITIONS_SINUSOIDAL_HALVES || options.kind == HEED_POSITIONS_SINUSOIDAL_HALVES_2I;
  options.size = bytes_.rarely() ? bytes_.size() : has_halves ? 4 + 2 * bytes_.below(4) : 1 + bytes_.below(9);
  if (options.kind == HEED_POSITIONS_LEARNED || bytes_.rarely())
    options.first_row = bytes_.rarely() ? bytes_.size() : bytes_.below(3);
  options.dropout = kDropouts[bytes_.below(bytes_.rarely() ? 8 : 5)];
  const Passed passed_options(options, bytes_);
  const Layer layer(made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return heed_positional_encoding_create(context, passed_options.get(), out);
  }));
  if (layer == nullptr) return;
  require(options.max_positions >= 1 && options.size >= 1 && options.first_row >= 0 && options.dropout < 1,
          "wrong options are refused");
  // Tables that no memory could hold are only described.
  if (options.size > kMaxElements || options.first_row > kMaxElements || options.max_positions > kMaxElements) return;

  // The batch, and the position of each row.
  const bool is_packed = bytes_.flag();
  const int64_t batch = bytes_.below(4);
  std::vector<int64_t> counts;
  for (int64_t b = 0; b < batch; ++b) counts.push_back(is_packed || b == 0 ? bytes_.below(6) : counts.front());
  const int64_t longest = property::largest_of(counts);
  const int64_t num_rows = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const Dims rows = is_packed ? Dims{num_rows} : Dims{batch, longest};
  const bool has_positions = bytes_.flag();
  std::vector<double> positions;
  for (const int64_t count : counts) {
    for (int64_t row = 0; row < count; ++row) {
      int64_t position = row;
      if (has_positions) position = bytes_.below(12) % options.max_positions;
      if (has_positions && bytes_.rarely()) position = bytes_.flag() ? options.max_positions : -1;
      positions.push_back(static_cast<double>(position));
    }
  }
  const heed_dtype index_dtype = bytes_.flag() ? HEED_I32 : HEED_I64;
  Input offsets = property::make_offsets(counts, index_dtype);
  const bool has_wrong_offsets = bytes_.rarely();
  if (has_wrong_offsets) {
    std::vector<double>& starts = offsets.contents.values;
    (bytes_.flag() ? starts.front() : starts.back()) += bytes_.flag() ? 1 : -1;
  }
  const bool has_right_positions = std::all_of(positions.begin(), positions.end(), [&](double position) {
    return position >= 0 && position < static_cast<double>(options.max_positions);
  });
  const bool is_right = has_right_positions && !(is_packed && has_wrong_offsets);

  Dims dims = rows;
  dims.push_back(bytes_.rarely() ? bytes_.below(6) : options.size);
  const Input input = random_input(dims, float_dtype());
  const HostTensor tensor(context, input);
  const HostTensor position_tensor(context, property::make_input({rows, positions}, index_dtype));
  const HostTensor offset_tensor(context, offsets);
  const HostTensor other(context, random_input(Dims{2}, HEED_F32));
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  if (has_positions) sequences.positions = position_tensor.handle();
  if (is_packed) sequences.query_offsets = offset_tensor.handle();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = tensor.handle();
  inputs.training = bytes_.enumerator(1);
  inputs.dropout_seed = bytes_.next();
  const heed_tensor** const members[] = {&inputs.keys,          &inputs.values,         &inputs.valid_lens,
                                         &inputs.mask,          &inputs.bias,           &inputs.sinks,
                                         &sequences.query_lens, &sequences.key_offsets, &inputs.alibi_slopes};
  const bool has_another = bytes_.rarely();
  if (has_another) *members[bytes_.below(std::size(members))] = other.handle();
  const Passed passed_sequences(sequences, bytes_);
  inputs.sequences = passed_sequences.get();
  if (!succeeded(heed_layer_initialize(layer.get(), &inputs, bytes_.next()))) return;
  require(!has_another && dims.back() == options.size, "wrong inputs are refused");

  const heed_dtype output_dtype = bytes_.flag() ? input.dtype : HEED_F32;
  property::Random random(bytes_.next());
  const HostTensor output(context, output_dtype, dims,
                          property::make_strides(static_cast<Layout>(bytes_.below(3)), dims, random));
  const std::optional<Array> result = output_of(context, layer.get(), &inputs, tensor, output, is_right, bytes_);
  if (!result) return;
  require_encoded(options, layer.get(), input, inputs, positions, output_dtype, *result);
}

}  // namespace heed::fuzz
