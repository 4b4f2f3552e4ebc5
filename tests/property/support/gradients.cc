// SPDX-License-Identifier: Apache-2.0
#include "support/gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/attention_gradients.h"
#include "reference/linear_gradients.h"
#include "reference/multi_head_gradients.h"
#include "reference/named_gradients.h"
#include "reference/transformer_gradients.h"
#include "support/arguments.h"
#include "support/block_reference.h"
#include "support/numbers.h"
#include "support/packing.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using Gradients = std::unique_ptr<heed_gradients, Destroyer<heed_gradients_destroy>>;

// The inputs that have gradients.
struct Member {
  const char* name;
  heed_tensor* heed_layer_gradients::*gradient;
};
constexpr Member kMembers[] = {{"queries", &heed_layer_gradients::queries},
                               {"keys", &heed_layer_gradients::keys},
                               {"values", &heed_layer_gradients::values},
                               {"bias", &heed_layer_gradients::bias},
                               {"alibi_slopes", &heed_layer_gradients::alibi_slopes},
                               {"sinks", &heed_layer_gradients::sinks},
                               {"self_bias", &heed_layer_gradients::self_bias},
                               {"memory", &heed_layer_gradients::memory}};

Tensor tensor_of(heed_gradients* gradients, const char* name) {
  heed_tensor* view = nullptr;
  check(heed_gradients_tensor(gradients, name, &view));
  return Tensor(view);
}

std::vector<float> floats_of(const Array& array) { return {array.values.begin(), array.values.end()}; }

Result read(const heed_tensor* tensor) {
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims.push_back(heed_tensor_dim(tensor, axis));
  std::vector<float> elements(static_cast<size_t>(num_elements(dims)));
  check(heed_tensor_read(tensor, elements.data(), elements.size() * sizeof(float)));
  const auto* const bytes = reinterpret_cast<const uint8_t*>(elements.data());
  return {HEED_F32,
          {std::move(dims), {elements.begin(), elements.end()}},
          {bytes, bytes + elements.size() * sizeof(float)}};
}

// A set of gradients with the request's sums.
Gradients make_gradients(const heed_layer* layer, const GradientRequest& request) {
  heed_gradients* made = nullptr;
  check(heed_gradients_create(layer, &made));
  Gradients gradients(made);
  for (int64_t i = 0; i < heed_gradients_count(made); ++i) {
    const char* const name = heed_gradients_name(made, i);
    const auto sum = request.sums.find(name);
    if (sum == request.sums.end()) continue;
    const std::vector<float> elements = floats_of(sum->second);
    check(heed_tensor_write(tensor_of(made, name).get(), elements.data(), elements.size() * sizeof(float)));
  }
  return gradients;
}

}  // namespace

Saved make_saved(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs) {
  size_t num_bytes = 0;
  check(heed_layer_saved_size(layer, &inputs, &num_bytes));
  heed_saved* saved = nullptr;
  check(heed_saved_create(context, num_bytes, &saved));
  return Saved(saved);
}

