// SPDX-License-Identifier: Apache-2.0
// Calls with a cache whose tensors are shapes alone.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>

#include "cache/support/caches.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/objects.h"

namespace heed::cache_test {
namespace {

// The batch of a shape may be far larger than all memory. A call with a cache refuses it before it takes any for its
// elements.
TEST(Cache, BatchesOfShapesAloneAreRefusedWithoutMemoryForThem) {
  constexpr int64_t kBatch = int64_t{1} << 31;
  capi_test::CountingAllocator allocator;
  const CachedLayer layer(property::Context(allocator.make_context().release()), grouped_heads(2, 2, 8, 8));
  const Cache cache = make_cache(layer, with_sequences(layer.contiguous(20), 2));
  Step step(layer, cache.get(), {{0, {0, 1}}, {1, {0, 1}}});
  ASSERT_EQ(step.run(), HEED_OK) << heed_last_error();
  const int64_t size = heed_tensor_dim(step.inputs.queries, 2);
  const auto shape_only = [&](const capi_test::Dims& dims) {
    return capi_test::make_shape_only(layer.context(), dims);
  };
  const capi_test::Tensor queries = shape_only({kBatch, 2, size});
  const capi_test::Tensor output = shape_only({kBatch, 2, layer.output_size()});
  const capi_test::Tensor lens = capi_test::make_tensor_of<int32_t>(layer.context(), {2}, {2, 1}, HEED_I32);
  const capi_test::Tensor same = capi_test::make_tensor_of<int32_t>(layer.context(), {1}, {0}, HEED_I32);
  const capi_test::Tensor repeated = capi_test::make_view(same.get(), {kBatch}, {0}, 0);
  step.inputs.queries = queries.get();
  step.inputs.keys = step.inputs.values = nullptr;
  step.outputs = HEED_LAYER_OUTPUTS_INIT;
  step.outputs.output = output.get();
  step.sequences = HEED_SEQUENCE_INPUTS_INIT;
  step.inputs.sequences = &step.sequences;
  constexpr size_t kMostBytes = size_t{1} << 20;
  allocator.limit_allocations(kMostBytes);
  const auto expect_refused = [&](const std::string& words) {
    size_t num_bytes = 0;
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    const heed_status statuses[] = {
        heed_layer_workspace_size(layer.layer(), &step.inputs, &step.outputs, &num_bytes),
        heed_layer_explain(layer.layer(), &step.inputs, &step.outputs, nullptr, 0, &num_bytes),
        heed_layer_create_outputs(layer.layer(), &step.inputs, HEED_WANT_OUTPUT, &made),
        heed_layer_forward(layer.layer(), &step.inputs, nullptr, &step.outputs)};
    for (const heed_status status : statuses) EXPECT_EQ(status, HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(heed_last_error()).find(words), std::string::npos) << heed_last_error();
  };
  step.cache.sequences = nullptr;
  for (const int32_t use : {HEED_CACHE_APPEND, HEED_CACHE_READ}) {
    step.cache.use = use;
    expect_refused("2147483648 batch elements");
    step.sequences.query_lens = lens.get();
    expect_refused("inputs->sequences->query_lens has dims (2)");
    step.sequences.query_lens = nullptr;
  }
  step.cache.use = HEED_CACHE_APPEND;
  step.cache.sequences = repeated.get();
  expect_refused("inputs->cache->sequences[1] is 0, as is element 0");
  // Without a cache, lengths that do not fit the batch.
  step.inputs.cache = nullptr;
  step.sequences.query_lens = lens.get();
  expect_refused("inputs->sequences->query_lens has dims (2)");
  allocator.limit_allocations(SIZE_MAX);
}

}  // namespace
}  // namespace heed::cache_test
