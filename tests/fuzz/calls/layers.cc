// SPDX-License-Identifier: Apache-2.0
// Layers and their parameters.
#include <cmath>
#include <map>
#include <string>

#include "capi/support/objects.h"
#include "fuzz/calls/checks.h"
#include "fuzz/calls/layers.h"
#include "fuzz/calls/machine.h"

namespace heed::fuzz {
namespace {

constexpr const char* kNames[] = {"W_q.weight",
                                  "W_k.weight",
                                  "W_v.weight",
                                  "W_o.weight",
                                  "w_v.weight",
                                  "W_q.bias",
                                  "W_k.bias",
                                  "W_v.bias",
                                  "W_o.bias",
                                  "none",
                                  ""};

// The options that all kinds of attention have.
template <typename Options>
void choose_common(Options& options, Bytes& bytes) {
  constexpr float kScales[] = {0.0F, 1.0F, 0.5F, -0.7F, 0.70710678F, 100.0F, 1e-30F, 1e30F, HUGE_VALF, NAN};
  constexpr float kCaps[] = {0.0F, 1.0F, 30.0F, 0.1F, 1e30F, 1e-30F, -1.0F, HUGE_VALF, NAN};
  constexpr float kDropouts[] = {0.0F, 0.5F, 0.1F, 0.999F, 1e-10F, 1.0F, -0.1F, NAN};
  // The remaining numbers are mistakes and rarely chosen, so that most layers are valid.
  const auto choose = [&bytes](const auto& numbers, size_t num_right) {
    return numbers[bytes.rarely() ? static_cast<size_t>(bytes.below(static_cast<int64_t>(std::size(numbers))))
                                  : static_cast<size_t>(bytes.below(static_cast<int64_t>(num_right)))];
  };
  options.scale = choose(kScales, 5);
  options.soft_cap = choose(kCaps, 4);
  options.dropout = choose(kDropouts, 4);
  options.causal = bytes.enumerator(HEED_CAUSAL_BOTTOM_RIGHT);
  options.window = bytes.enumerator(HEED_WINDOW_BOTTOM_RIGHT);
  options.empty_rows = bytes.enumerator(HEED_EMPTY_ROWS_MEAN);
  if (options.window != HEED_WINDOW_NONE || bytes.rarely()) {
    options.window_left = bytes.size();
    options.window_right = bytes.size();
  }
}

// The dims that a parameter must have by the layer's options. Only for small options.
Dims dims_of_parameter(const LayerEntry& layer, const std::string& name, int64_t input_size) {
  const heed_multi_head_attention_options& options = layer.options;
  if (layer.kind == property::Kind::Additive) {
    return name == "w_v.weight" ? Dims{1, options.num_hiddens} : Dims{options.num_hiddens, input_size};
  }
  if (layer.kind == property::Kind::General) return {options.num_hiddens, input_size};
  const int64_t heads = options.num_heads;
  const int64_t head_size = options.head_size > 0 ? options.head_size : options.num_hiddens / heads;
  const int64_t value_size = options.value_head_size > 0 ? options.value_head_size : head_size;
  const int64_t kv_heads = options.num_kv_heads > 0 ? options.num_kv_heads : heads;
  if (name == "w_v.weight") return {heads, head_size};
  if (name == "sinks") return {heads};
  if (name == "bias_k") return {kv_heads * head_size};
  if (name == "bias_v") return {kv_heads * value_size};
  if (name == "relative_bias.weight")
    return {options.relative_bias_buckets > 0 ? options.relative_bias_buckets : 32, heads};
  if (name.ends_with("_norm.weight")) {
    if (options.qk_norm == HEED_QK_NORM_RMS) return {head_size};
    return {name == "q_norm.weight" ? heads : kv_heads, head_size};
  }
  const std::string of = name.substr(0, 3);
  const int64_t rows = of == "W_q"   ? heads * head_size
                       : of == "W_k" ? kv_heads * head_size
                       : of == "W_v" ? kv_heads * value_size
                                     : (options.output_size > 0 ? options.output_size : options.num_hiddens);
  if (name.ends_with(".bias")) return {rows};
  return {rows, of == "W_o" ? heads * value_size : input_size};
}

// The parameter that heed returns; nothing if it is not set.
std::optional<property::Input> parameter_of(const heed_layer* layer, const char* name) {
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor,
                              [&](heed_tensor** out) { return heed_layer_parameter(layer, name, out); });
  if (made == nullptr) return std::nullopt;
  const Tensor snapshot(made);
  property::Input parameter;
  parameter.dtype = heed_tensor_dtype(made);
  for (int32_t axis = 0; axis < heed_tensor_rank(made); ++axis) {
    parameter.contents.dims.push_back(heed_tensor_dim(made, axis));
  }
  std::vector<uint8_t> bytes(heed_tensor_num_bytes(made));
  require(succeeded(heed_tensor_read(made, bytes.data(), bytes.size())), "a snapshot can be read");
  parameter.contents.values = decode(parameter.dtype, bytes);
  return parameter;
}

bool are_the_same(const property::Input& a, const property::Input& b) {
  if (a.dtype != b.dtype || a.contents.dims != b.contents.dims) return false;
  for (size_t i = 0; i < a.contents.values.size(); ++i) {
    const double x = a.contents.values[i];
    const double y = b.contents.values[i];
    if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

}  // namespace

std::map<std::string, property::Input> parameters_of(const heed_layer* layer) {
  std::map<std::string, property::Input> parameters;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
    const char* name = heed_layer_parameter_name(layer, i);
    require(name != nullptr, "every parameter has a name");
    if (auto parameter = parameter_of(layer, name)) parameters.emplace(name, std::move(*parameter));
  }
  return parameters;
}

void Machine::create_dot_product() {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  choose_common(options, bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const Passed passed(options, bytes_);
  const bool has_options = bytes_.below(8) != 7;
  heed_layer* made = made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return heed_dot_product_attention_create(context, has_options ? passed.get() : nullptr, out);
  });
  if (made == nullptr) return;
  LayerEntry entry;
  entry.handle.reset(made);
  if (has_options) property::copy_shared_options(options, entry.options);
  require(heed_layer_parameter_count(made) == 0 && heed_layer_is_initialized(made) == 1, "there are no parameters");
  layers_.add(std::move(entry), bytes_);
}