NamedResults backward(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs,
                      const heed_layer_outputs& outputs, const std::map<std::string, Dims>& input_dims,
                      const GradientRequest& request) {
  Random random(11);
  const Dims& output_dims = request.of_output.dims;
  const HostTensor of_output(
      context, make_input(request.of_output, HEED_F32, make_strides(request.of_output_layout, output_dims, random)));
  heed_layer_gradients gradients = HEED_LAYER_GRADIENTS_INIT;
  gradients.output = of_output.handle();
  gradients.accumulate = request.sums.empty() ? 0 : 1;
  std::map<std::string, HostTensor> of_inputs;
  for (const auto& [name, member] : kMembers) {
    if (!request.inputs.contains(name)) continue;
    const Dims& dims = input_dims.at(name);
    const Dims strides = make_strides(request.layout, dims, random);
    const auto sum = request.sums.find(name);
    const auto made = sum != request.sums.end()
                          ? of_inputs.try_emplace(name, context, make_input(sum->second, HEED_F32, strides))
                          : of_inputs.try_emplace(name, context, HEED_F32, dims, strides);
    gradients.*member = made.first->second.handle();
  }
  const Gradients of_parameters = request.parameters ? make_gradients(layer, request) : nullptr;
  gradients.parameters = of_parameters.get();

  heed_layer_outputs read = HEED_LAYER_OUTPUTS_INIT;
  const Saved saved = request.saved ? make_saved(context, layer, inputs) : nullptr;
  if (saved != nullptr) {
    heed_layer_outputs filled = outputs;
    filled.saved = read.saved = saved.get();
    check(heed_layer_forward(layer, &inputs, nullptr, &filled));
  }
  GuardedWorkspace workspace;
  if (request.with_workspace) {
    size_t num_bytes = 0;
    check(heed_layer_backward_workspace_size(layer, &inputs, &read, &gradients, &num_bytes));
    workspace = GuardedWorkspace(context, num_bytes);
  }
  check(heed_layer_backward(layer, &inputs, &read, workspace.get(), &gradients));

  if (!of_output.input_is_untouched()) throw std::logic_error("backward changed the gradient by the output");
  NamedResults results;
  for (const auto& [name, tensor] : of_inputs) {
    if (!tensor.padding_is_untouched()) throw std::logic_error("backward wrote between the elements of " + name);
    results[name] = {HEED_F32, tensor.read(), tensor.read_bytes()};
  }
  for (int64_t i = 0; i < std::max<int64_t>(0, heed_gradients_count(of_parameters.get())); ++i) {
    const char* const name = heed_gradients_name(of_parameters.get(), i);
    results[name] = property::read(tensor_of(of_parameters.get(), name).get());
  }
  return results;
}

NamedResults backward(const Runner& runner, const Call& call, const GradientRequest& request) {
  return runner.on_device([&](heed_context* context, heed_layer* layer) {
    const Arguments arguments(context, layer, call);
    NamedResults results =
        backward(context, layer, *arguments.inputs(), *arguments.outputs(), differentiable_inputs(call), request);
    arguments.read();
    return results;
  });
}

Results forward_that_saves(const Runner& runner, const Call& call) {
  return runner.on_device([&](heed_context* context, heed_layer* layer) {
    const Arguments arguments(context, layer, call);
    const Saved saved = make_saved(context, layer, *arguments.inputs());
    heed_layer_outputs outputs = *arguments.outputs();
    outputs.saved = saved.get();
    check(heed_layer_forward(layer, arguments.inputs(), nullptr, &outputs));
    return arguments.read();
  });
}

std::map<std::string, Dims> differentiable_inputs(const Call& call) {
  std::map<std::string, Dims> dims = {{"queries", call.queries.contents.dims}};
  const auto add = [&](const char* name, const std::optional<Input>& input) {
    if (input) dims[name] = input->contents.dims;
  };
  add("keys", call.keys);
  add("values", call.values);
  add("bias", call.bias);
  add("alibi_slopes", call.alibi_slopes);
  add("sinks", call.sinks);
  add("self_bias", call.self_bias);
  return dims;
}

Array random_output_gradient(const Call& call, Random& random) {
  Array gradient = random_array(result_dims(call).output, random, 1.0);
  const Dims& dims = gradient.dims;
  const int64_t size = dims.back();
  const int64_t num_rows = dims[dims.size() - 2];
  for (int64_t row = 0; row * size < static_cast<int64_t>(gradient.values.size()); ++row) {
    const auto first = gradient.values.begin() + row * size;
    if (random.chance(0.1)) std::fill(first, first + size, 0.0);
    if (!call.query_lens) continue;
    const int64_t b = row / (static_cast<int64_t>(gradient.values.size()) / size / dims[0]);
    if (static_cast<double>(row % num_rows) >= call.query_lens->contents.values[static_cast<size_t>(b)])
      std::fill(first, first + size, kNaN);
  }
  return make_input(std::move(gradient)).contents;
}

