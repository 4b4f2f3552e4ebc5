// SPDX-License-Identifier: Apache-2.0
// Layers of self-attention with random parameters, and the geometry of their caches.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "property/support/call.h"

namespace heed::cache_test {

struct LayerSpec {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;  // without a rope
  std::optional<heed_rope_options> rope;
  int64_t input_size = 6;
  heed_dtype dtype = HEED_F32;  // of the rows
  heed_dtype parameter_dtype = HEED_F32;
  uint64_t seed = 1;  // of the parameters and of the rows
};

// `group` query heads for each key head, with all biases, a causal mask, and 5 elements of output.
LayerSpec grouped_heads(int64_t num_kv_heads, int64_t group, int64_t head_size, int64_t value_head_size);

heed_rope_options rope_of(int32_t layout);

// The same layer with a window of this many keys before the query's.
LayerSpec with_window(LayerSpec spec, int64_t window_left);

class CachedLayer {
 public:
  // In a context of its own. On one thread most calls of tests take less time than on several.
  explicit CachedLayer(const LayerSpec& spec, int32_t num_threads = 1, const heed_executor* executor = nullptr);
  CachedLayer(property::Context context, const LayerSpec& spec);

  heed_context* context() const { return context_.get(); }
  heed_layer* layer() const { return layer_.get(); }
  const LayerSpec& spec() const { return spec_; }
  // The layer's options and parameters. Its inputs only show their sizes.
  const property::Call& call() const { return call_; }
  // H, Hkv, D and Dv.
  const reference::AttentionSizes& sizes() const { return sizes_; }
  int64_t output_size() const { return output_size_; }

  // A cache for this layer.
  heed_cache_options contiguous(int64_t capacity, heed_dtype dtype = HEED_F32) const;

 private:
  void set_parameters();

  LayerSpec spec_;
  property::Call call_;
  reference::AttentionSizes sizes_;
  int64_t output_size_ = 0;
  property::Context context_;
  property::Layer layer_;
};

}  // namespace heed::cache_test