void Machine::create_multi_head() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  // Sizes that fit each other, with a mistake now and then.
  options.num_heads = 1 + bytes_.below(4);
  options.num_hiddens = options.num_heads * (1 + bytes_.below(3));
  if (bytes_.flag()) options.num_kv_heads = bytes_.size(4);
  if (bytes_.flag()) options.head_size = bytes_.size(4);
  if (bytes_.flag()) options.value_head_size = bytes_.size(4);
  if (bytes_.flag()) options.output_size = bytes_.size();
  if (bytes_.rarely()) options.num_heads = bytes_.size();
  if (bytes_.rarely()) options.num_hiddens = bytes_.size();
  if (bytes_.rarely()) options.reserved = bytes_.next();
  if (bytes_.below(4) == 3) options.scoring = bytes_.enumerator(HEED_SCORING_ADDITIVE);
  options.biases = bytes_.enumerator(HEED_BIAS_ALL);
  // One byte for three flags, so that the bytes behind it keep their meaning.
  const uint8_t flags = bytes_.next();
  options.no_output_projection = flags % 4 == 3 ? 1 : 0;
  options.add_bias_kv = flags / 4 % 8 == 7 ? 1 : 0;
  options.add_zero_attn = flags / 32 == 6 ? 1 : 0;
  if (options.no_output_projection == 1 && !bytes_.rarely()) {
    options.output_size = 0;
    options.biases &= ~HEED_BIAS_O;
  }
  choose_common(options, bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const Passed passed(options, bytes_);
  heed_layer* made = made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return heed_multi_head_attention_create(context, passed.get(), out);
  });
  if (made == nullptr) return;
  require(options.num_heads >= 1 && options.no_output_projection <= 1, "wrong options are refused");
  require(options.scoring == HEED_SCORING_DOT_PRODUCT || options.add_bias_kv + options.add_zero_attn == 0 ||
              !passed.is_whole(),
          "additive scores have no constant keys");
  require(heed_layer_is_initialized(made) == 0, "a new layer lacks its parameters");
  LayerEntry entry;
  entry.handle.reset(made);
  entry.kind = property::Kind::MultiHead;
  entry.options = options;
  if (!passed.is_whole()) entry.options.add_bias_kv = entry.options.add_zero_attn = 0;
  layers_.add(std::move(entry), bytes_);
}