namespace {

using reference::AfterStep;
using reference::Bounded;
using reference::NamedRows;

std::array<int64_t, 4> four_dims(const Dims& dims) {
  std::array<int64_t, 4> result = {1, 1, 1, 1};
  std::copy(dims.begin(), dims.end(), result.end() - static_cast<std::ptrdiff_t>(dims.size()));
  return result;
}

// Of a bias with these dims, from the gradients of all pairs.
Bounded of_bias(const Call& call, const Input& bias, const Bounded& pairs) {
  const reference::AttentionSizes sizes = sizes_of(call);
  const int64_t num_keys = sizes.num_queries == 0
                               ? 0
                               : static_cast<int64_t>(pairs.values.size()) /
                                     std::max<int64_t>(1, sizes.batch * sizes.num_heads * sizes.num_queries);
  return reference::sum_over_repeated(pairs, {sizes.batch, sizes.num_heads, sizes.num_queries, num_keys},
                                      four_dims(bias.contents.dims));
}

// Adds the gradient of `from` to that of `to`, if it is there.
void join(const std::string& from, const std::string& to, const AfterStep& after_step, NamedRows& gradients) {
  const auto found = gradients.find(from);
  if (found == gradients.end()) return;
  const reference::Rows rows = std::move(found->second);
  gradients.erase(found);
  const auto sum = gradients.find(to);
  if (sum == gradients.end()) {
    gradients[to] = rows;
  } else {
    sum->second.values = reference::added(sum->second.values, rows.values, after_step);
  }
}

void sum_bias(const Call& call, const char* name, const std::optional<Input>& bias, const AfterStep& after_step,
              NamedRows& gradients) {
  if (!bias) return;
  const Dims& dims = bias->contents.dims;
  const auto found = gradients.find(name);
  const Bounded pairs = found == gradients.end() ? Bounded() : reference::as_read(found->second.values, std::nullopt);
  gradients[name] = {after_step(of_bias(call, *bias, pairs)), dims.back()};
}

// Inputs that are not given have the role of another one.
void join_roles(const Call& call, const AfterStep& after_step, NamedRows& gradients) {
  if (!call.values) join("values", "keys", after_step, gradients);
  if (!call.keys) join("keys", "queries", after_step, gradients);
}

NamedRows block_gradients(const Call& call, const Call& padded, const Array& of_output, const AfterStep& after_step) {
  const std::vector<double> encoder_rows = padded.keys ? padded.keys->contents.values : std::vector<double>();
  NamedRows gradients = reference::transformer_gradients(stack_of(call), padded.queries.contents.values, encoder_rows,
                                                         of_output.values, after_step);
  const bool is_decoder = call.block->is_decoder;
  for (int64_t i = 0; i < std::max<int64_t>(1, call.block->num_layers); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    // In a layer each bias is summed over what it is repeated for; then layers are added, as heed does.
    const auto add = [&](const std::string& part, const char* to, const std::optional<Input>& bias) {
      if (!bias) return;
      sum_bias(padded, (layer + part + ".bias").c_str(), bias, after_step, gradients);
      join(layer + part + ".bias", to, after_step, gradients);
    };
    add("self_attention", is_decoder ? "self_bias" : "bias", is_decoder ? call.self_bias : call.bias);
    if (is_decoder && call.block->cross_attention) add("cross_attention", "bias", call.bias);
    if (call.alibi_slopes) join(layer + "self_attention.alibi_slopes", "alibi_slopes", after_step, gradients);
    if (call.sinks) join(layer + "self_attention.sinks", "sinks", after_step, gradients);
  }
  if (call.block->num_layers > 0) return gradients;
  NamedRows renamed;
  for (auto& [name, rows] : gradients) renamed[name.starts_with("layers.0.") ? name.substr(9) : name] = std::move(rows);
  return renamed;
}

NamedRows multi_head_gradients(const Call& call, const Array& of_output, const AfterStep& after_step) {
  NamedRows gradients = reference::multi_head_gradients(multi_head_problem(call), of_output.values, after_step);
  if (call.kind == Kind::General) join("W_k.weight", "W.weight", after_step, gradients);
  sum_bias(call, "bias", call.bias, after_step, gradients);
  join_roles(call, after_step, gradients);
  return gradients;
}

reference::NamedBounds dot_product_gradients(const Call& call, const Array& of_output) {
  const reference::AttentionGradients gradients =
      reference::attention_gradients(attention_problem(call), of_output.values);
  reference::NamedBounds bounds = {{"queries", gradients.queries},
                                   {"keys", gradients.keys},
                                   {"values", gradients.values},
                                   {"alibi_slopes", gradients.alibi_slopes},
                                   {"sinks", gradients.sinks}};
  if (call.bias) bounds["bias"] = of_bias(call, *call.bias, gradients.scores);
  if (!call.values) bounds["keys"] = reference::plus(bounds.at("keys"), bounds.at("values"));
  if (!call.keys) bounds["queries"] = reference::plus(bounds.at("queries"), bounds.at("keys"));
  return bounds;
}

// Of a packed call, from the gradients of its padded form.
void pack_rows(const Call& call, const Call& padded, reference::NamedBounds& bounds) {
  const auto pack_one = [&](const char* name, const std::optional<Input>& input, const Input& offsets) {
    if (!input) return;
    const Dims& dims = input->contents.dims;
    Bounded& bound = bounds.at(name);
    for (const auto member : {&Bounded::values, &Bounded::errors})
      bound.*member = pack({dims, bound.*member}, dims.size() - 3, offsets).values;
    bound.may_be_nan.clear();
  };
  pack_one("queries", padded.queries, *call.query_offsets);
  pack_one("keys", padded.keys, key_offsets_of(call));
  pack_one("values", padded.values, key_offsets_of(call));
}

}  // namespace

