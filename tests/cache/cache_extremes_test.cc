// SPDX-License-Identifier: Apache-2.0
// Values near the largest float, whose sum before it is divided is not finite, and scores far from 0.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cache/support/cached_layer.h"
#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"

namespace heed::cache_test {
namespace {

constexpr int64_t kManyRows = 300;  // more than a key block
constexpr int64_t kHeadSize = 16;

void set_all(const CachedLayer& layer, const char* name, const property::Dims& dims, double value) {
  const property::HostTensor tensor(layer.context(), property::make_input(property::filled(dims, value), HEED_F32));
  property::check(heed_layer_set_parameter(layer.layer(), name, tensor.handle()));
}

// Every value is 3e38, so any weights that sum to 1 give 3e38 again, and the output projection 16 * 3e38 * 1e-38.
TEST(CacheExtremes, ValuesWhoseSumOverflowsHaveAMean) {
  for (const bool has_constant_key : {false, true}) {
    LayerSpec spec = grouped_heads(1, 1, kHeadSize, kHeadSize);
    spec.options.add_bias_kv = has_constant_key ? 1 : 0;
    const CachedLayer layer(spec);
    set_all(layer, "W_v.weight", {kHeadSize, spec.input_size}, 0.0);
    set_all(layer, "W_v.bias", {kHeadSize}, 3e38);
    set_all(layer, "W_o.weight", {layer.output_size(), kHeadSize}, 1e-38);
    set_all(layer, "W_o.bias", {layer.output_size()}, 0.0);
    if (has_constant_key) set_all(layer, "bias_v", {kHeadSize}, 3e38);
    for (const heed_dtype dtype : {HEED_F32, HEED_BF16, HEED_I8}) {
      const heed_cache_options contiguous = layer.contiguous(kManyRows, dtype);
      for (const heed_cache_options& options : each_layout(contiguous, 1)) {
        const Cache cache = make_cache(layer, options);
        forward_one(layer, cache.get(), {0, counting_from(0, kManyRows - 3)});
        const property::Results results = forward_one(layer, cache.get(), {0, counting_from(kManyRows - 3, 3)});
        // Two roundings to BF16 or I8 and back, besides those of the sums in F32.
        const double error = dtype == HEED_F32 ? 1e-5 : 1e-2;
        for (const double element : results.output->contents.values) EXPECT_NEAR(element, 48.0, 48.0 * error);
      }
    }
  }
}

// All scores are 0, and 0 + bias is exact: the same bias for all keys changes nothing, however far from 0 it is.
TEST(CacheExtremes, ABiasThatAllKeysHaveChangesNothing) {
  const LayerSpec spec = grouped_heads(1, 2, kHeadSize, kHeadSize);
  const CachedLayer layer(spec);
  set_all(layer, "W_q.weight", {2 * kHeadSize, spec.input_size}, 0.0);
  set_all(layer, "W_q.bias", {2 * kHeadSize}, 0.0);
  for (const int64_t num_new : {1, 4}) {
    std::vector<property::Results> results;
    for (const double bias : {0.0, 0x1p30, -0x1p30, -0x1p100}) {
      const Cache cache = make_cache(layer, as_paged(layer.contiguous(kManyRows), 64, 5));
      fill_cache(layer, cache.get(), {{0, counting_from(0, kManyRows - num_new)}});
      Form form;
      form.bias = property::make_input(property::filled({num_new, kManyRows}, bias), HEED_F32);
      form.with_log_sum_exp = false;
      results.push_back(forward_one(layer, cache.get(), {0, counting_from(kManyRows - num_new, num_new)}, form));
      EXPECT_TRUE(same_rows(row_bits(results.back()), row_bits(results.front()))) << num_new << " rows, bias " << bias;
    }
  }
}

}  // namespace
}  // namespace heed::cache_test