void Machine::create_additive() {
  heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = bytes_.rarely() ? bytes_.size() : 1 + bytes_.below(6);
  choose_common(options, bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const Passed passed(options, bytes_);
  heed_layer* made = made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return heed_additive_attention_create(context, passed.get(), out);
  });
  if (made == nullptr) return;
  require(options.num_hiddens >= 1 && heed_layer_is_initialized(made) == 0, "a new layer lacks its parameters");
  LayerEntry entry;
  entry.handle.reset(made);
  entry.kind = property::Kind::Additive;
  entry.options.num_hiddens = options.num_hiddens;
  property::copy_shared_options(options, entry.options);
  layers_.add(std::move(entry), bytes_);
}

void Machine::create_general() {
  heed_general_attention_options options = HEED_GENERAL_ATTENTION_OPTIONS_INIT;
  options.query_size = bytes_.rarely() ? bytes_.size() : 1 + bytes_.below(5);
  choose_common(options, bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const Passed passed(options, bytes_);
  heed_layer* made = made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
    return heed_general_attention_create(context, passed.get(), out);
  });
  if (made == nullptr) return;
  require(options.query_size >= 1 && heed_layer_is_initialized(made) == 0, "a new layer lacks its parameter");
  LayerEntry entry;
  entry.handle.reset(made);
  entry.kind = property::Kind::General;
  entry.options.num_hiddens = options.query_size;
  property::copy_shared_options(options, entry.options);
  layers_.add(std::move(entry), bytes_);
}

void Machine::initialize() {
  const LayerEntry* entry = layers_.pick(bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  if (context == nullptr) return;
  const heed_dtype inputs_dtype = bytes_.rarely() ? dtype() : float_dtype();
  const auto shape = [&](int64_t length) {
    const int64_t numbers[] = {1, length, bytes_.size() == 0 ? bytes_.size() : 1 + bytes_.below(5)};
    return Tensor(made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
      return heed_tensor_wrap(context, inputs_dtype, 3, numbers, nullptr, nullptr, nullptr, nullptr, out);
    }));
  };
  const Tensor queries = shape(2);
  const Tensor keys = bytes_.flag() ? shape(3) : nullptr;
  const Tensor values = bytes_.flag() ? shape(keys ? 3 : 2) : nullptr;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  inputs.values = values.get();
  const Passed passed(inputs, bytes_);
  heed_layer* layer = handle_of(entry);
  const auto before = entry == nullptr ? std::map<std::string, property::Input>() : parameters_of(layer);
  if (!succeeded(heed_layer_initialize(layer, passed.get(), bytes_.next()))) {
    if (entry == nullptr) return;
    const auto after = parameters_of(layer);
    require(after.size() == before.size(), "a refused initialization sets nothing");
    for (const auto& [name, value] : before)
      require(are_the_same(after.at(name), value), "nor does it change anything");
    return;
  }
  require(heed_layer_is_initialized(layer) == 1, "an initialized layer says so");
  for (const auto& [name, value] : parameters_of(layer)) {
    require(value.dtype == inputs_dtype, "parameters take the queries' dtype");
    const bool is_bias = name.ends_with(".bias");
    for (const double number : value.contents.values) {
      require(is_bias ? number == 0 : std::isfinite(number), "biases are zero and weights finite");
    }
  }
}

