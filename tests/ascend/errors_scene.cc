// SPDX-License-Identifier: Apache-2.0
#include "ascend/errors_scene.h"

#include "support/platform/environment.h"

namespace heed::ascend_test {
namespace {

using capi_test::make_tensor;

heed_context_options exact_options() {
  heed_context_options options = npu_options();
  options.allow_reduced_precision = 0;
  return options;
}

// The first call loads the plugin.
Context make_exact_context() {
  set_environment("HEED_PLUGIN_PATH", "plugin");
  const heed_context_options options = exact_options();
  return capi_test::make_context(&options);
}

}  // namespace

NpuScene::NpuScene()
    : cpu_(capi_test::make_context()),
      npu_(make_exact_context()),
      narrowing_(make_npu_context()),
      context(npu_.get()),
      narrowing_context(narrowing_.get()),
      context_options(exact_options()),
      tensor(tensor_of(HEED_F16, {2, 5, 16})),
      attention(attention_with(options)) {
  inputs.queries = tensor;
  outputs.output = tensor_of(HEED_F16, {2, 5, 16});
  input.queries = tensor_of(HEED_F16, {3, 4});
  multi_head.num_hiddens = 16;
  multi_head.num_heads = 1;
  embedding_options.num_embeddings = 10;
  embedding_options.embedding_size = 4;
  output_options.size = 4;
  cache_options.max_sequences = 2;
  cache_options.num_kv_heads = 1;
  cache_options.head_size = cache_options.capacity = 16;
  cache_options.dtype = HEED_F16;
  property::check(heed_context_synchronize(context));
}

NpuScene::~NpuScene() {
  heed_layer_destroy(new_layer);
  heed_tensor_destroy(new_tensor);
  // While its device is still open.
  heed_context_destroy(new_context);
  ascend_sim_clear_faults();
}

heed_tensor* NpuScene::tensor_of(heed_dtype dtype, std::initializer_list<int64_t> sizes) {
  return tensors_.emplace_back(make_tensor(context, sizes, dtype)).get();
}

heed_tensor* NpuScene::on_cpu(heed_dtype dtype, std::initializer_list<int64_t> sizes) {
  return tensors_.emplace_back(make_tensor(cpu_.get(), sizes, dtype)).get();
}

heed_tensor* NpuScene::spread() {
  return tensors_.emplace_back(capi_test::make_view(tensor_of(HEED_F16, {100'003}), {2, 3}, {100'000, 1})).get();
}

heed_layer* NpuScene::attention_with(const heed_dot_product_attention_options& changed) {
  return layers_.emplace_back(capi_test::make_dot_product(context, changed)).get();
}

heed_layer* NpuScene::linear_of(heed_dtype dtype) {
  heed_layer* layer = layers_.emplace_back(capi_test::make_linear(context, capi_test::five_outputs())).get();
  heed_layer_inputs shapes = HEED_LAYER_INPUTS_INIT;
  shapes.queries = tensor_of(dtype, {3, 4});
  property::check(heed_layer_initialize(layer, &shapes, 42));
  return layer;
}

heed_layer* NpuScene::norm_of(const heed_layer_norm_options& given, heed_dtype dtype, int64_t size) {
  heed_layer* layer = layers_.emplace_back(capi_test::make_layer_norm(context, given)).get();
  property::check(heed_layer_set_parameter(layer, "weight", tensor_of(dtype, {size})));
  return layer;
}

heed_layer* NpuScene::embedding_with(const heed_embedding_options& given) {
  heed_layer* layer = layers_.emplace_back(capi_test::make_embedding(context, given)).get();
  const std::initializer_list<int64_t> sizes = {given.num_embeddings, given.embedding_size};
  property::check(heed_layer_set_parameter(layer, "weight", tensor_of(HEED_F16, sizes)));
  return layer;
}

heed_layer* NpuScene::encoder_with(const heed_output_options& output) {
  const heed_feed_forward_options feed_forward = capi_test::ten_hidden();
  heed_encoder_layer_options of_layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  of_layer.attention = &multi_head;
  of_layer.feed_forward = &feed_forward;
  heed_encoder_options encoder = HEED_ENCODER_OPTIONS_INIT;
  encoder.layer = &of_layer;
  encoder.num_layers = 1;
  encoder.output = &output;
  heed_layer* layer = layers_.emplace_back(capi_test::make_encoder(context, encoder)).get();
  property::check(heed_layer_initialize(layer, &inputs, 42));
  return layer;
}

heed_layer* NpuScene::multi_head_with(const heed_multi_head_attention_options& given) {
  layers_.push_back(capi_test::make_multi_head(context, given));
  heed_layer_inputs of_layer = HEED_LAYER_INPUTS_INIT;
  of_layer.queries = tensor;
  property::check(heed_layer_initialize(layers_.back().get(), &of_layer, 1));
  return layers_.back().get();
}

heed_cache* NpuScene::cache_with(const heed_cache_options& given) {
  caches_.push_back(cache_test::make_cache(context, given));
  cached.cache = caches_.back().get();
  inputs.cache = &cached;
  return cached.cache;
}

heed_layer* NpuScene::additive() {
  heed_additive_attention_options sizes = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  sizes.num_hiddens = 8;
  heed_layer* layer = layers_.emplace_back(capi_test::make_additive(context, sizes)).get();
  property::check(heed_layer_initialize(layer, &inputs, 42));
  return layer;
}

}  // namespace heed::ascend_test
