// SPDX-License-Identifier: Apache-2.0
// Layers that together have groups of 1, 3, 4 and 7 heads and everything that depends on rows and positions, each with
// caches of every dtype.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cache/support/cached_layer.h"
#include "cache/support/caches.h"
#include "property/support/host_tensor.h"

namespace heed::cache_test {

struct NamedLayer {
  const char* name;
  LayerSpec spec;
};
std::vector<NamedLayer> sample_layers();

// Calls visit(layer, options of a contiguous cache of this capacity) for each layer with two of the dtypes, so that each
// dtype has two layers; those with rotary positions also with keys that are kept before their rotation.
template <typename Visit>
void for_each_cache(int64_t capacity, Visit visit) {
  const std::vector<NamedLayer> layers = sample_layers();
  for (size_t number = 0; number < layers.size(); ++number) {
    const NamedLayer& named = layers[number];
    const CachedLayer layer(named.spec);
    for (size_t of_dtype = number % 2; of_dtype < kCacheDTypes.size(); of_dtype += 2) {
      const heed_dtype dtype = kCacheDTypes[of_dtype];
      for (int32_t unrotated_keys = 0; unrotated_keys <= (named.spec.rope ? 1 : 0); ++unrotated_keys) {
        if (testing::Test::HasFailure()) return;
        SCOPED_TRACE(std::string(named.name) + ", cache of " + property::name_of(dtype) +
                     (unrotated_keys != 0 ? ", unrotated keys" : ""));
        heed_cache_options options = layer.contiguous(capacity, dtype);
        options.unrotated_keys = unrotated_keys;
        visit(static_cast<const CachedLayer&>(layer), static_cast<const heed_cache_options&>(options));
      }
    }
  }
}

}  // namespace heed::cache_test