void Machine::set_parameter() {
  const LayerEntry* entry = layers_.pick(bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  if (context == nullptr) return;
  heed_layer* layer = handle_of(entry);
  const char* name = bytes_.rarely() ? nullptr : kNames[bytes_.below(std::size(kNames))];
  const int64_t count = entry == nullptr ? 0 : heed_layer_parameter_count(layer);
  if (count > 0 && !bytes_.rarely()) name = heed_layer_parameter_name(layer, bytes_.below(count));

  // The shape by the options, unless a wrong one is chosen.
  Dims shape = dims();
  std::optional<property::Input> old;
  const auto has_small_heads = [](const heed_multi_head_attention_options& options) {
    return options.num_heads <= 64 && options.head_size <= 64 && options.value_head_size <= 64 &&
           options.num_hiddens <= kMaxElements;
  };
  if (count > 0 && name != nullptr && has_small_heads(entry->options) && !bytes_.rarely()) {
    shape = dims_of_parameter(*entry, name, 1 + bytes_.below(5));
    old = parameter_of(layer, name);
    if (old && !bytes_.rarely()) shape = old->contents.dims;
  }
  if (!are_small(shape)) return;
  const property::Input value = random_input(shape, bytes_.rarely() ? HEED_F64 : float_dtype());
  const HostTensor tensor(context, value);
  const bool was_initialized = heed_layer_is_initialized(layer) == 1;
  capi_test::forget_last_error();  // that of the getter called with NULL
  if (!succeeded(heed_layer_set_parameter(layer, name, tensor.handle()))) return;
  const std::optional<property::Input> now = parameter_of(layer, name);
  require(now.has_value() && now->contents.dims == shape, "a parameter that was set is there");
  require(!was_initialized || (old && now->dtype == old->dtype) || !old, "an initialized layer keeps its dtypes");
  for (size_t i = 0; i < now->contents.values.size(); ++i) {
    const double expected = converted(now->dtype, value.contents.values[i]);
    const double actual = now->contents.values[i];
    require(actual == expected || (std::isnan(actual) && std::isnan(expected)), "a parameter is the value, converted");
  }
}

void Machine::take_parameter() {
  const LayerEntry* entry = layers_.pick(bytes_);
  const heed_layer* layer = handle_of(entry);
  const int64_t count = heed_layer_parameter_count(layer);
  if (entry == nullptr) {
    require(count == -1, "NULL has no parameters");
    require_result_or_error(false, "heed_layer_parameter_count");
  }
  const auto index = bytes_.size();
  const char* name = heed_layer_parameter_name(layer, index);
  require((name != nullptr) == (index >= 0 && index < count), "a parameter that is there has a name");
  require_result_or_error(name != nullptr, "heed_layer_parameter_name");
  heed_tensor* made = made_by(&capi_test::OutParameters::tensor,
                              [&](heed_tensor** out) { return heed_layer_parameter(layer, name, out); });
  if (made == nullptr) return;
  const Tensor shape(made_by(&capi_test::OutParameters::tensor,
                             [&](heed_tensor** out) { return heed_layer_parameter_shape(layer, name, out); }));
  require(shape != nullptr && heed_tensor_dtype(shape.get()) == heed_tensor_dtype(made) &&
              capi_test::dims_of(shape.get()) == capi_test::dims_of(made),
          "a parameter with values has a shape");
  TensorModel model;
  model.dtype = heed_tensor_dtype(made);
  model.is_read_only = true;
  for (int32_t axis = 0; axis < heed_tensor_rank(made); ++axis) {
    model.dims.push_back(heed_tensor_dim(made, axis));
    model.strides.push_back(heed_tensor_stride(made, axis));
  }
  add_tensor(made, model);
}

void Machine::save_and_load() {
  const LayerEntry* entry = layers_.pick(bytes_);
  const LayerEntry* target = layers_.pick(bytes_);
  size_t num_bytes = 0x5EED;
  if (!succeeded(heed_layer_save_memory(handle_of(entry), nullptr, 0, &num_bytes))) {
    require(num_bytes == 0x5EED, "a call that failed left its out-parameter");
    return;
  }
  std::vector<uint8_t> file(num_bytes);
  require(succeeded(heed_layer_save_memory(entry->handle.get(), file.data(), file.size(), &num_bytes)),
          "there is room");
  // Rarely bytes other than those that were saved.
  const bool is_whole = !bytes_.rarely();
  if (!is_whole) {
    if (bytes_.flag()) file.resize(bytes_.next() * file.size() / 256);
    if (!file.empty()) file[(256 * bytes_.next() + bytes_.next()) % file.size()] = bytes_.next();
  }
  const auto saved = parameters_of(entry->handle.get());
  heed_layer* layer = handle_of(target);
  const auto before = layer == nullptr ? saved : parameters_of(layer);
  const bool keeps_dtypes = heed_layer_is_initialized(layer) == 1;
  if (!succeeded(heed_layer_load_memory(layer, file.data(), file.size(), bytes_.rarely() ? "none" : nullptr))) {
    if (layer == nullptr) return;
    const auto after = parameters_of(layer);
    require(after.size() == before.size(), "a refused file sets nothing");
    for (const auto& [name, value] : before)
      require(are_the_same(after.at(name), value), "nor does it change anything");
    return;
  }
  require(heed_layer_is_initialized(layer) == 1, "all parameters are loaded");
  if (!is_whole) return;
  for (const auto& [name, value] : parameters_of(layer)) {
    const auto from = saved.find(name);
    require(from != saved.end() && from->second.contents.dims == value.contents.dims,
            "a parameter comes from the file");
    // A layer that has all its parameters keeps their dtypes. Otherwise it takes the file's dtypes for all.
    require(keeps_dtypes ? value.dtype == before.at(name).dtype : are_the_same(value, from->second),
            "a file keeps every number");
  }
}

}  // namespace heed::fuzz
