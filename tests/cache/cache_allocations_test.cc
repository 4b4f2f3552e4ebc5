// SPDX-License-Identifier: Apache-2.0
// Memory that cannot be had: the call fails, the cache is as it was, and the same call succeeds afterwards.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cache/support/cache_operation.h"
#include "cache/support/caches.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/objects.h"

namespace heed::cache_test {
namespace {

using capi_test::CountingAllocator;
using Trouble = CountingAllocator::Trouble;

property::Context context_of(CountingAllocator& allocator) {
  return property::Context(allocator.make_context().release());
}

// Far more allocations than an operation makes.
constexpr int64_t kMaxAllocations = 500;

class CacheMemory : public testing::TestWithParam<OperationKind> {};

TEST_P(CacheMemory, EachAllocationThatFailsChangesNothing) {
  CountingAllocator allocator;
  CacheOperation operation(context_of(allocator), GetParam());
  const CacheState before = operation.state();
  for (int64_t number = 1; number < kMaxAllocations; ++number) {
    allocator.make_trouble(Trouble::Null, number, true);
    const heed_status status = operation.run();
    const bool happened = allocator.trouble_happened();
    allocator.end_trouble();
    if (!happened) {
      EXPECT_EQ(status, HEED_OK) << heed_last_error();
      return;
    }
    ASSERT_EQ(status, HEED_ERROR_OUT_OF_MEMORY) << "allocation " << number << ": " << heed_last_error();
    ASSERT_TRUE(same_state(before, operation.state())) << "allocation " << number;
  }
  FAIL() << "allocations do not end";
}

INSTANTIATE_TEST_SUITE_P(Operations, CacheMemory, testing::ValuesIn(kOperationKinds), [](const auto& operation) {
  std::string name = name_of(operation.param);
  std::erase(name, ' ');
  return name;
});

TEST(Cache, AllMemoryGoesBack) {
  CountingAllocator allocator;
  for (const OperationKind kind : kOperationKinds) {
    {
      CacheOperation operation(context_of(allocator), kind);
      ASSERT_EQ(operation.run(), HEED_OK) << name_of(kind) << ": " << heed_last_error();
    }
    EXPECT_EQ(allocator.num_live_blocks(), 0) << name_of(kind);
  }
}

// Heads are small, so that the tables are a large part of the cache.
TEST(Cache, TakesAsManyBytesAsItsSize) {
  CountingAllocator allocator;
  const CachedLayer layer(context_of(allocator), grouped_heads(1, 2, 2, 2));
  heed_cache_options contiguous = layer.contiguous(40);
  contiguous.num_layers = 7;
  for (const heed_cache_options& options : each_layout(contiguous, 50)) {
    SCOPED_TRACE(name_of_layout(options));
    size_t num_bytes = 0;
    property::check(heed_cache_size(&options, &num_bytes));
    const size_t before = allocator.num_live_bytes();
    const Cache cache = make_cache(layer, options);
    const auto allocated = static_cast<double>(allocator.num_live_bytes() - before);
    EXPECT_NEAR(allocated / static_cast<double>(num_bytes), 1.0, 0.01);
  }
}

TEST(Cache, ForwardWithAWorkspaceAllocatesNothing) {
  CountingAllocator allocator;
  const CachedLayer layer(context_of(allocator), grouped_heads(2, 2, 8, 8));
  const Cache cache = make_cache(layer, as_paged(with_sequences(layer.contiguous(200), 2), 16, 26));
  Form form;
  form.with_workspace = true;
  // Appends to one sequence after another, across pages.
  int64_t length = 0;
  for (const int64_t count : {40, 1, 1, 15}) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(length + i);
    Step step(layer, cache.get(), {{0, rows}, {1, rows}}, form);
    const int64_t before = allocator.num_allocations();
    ASSERT_EQ(step.run(), HEED_OK) << heed_last_error();
    EXPECT_EQ(allocator.num_allocations(), before);
    length += count;
  }
}

}  // namespace
}  // namespace heed::cache_test
