// SPDX-License-Identifier: Apache-2.0
#include "errors/scene.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "capi/support/files.h"
#include "capi/support/model_copy.h"

namespace heed::errors_test {
namespace {

using capi_test::AttentionCall;
using capi_test::Kind;

}  // namespace

Scene::Scene()
    : call_(Kind::MultiHead),
      dot_product_call_(Kind::DotProductRank4),
      context(call_.context.get()),
      tensor(call_.zeros({2, 3, 4})),
      shape_only(call_.shape_only({2, 3, 4})),
      part_outputs{call_.zeros({2, 3, 4}), call_.zeros({2, 3, 4})},
      part_log_sum_exps{call_.zeros({2, 3}), call_.zeros({2, 3})},
      merged(call_.zeros({2, 3, 4})),
      layer(call_.layer.get()),
      options(capi_test::two_heads()),
      inputs(call_.inputs),
      outputs(call_.outputs),
      dot_product(dot_product_call_.layer.get()),
      heads(dot_product_call_.inputs),
      head_outputs(dot_product_call_.outputs) {
  inputs.sequences = &sequences;
  remember(tensor);
  remember(merged);
  remember_tensors_of(inputs, outputs);
  remember_tensors_of(heads, head_outputs);
  cache_options.max_sequences = 2;
  cache_options.num_kv_heads = 2;
  cache_options.head_size = 4;
  cache_options.capacity = 8;
  managed.dl_tensor.data = memory;
  managed.dl_tensor.device = {kDLCPU, 0};
  managed.dl_tensor.ndim = 3;
  managed.dl_tensor.dtype = {kDLFloat, 32, 1};
  managed.dl_tensor.shape = dims;
  managed.deleter = [](DLManagedTensor*) { ADD_FAILURE() << "memory was released that was not taken"; };
}

Scene::~Scene() {
  heed_optimizer_destroy(optimizer);
  heed_gradients_destroy(gradients);
  heed_cache_destroy(cache);
  heed_cache_destroy(memory_cache);
  heed_cache_destroy(new_cache);
  heed_saved_destroy(new_saved);
  heed_workspace_destroy(new_workspace);
  heed_weights_destroy(new_weights);
  heed_layer_destroy(new_layer);
  heed_tensor_destroy(new_tensor);
  heed_tensor_destroy(new_product);
  heed_context_destroy(new_context);
}

heed_tensor* Scene::remember(heed_tensor* made) {
  written_.push_back({made, capi_test::read_bytes(made)});
  return made;
}

void Scene::remember_tensors_of(const heed_layer_inputs& its_inputs, const heed_layer_outputs& its_outputs) {
  for (const heed_tensor* each : {its_inputs.queries, its_inputs.keys, its_inputs.values}) {
    if (each != nullptr) written_.push_back({each, capi_test::read_bytes(each)});
  }
  for (heed_tensor* each : {its_outputs.output, its_outputs.weights, its_outputs.log_sum_exp}) {
    if (each != nullptr) remember(each);
  }
}

Scene::State Scene::state() const {
  const auto is_made = [](const void* handle) { return handle != nullptr && handle != &untouched; };
  State now{{new_context, new_tensor, new_product, new_layer, new_workspace, new_weights, new_cache, new_saved,
             outputs.output, outputs.weights, outputs.log_sum_exp, new_outputs.output, new_outputs.weights,
             new_outputs.log_sum_exp, tap.weights, tap.log_sum_exp, exported},
            {heed_layer_is_initialized(layer), is_made(new_layer) ? heed_layer_is_initialized(new_layer) : -1},
            {},
            {},
            num_bytes};
  std::copy_n(text, sizeof text, now.text.begin());
  std::copy_n(memory, now.memory.size(), now.memory.begin());
  return now;
}

void Scene::arrange(const Setting& setting) {
  if (setting.kind) use(*setting.kind);
  reach_ = setting.reach;
  if (reach_) capi_test::check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
}

void Scene::begin() {
  capi_test::check(call_.forward());
  for (Written& each : written_) each.bytes = capi_test::read_bytes(each.tensor);
  change_out_parameters([](auto*& handle) {
    if (handle == nullptr) handle = reinterpret_cast<std::remove_reference_t<decltype(handle)>>(&untouched);
  });
  state_ = state();
  Stage::begin();
}

Refused Scene::end(heed_status status) {
  Refused refused = Stage::end(status);
  EXPECT_TRUE(state() == state_) << "an out-parameter or a layer was changed";
  change_out_parameters([](auto*& handle) {
    if (static_cast<const void*>(handle) == &untouched) handle = nullptr;
  });
  if (reach_) ask_every_other_function(layer, inputs, outputs, *reach_, {status, {refused.sentence}});
  for (const auto& [each, bytes] : written_) {
    EXPECT_EQ(capi_test::read_bytes(each), bytes) << "a tensor was written";
  }
  // Unless the layer was asked to initialize itself anew.
  if (!reach_) {
    capi_test::check(call_.forward());
    for (const auto& [each, bytes] : written_) EXPECT_EQ(capi_test::read_bytes(each), bytes) << "the layer has changed";
  }
  return refused;
}

heed_tensor* Scene::tensor_of(heed_dtype dtype, const capi_test::Dims& sizes) {
  heed_tensor* const made = call_.zeros(sizes, dtype);
  if (dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16 || dtype == HEED_F64) {
    capi_test::check(heed_tensor_fill(made, 1));
  }
  return remember(made);
}

heed_tensor* Scene::shape_of(heed_dtype dtype, const capi_test::Dims& sizes) { return call_.shape_only(sizes, dtype); }

heed_tensor* Scene::repeated(heed_dtype dtype, const capi_test::Dims& sizes) {
  return view_of(tensor_of(dtype, {1}), sizes, capi_test::Dims(sizes.size(), 0));
}

heed_tensor* Scene::view_of(heed_tensor* whole, const capi_test::Dims& sizes, const capi_test::Dims& steps,
                            int64_t offset) {
  return call_.keep(capi_test::make_view(whole, sizes, steps, offset));
}

heed_tensor* Scene::bytes_of(heed_tensor* whole, heed_dtype dtype, const capi_test::Dims& sizes, size_t first_byte) {
  char* const data = static_cast<char*>(heed_tensor_data(whole));
  return call_.keep(capi_test::wrap(context, sizes, {}, data + first_byte, dtype));
}

heed_tensor* Scene::lengths(std::initializer_list<float> values) {
  return remember(call_.tensor_of<float>({static_cast<int64_t>(values.size())}, values));
}

heed_tensor* Scene::numbers(std::initializer_list<int32_t> values) {
  return remember(call_.tensor_of<int32_t>({static_cast<int64_t>(values.size())}, values));
}

void Scene::pack(std::initializer_list<int32_t> query_offsets, std::initializer_list<int32_t> key_offsets) {
  sequences.query_offsets = numbers(query_offsets);
  sequences.key_offsets = numbers(key_offsets);
  inputs.queries = tensor_of(HEED_F32, {5, 6});
  inputs.keys = tensor_of(HEED_F32, {9, 7});
  inputs.values = tensor_of(HEED_F32, {9, 9});
  outputs.output = tensor_of(HEED_F32, {5, 8});
  outputs.log_sum_exp = tensor_of(HEED_F32, {2, 5});
  outputs.weights = NULL;
}

void Scene::use_cache() {
  capi_test::check(heed_cache_create(context, &cache_options, &cache));
  with_cache.cache = cache;
  inputs.keys = tensor_of(HEED_F32, {2, 3, 7});
  inputs.values = tensor_of(HEED_F32, {2, 3, 9});
  inputs.cache = &with_cache;
  outputs.weights = nullptr;
}

void Scene::use_window(int64_t rows) {
  cache_options.capacity = 200;
  list[0] = rows;
  cache_options.layer_capacities = list;
  use_cache();
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  options.window = HEED_WINDOW_BOTTOM_RIGHT;
  options.window_left = rows - 1;
  layer = layer_with(options);
  capi_test::check(heed_layer_initialize(layer, &inputs, 42));
}

void Scene::use_memory_cache() {
  cache_options.num_layers = 2;
  capi_test::check(heed_cache_create(context, &cache_options, &memory_cache));
  with_memory.cache = memory_cache;
  with_memory.use = HEED_CACHE_READ;
  self_attention.memory_cache = &with_memory;
  inputs.keys = inputs.values = nullptr;
}

const char* Scene::cache_file(const std::string& rope, std::initializer_list<int64_t> numbers,
                              const std::string& position_dtype, int32_t last_position,
                              std::initializer_list<int64_t> of_layers) {
  constexpr size_t kKeys = sizeof(float) * 2 * 2 * 4;
  const size_t layers_end = 40 + sizeof(int64_t) * of_layers.size();
  const size_t rope_end = layers_end + rope.size();
  const auto offsets = [](size_t begin, size_t end) {
    return "'data_offsets':[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  std::string header = "{'rows':{'dtype':'I64','shape':[5]," + offsets(0, 40) +
                       (of_layers.size() == 0 ? ""
                                              : ",'layers':{'dtype':'I64','shape':[1," +
                                                    std::to_string(of_layers.size()) + "]," + offsets(40, layers_end)) +
                       ",'rope':{'dtype':'U8','shape':[" + std::to_string(rope.size()) + "]," +
                       offsets(layers_end, rope_end) + ",'layers.0.keys':{'dtype':'F32','shape':[2,2,4]," +
                       offsets(rope_end, rope_end + kKeys) + ",'layers.0.values':{'dtype':'F32','shape':[2,2,4]," +
                       offsets(rope_end + kKeys, rope_end + 2 * kKeys) + ",'layers.0.positions':{'dtype':'" +
                       position_dtype + "','shape':[2]," + offsets(rope_end + 2 * kKeys, rope_end + 2 * kKeys + 8) +
                       "}";
  std::replace(header.begin(), header.end(), '\'', '"');
  std::string contents = capi_test::safetensors(header, rope_end + 2 * kKeys + 8);
  const size_t data = contents.size() - (rope_end + 2 * kKeys + 8);
  std::copy_n(reinterpret_cast<const char*>(numbers.begin()), 40, contents.begin() + static_cast<std::ptrdiff_t>(data));
  std::copy_n(reinterpret_cast<const char*>(of_layers.begin()), layers_end - 40,
              contents.begin() + static_cast<std::ptrdiff_t>(data + 40));
  std::copy(rope.begin(), rope.end(), contents.begin() + static_cast<std::ptrdiff_t>(data + layers_end));
  std::copy_n(reinterpret_cast<const char*>(&last_position), 4, contents.end() - 4);
  return bytes("sequence.safetensors", contents);
}

heed_layer* Scene::layer_with(const heed_multi_head_attention_options& changed) {
  return layers_.emplace_back(capi_test::make_multi_head(context, changed)).get();
}

// Initializes it for `inputs`, and makes its output.
void Scene::use_layer(capi_test::Layer made) {
  layer = layers_.emplace_back(std::move(made)).get();
  inputs.decoder = &self_attention;
  capi_test::check(heed_layer_initialize(layer, &inputs, 1));
  outputs = HEED_LAYER_OUTPUTS_INIT;
  capi_test::check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
  call_.keep(capi_test::Tensor(outputs.output));
}

void Scene::use(capi_test::Kind kind) {
  const AttentionCall& made = call_of_kind_.emplace(kind);
  layer = made.layer.get();
  inputs = made.inputs;
  if (inputs.sequences != nullptr) sequences = *inputs.sequences;
  inputs.sequences = &sequences;
  outputs = made.outputs;
  remember_tensors_of(inputs, outputs);
}

void Scene::use_factors(int64_t count) {
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.num_factors = count;
  rope.factors = two_factors;
  rope.factor = 4;
  rope.original_length = 64;
}

void Scene::use_encoder_layer() {
  inputs.queries = tensor_of(HEED_F32, {2, 3, 8});
  inputs.keys = inputs.values = nullptr;
  use_layer(capi_test::make_encoder_layer(context, encoder_layer));
}

heed_tensor* Scene::read_by(const heed_embedding_options* ids_of, int64_t num_rows) {
  return ids_of == nullptr ? tensor_of(HEED_F32, {2, num_rows, 8}) : tensor_of(HEED_I32, {2, num_rows});
}

void Scene::use_encoder() {
  inputs.queries = read_by(encoder.embedding, 3);
  inputs.keys = inputs.values = nullptr;
  use_layer(capi_test::make_encoder(context, encoder));
}

void Scene::use_decoder() {
  inputs.queries = read_by(decoder.embedding, 3);
  if (decoder_layer.cross_attention == nullptr) inputs.keys = nullptr;
  inputs.values = nullptr;
  use_layer(capi_test::make_decoder(context, decoder));
}

void Scene::use_tap() {
  outputs.taps = tap_list;
  outputs.num_taps = 1;
}

void Scene::use_transformer() {
  inputs.queries = read_by(transformer.embedding, 3);
  inputs.keys = read_by(transformer.embedding != nullptr ? transformer.embedding : encoder.embedding, 5);
  inputs.values = nullptr;
  use_layer(capi_test::make_transformer(context, transformer));
}

void Scene::use_embedding() {
  inputs.queries = tensor_of(HEED_I32, {2, 3});
  inputs.keys = inputs.values = nullptr;
  use_layer(capi_test::make_embedding(context, embedding));
}

void Scene::use_images() {
  inputs.queries = tensor_of(HEED_F32, {2, 3, 4, 6});
  inputs.keys = inputs.values = nullptr;
  encoder.patches = &patches;
  use_layer(capi_test::make_encoder(context, encoder));
}

void Scene::use_audio() {
  inputs.queries = tensor_of(HEED_F32, {2, 4, 6});
  inputs.keys = inputs.values = nullptr;
  encoder.audio = &audio;
  use_layer(capi_test::make_encoder(context, encoder));
}

void Scene::use_model(const char* family) {
  layer = layers_.emplace_back(capi_test::make_model(context, capi_test::golden_model(family))).get();
  inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = tensor_of(HEED_I32, {2, 3});
}

heed_tensor* Scene::snapshot(const char* name) { return call_.keep(capi_test::snapshot(layer, name)); }

heed_gradients* Scene::use_gradients() {
  capi_test::check(heed_gradients_create(layer, &gradients));
  return gradients;
}

heed_optimizer* Scene::use_optimizer() {
  capi_test::check(heed_sgd_create(context, nullptr, &optimizer));
  return optimizer;
}

heed_workspace* Scene::workspace_of(size_t size) {
  return workspaces_.emplace_back(capi_test::make_workspace(context, size)).get();
}

const char* Scene::file(const std::string& header, size_t data_size) {
  std::string json = header;
  std::replace(json.begin(), json.end(), '\'', '"');
  return bytes("model.safetensors", capi_test::safetensors(json, data_size));
}

namespace {

// A .safetensors file with these tensors.
std::string contents_of(const std::vector<NamedDims>& tensors) {
  std::string header;
  size_t offset = 0;
  for (const auto& [name, dims, dtype] : tensors) {
    size_t num_bytes = std::string_view(dtype).ends_with("16") ? 2 : 4;
    std::string shape;
    for (const int64_t dim : dims) {
      num_bytes *= static_cast<size_t>(dim);
      shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    }
    header += (header.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape +
              R"(],"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(offset + num_bytes) + "]}";
    offset += num_bytes;
  }
  return capi_test::safetensors(header + "}", offset);
}

}  // namespace

const char* Scene::file_of(const std::vector<NamedDims>& tensors) {
  return bytes("model.safetensors", contents_of(tensors));
}

const char* Scene::names(std::initializer_list<const char*> all) {
  std::string header;
  for (const char* name : all) {
    header += (header.empty() ? "'" : ",'") + std::string(name) + "':{'dtype':'F32','shape':[0],'data_offsets':[0,0]}";
  }
  return file("{" + header + "}", 0);
}

const char* Scene::model(const std::string& config, const std::string& header, size_t data_size) {
  std::filesystem::create_directory("a_model");
  const auto quoted = [](std::string json) {
    std::replace(json.begin(), json.end(), '\'', '"');
    return json;
  };
  bytes("a_model/config.json", quoted(config));
  return bytes("a_model/model.safetensors", capi_test::safetensors(quoted(header), data_size));
}

const char* Scene::saved_model(const std::string& config, const std::string& more) const {
  const char* const path = model(config);
  capi_test::check(heed_layer_save(layer, path));
  if (more.empty()) return path;
  // A file is the length of its header, the header and the tensors.
  const std::string saved = capi_test::read_file(path);
  uint64_t length = 0;
  std::memcpy(&length, saved.data(), sizeof length);
  const std::string entry = "{\"" + more + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
  const std::string rest = saved.substr(sizeof length + 1);
  length += entry.size() - 1;
  return bytes(path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + entry + rest);
}

const char* Scene::folder(const std::string& config, std::initializer_list<NamedDims> tensors) {
  std::filesystem::remove_all("folder");
  std::filesystem::create_directory("folder");
  std::string text = config;
  std::replace(text.begin(), text.end(), '\'', '"');
  bytes("folder/config.json", text);
  if (tensors.size() == 0) return "folder";
  bytes("folder/model.safetensors", contents_of(tensors));
  return "folder";
}

std::string Scene::many_zeros(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += i == 0 ? "0" : ",0";
  return text;
}

const char* Scene::model(const std::string& config) {
  std::string header;
  size_t offset = 0;
  for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}) {
    header += (offset == 0 ? "{'" : ",'") + std::string(name) + "':{'dtype':'F32','shape':[8,8],'data_offsets':[" +
              std::to_string(offset) + "," + std::to_string(offset + 256) + "]}";
    offset += 256;
  }
  return model(config, header + "}", offset);
}

const char* Scene::model_of_phi3() {
  return model(
      "{'model_type':'phi3','max_position_embeddings':64,'original_max_position_embeddings':8,"
      "'rope_scaling':{'type':'longrope','long_factor':[4,4],'short_factor':[1,1]}}");
}

heed_status Scene::load_accepting(const char* accept) {
  heed_load_options load_options = HEED_LOAD_OPTIONS_INIT;
  load_options.accept = accept;
  capi_test::check(heed_weights_open(context, model("{}"), &new_weights));
  state_ = state();
  return heed_layer_load_weights(layer, new_weights, nullptr, &load_options);
}

const char* Scene::npy(const std::string& header, size_t data_size) {
  const auto length = static_cast<char>(header.size());
  return bytes("array.npy", std::string("\x93NUMPY\1\0", 8) + length + '\0' + header + std::string(data_size, '\0'));
}

void* Scene::give_none(void*, size_t size, size_t alignment) { return alignment < 64 ? std::malloc(size) : nullptr; }

void* Scene::give_odd(void*, size_t size, size_t alignment) {
  return alignment < 64 ? std::malloc(size) : reinterpret_cast<void*>(uintptr_t{0x1001});
}

void Scene::take(void*, void* given, size_t) {
  if (given != reinterpret_cast<void*>(uintptr_t{0x1001})) std::free(given);
}

void Scene::run_none(void*, int64_t, Run*, void*) {}

void Scene::run_one_twice(void*, int64_t num_items, Run* run, void* task) {
  for (int64_t item = 0; item < num_items; ++item) run(task, item);
  run(task, 1);
}

void Scene::run_one_more(void*, int64_t num_items, Run* run, void* task) {
  for (int64_t item = 0; item <= num_items; ++item) run(task, item);
}

void Scene::throw_exception(void*, int64_t, Run*, void*) { throw std::runtime_error("a test's exception"); }

heed_tensor* Scene::result_by(void (*parallel_for)(void*, int64_t, Run*, void*)) {
  executor.parallel_for = parallel_for;
  executor.num_threads = 2;
  context_options.executor = &executor;
  const int64_t sizes[] = {64, 1000};
  heed_context_create(&context_options, &new_context);
  heed_tensor_create(new_context, HEED_F32, 2, sizes, &new_tensor);
  state_ = state();
  return new_tensor;
}

const char* Scene::bytes(const char* name, const std::string& contents) {
  std::ofstream(name, std::ios::binary) << contents;
  return name;
}

}  // namespace heed::errors_test