reference::NamedBounds solve_gradients(const Call& call, const Array& of_output) {
  const Call padded = is_packed(call) ? padded_form(call, 0.0) : call;
  Array of_padded = of_output;
  if (is_packed(call)) {
    of_padded =
        pad(of_output, of_output.dims.size() - 2, *call.query_offsets, largest_of(counts_of(*call.query_offsets)), 0.0);
  }
  const bool is_dot_product = call.kind == Kind::DotProductRank3 || call.kind == Kind::DotProductRank4;
  reference::NamedBounds bounds = !call.block && is_dot_product
                                      ? dot_product_gradients(call, of_padded)
                                      : reference::with_moved_steps([&](const AfterStep& after_step) {
                                          return call.block ? block_gradients(call, padded, of_padded, after_step)
                                                            : multi_head_gradients(call, of_padded, after_step);
                                        });
  // Of inputs without elements, and of those that no row sees.
  for (const auto& [name, dims] : differentiable_inputs(padded))
    bounds.try_emplace(name, static_cast<size_t>(num_elements(dims)));
  if (is_packed(call)) pack_rows(call, padded, bounds);
  return bounds;
}

testing::AssertionResult agree(const NamedResults& gradients, const reference::NamedBounds& expected,
                               AccuracyStatistics* statistics) {
  for (const auto& [name, gradient] : gradients) {
    const auto bound = expected.find(name);
    if (bound == expected.end()) return testing::AssertionFailure() << "the reference has no gradient of " << name;
    const testing::AssertionResult verdict = agree(name.c_str(), gradient, bound->second, statistics);
    if (!verdict) return verdict;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(const NamedResults& a, const NamedResults& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " and " << b.size() << " gradients";
  for (const auto& [name, gradient] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return testing::AssertionFailure() << name << " is missing";
    const std::vector<double>& numbers = gradient.contents.values;
    const std::vector<double>& others = other->second.contents.values;
    if (gradient.contents.dims != other->second.contents.dims) return testing::AssertionFailure() << "dims of " << name;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] == others[i] || (std::isnan(numbers[i]) && std::isnan(others[i]))) continue;
      return testing::AssertionFailure() << "element " << i << " of " << numbers.size() << " of " << name << ": "
                                         << testing::PrintToString(numbers[i]) << " and "
                                         << testing::PrintToString(others[i]);
    }
  }
  return testing::AssertionSuccess();
}

Call training_form(Call call) {
  const auto widen = [](Input& input) {
    if (input.dtype == HEED_F16 || input.dtype == HEED_BF16) input.dtype = HEED_F32;
  };
  widen(call.queries);
  for (std::optional<Input>* const input : {&call.keys, &call.values, &call.bias, &call.self_bias}) {
    if (*input) widen(**input);
  }
  for (auto& [name, parameter] : call.parameters) widen(parameter);
  call.cache_layout.reset();
  call.weights.reset();
  call.log_sum_exp.reset();
  if (!call.output) call.output.emplace();
  call.output->dtype = HEED_F32;
  call.in_one_call = false;
  return call;
}

}  // namespace heed::property
