// SPDX-License-Identifier: Apache-2.0
// Layers and caches in F16 for tests of caches in the NPU's memory.
#pragma once

#include <cstdint>

#include "ascend/support/simulated.h"
#include "cache/support/caches.h"
#include "cache/support/step.h"

namespace heed::ascend_test {

inline constexpr int64_t kNumSequences = 3;

class DeviceCache : public Simulated {
 protected:
  // Like make_npu_context, but not strict.
  static Context make_lenient_context() {
    heed_context_options options = npu_options();
    options.strict = 0;
    return capi_test::make_context(&options);
  }
};

// Heads with rotary positions.
inline cache_test::LayerSpec spec_of() {
  cache_test::LayerSpec spec = cache_test::grouped_heads(2, 2, 16, 16);
  spec.dtype = spec.parameter_dtype = HEED_F16;
  spec.rope = cache_test::rope_of(HEED_ROPE_HALF);
  return spec;
}

// A cache of two layers.
inline heed_cache_options paged(const cache_test::CachedLayer& layer, int64_t page_size, int64_t num_pages) {
  heed_cache_options options = cache_test::as_paged(layer.contiguous(300, HEED_F16), page_size, num_pages);
  options.max_sequences = kNumSequences;
  options.num_layers = 2;
  return options;
}

inline cache_test::Form without_log_sum_exp(int64_t layer = 0) {
  cache_test::Form form;
  form.layer = layer;
  form.with_log_sum_exp = false;
  return form;
}

}  // namespace heed::ascend_test
