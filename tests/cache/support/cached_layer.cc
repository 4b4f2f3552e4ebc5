// SPDX-License-Identifier: Apache-2.0
#include "cache/support/cached_layer.h"

#include <utility>

#include "capi/support/objects.h"
#include "property/support/samples.h"

namespace heed::cache_test {
namespace {

constexpr int64_t kUsualBuckets = 32;

property::Context context_of(int32_t num_threads, const heed_executor* executor) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  options.executor = executor;
  return capi_test::make_context(&options);
}

// A call that has the layer's options and parameters. All inputs of the layer are one tensor.
property::Call sample_of(const LayerSpec& spec) {
  property::Random random(spec.seed);
  property::MultiHeadSample sample;
  sample.batch = sample.num_queries = sample.num_keys = 1;
  sample.query_size = sample.key_size = sample.value_size = spec.input_size;
  sample.dtype = spec.dtype;
  sample.parameter_dtype = spec.parameter_dtype;
  const heed_multi_head_attention_options& options = spec.options;
  property::Call call = property::multi_head_call(options, sample, random);
  call.rope = spec.rope;
  const reference::AttentionSizes sizes = property::sizes_of(call);
  const auto add = [&](const char* name, const property::Dims& dims) {
    call.parameters[name] = property::make_input(property::random_array(dims, random, 2.0), spec.parameter_dtype);
  };
  if (options.qk_norm_epsilon != 0.0F) {
    const bool is_of_heads = options.qk_norm == HEED_QK_NORM_LAYER;
    add("q_norm.weight",
        is_of_heads ? property::Dims{sizes.num_heads, sizes.head_size} : property::Dims{sizes.head_size});
    add("k_norm.weight",
        is_of_heads ? property::Dims{sizes.num_kv_heads, sizes.head_size} : property::Dims{sizes.head_size});
  }
  if (options.sinks != 0) add("sinks", {sizes.num_heads});
  if (options.relative_bias != HEED_RELATIVE_BIAS_NONE) {
    const int64_t buckets = options.relative_bias_buckets != 0 ? options.relative_bias_buckets : kUsualBuckets;
    add("relative_bias.weight", {buckets, sizes.num_heads});
  }
  return call;
}

}  // namespace

LayerSpec grouped_heads(int64_t num_kv_heads, int64_t group, int64_t head_size, int64_t value_head_size) {
  LayerSpec spec;
  spec.options.num_heads = num_kv_heads * group;
  spec.options.num_kv_heads = num_kv_heads;
  spec.options.head_size = head_size;
  spec.options.value_head_size = value_head_size;
  spec.options.output_size = 5;
  spec.options.biases = HEED_BIAS_ALL;
  spec.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  return spec;
}

heed_rope_options rope_of(int32_t layout) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = layout;
  return rope;
}

LayerSpec with_window(LayerSpec spec, int64_t window_left) {
  spec.options.window = HEED_WINDOW_BOTTOM_RIGHT;
  spec.options.window_left = window_left;
  spec.options.window_right = -1;
  return spec;
}

CachedLayer::CachedLayer(const LayerSpec& spec, int32_t num_threads, const heed_executor* executor)
    : CachedLayer(context_of(num_threads, executor), spec) {}

CachedLayer::CachedLayer(property::Context context, const LayerSpec& spec)
    : spec_(spec),
      call_(sample_of(spec)),
      sizes_(property::sizes_of(call_)),
      output_size_(property::result_dims(call_).output.back()),
      context_(std::move(context)) {
  heed_multi_head_attention_options options = spec.options;
  const heed_rope_options rope = spec.rope.value_or(heed_rope_options HEED_ROPE_OPTIONS_INIT);
  if (spec.rope) options.rope = &rope;
  layer_ = capi_test::make_multi_head(context_.get(), options);
  set_parameters();
}

void CachedLayer::set_parameters() {
  for (const auto& [name, value] : call_.parameters) {
    const property::HostTensor tensor(context(), value);
    property::check(heed_layer_set_parameter(layer(), name.c_str(), tensor.handle()));
  }
}

heed_cache_options CachedLayer::contiguous(int64_t capacity, heed_dtype dtype) const {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.num_kv_heads = sizes_.num_kv_heads;
  options.head_size = sizes_.head_size;
  options.value_head_size = sizes_.value_head_size;
  options.capacity = capacity;
  options.dtype = dtype;
  return options;
}

}  // namespace heed::cache_test
