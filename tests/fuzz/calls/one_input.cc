// SPDX-License-Identifier: Apache-2.0
// Linear layers and dropout: each call creates a layer, runs it and checks the output.
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/layers.h"
#include "fuzz/calls/machine.h"
#include "reference/error_bound.h"
#include "reference/multi_head_attention.h"

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

}  // namespace

void Machine::call_layer_of_one_input() {
  constexpr float kDropouts[] = {0.0F, 0.5F, 0.1F, 0.999F, 1e-10F, 1.0F, -0.1F, NAN};
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
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.handle();
  size_t num_bytes = 0;
  if (!succeeded(heed_layer_workspace_size(layer.get(), passed.get(), &outputs, &num_bytes))) return;
  const auto explained = text_of(
      [&](char* text, size_t capacity, size_t* needed) {
        return heed_layer_explain(layer.get(), passed.get(), &outputs, text, capacity, needed);
      },
      bytes_);
  require(explained.has_value(), "what has a workspace can be explained");
  const heed_status status = heed_layer_forward(layer.get(), passed.get(), nullptr, &outputs);
  if (!succeeded(status)) {
    const bool is_fastest = std::string_view(explained->data()).find("\"not_fastest\": []") != std::string_view::npos;
    return require(status == HEED_ERROR_NOT_FASTEST && !is_fastest, "it can be run, or explain has the reason");
  }
  const Array result = output.read();
  if (is_linear) {
    require_linear(layer.get(), input, output_dtype, result);
  } else {
    require_dropout(inputs.training == 1 ? dropout.dropout : 0.0F, input, output_dtype, result);
  }

  // Memory of exactly this size, so that a sanitizer finds accesses outside.
  const std::vector<uint8_t> before = output.read_bytes();
  const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
  const Workspace exact(made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
    return heed_workspace_wrap(context, scratch.get(), num_bytes, out);
  }));
  require(succeeded(heed_layer_forward(layer.get(), passed.get(), exact.get(), &outputs)),
          "a workspace of the size that was asked for is large enough");
  require(output.read_bytes() == before, "a workspace changes no bit");
  require(tensor.input_is_untouched() && output.padding_is_untouched(), "nothing but the output is written");
}

}  // namespace heed::fuzz
