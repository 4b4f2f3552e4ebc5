// SPDX-License-Identifier: Apache-2.0
// Options of caches that cannot be created: heed_cache_size and heed_cache_create name the option.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cache/support/caches.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::cache_test {
namespace {

using capi_test::forget_last_error;
using capi_test::invalid;
using capi_test::is_refused;

struct WrongOptions {
  const char* what;
  std::function<void(heed_cache_options& options)> change;
  std::vector<std::string> words;
};

void expect_options_refused(const heed_cache_options& right, const std::vector<WrongOptions>& all) {
  const capi_test::Context context = capi_test::make_context();
  for (const WrongOptions& wrong : all) {
    SCOPED_TRACE(wrong.what);
    heed_cache_options options = right;
    wrong.change(options);
    size_t num_bytes = 7;
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_cache_size(&options, &num_bytes), invalid(wrong.words)));
    EXPECT_EQ(num_bytes, 7U);
    heed_cache* cache = nullptr;
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_cache_create(context.get(), &options, &cache), invalid(wrong.words)));
    EXPECT_EQ(cache, nullptr);
  }
}

heed_cache_options one_head(int64_t capacity) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.num_kv_heads = 1;
  options.head_size = 4;
  options.capacity = capacity;
  return options;
}

TEST(CacheErrors, OptionsOutOfRange) {
  using Options = heed_cache_options;
  expect_options_refused(
      one_head(20),
      {
          {"num_layers", [](Options& o) { o.num_layers = -1; }, {"options->num_layers", "-1"}},
          {"max_sequences", [](Options& o) { o.max_sequences = -2; }, {"options->max_sequences", "-2"}},
          {"no num_kv_heads", [](Options& o) { o.num_kv_heads = 0; }, {"options->num_kv_heads"}},
          {"negative num_kv_heads", [](Options& o) { o.num_kv_heads = -1; }, {"options->num_kv_heads", "-1"}},
          {"no head_size", [](Options& o) { o.head_size = 0; }, {"options->head_size"}},
          {"negative head_size", [](Options& o) { o.head_size = -4; }, {"options->head_size", "-4"}},
          {"large head_size", [](Options& o) { o.head_size = 4097; }, {"options->head_size", "4097"}},
          {"negative value_head_size", [](Options& o) { o.value_head_size = -1; }, {"options->value_head_size", "-1"}},
          {"large value_head_size", [](Options& o) { o.value_head_size = 4097; }, {"options->value_head_size", "4097"}},
          {"no capacity", [](Options& o) { o.capacity = 0; }, {"options->capacity"}},
          {"negative capacity", [](Options& o) { o.capacity = -1; }, {"options->capacity", "-1"}},
          {"large capacity", [](Options& o) { o.capacity = int64_t{1} << 31; }, {"options->capacity", "2147483648"}},
          {"layout above", [](Options& o) { o.layout = 3; }, {"options->layout", "3"}},
          {"layout below", [](Options& o) { o.layout = -1; }, {"options->layout", "-1"}},
          {"F64", [](Options& o) { o.dtype = HEED_F64; }, {"options->dtype", "F64"}},
          {"I32", [](Options& o) { o.dtype = HEED_I32; }, {"options->dtype", "I32"}},
          {"no dtype", [](Options& o) { o.dtype = 99; }, {"options->dtype", "99"}},
          {"unrotated_keys", [](Options& o) { o.unrotated_keys = 2; }, {"options->unrotated_keys", "2"}},
          {"reserved", [](Options& o) { o.reserved = 1; }, {"options->reserved"}},
          {"struct_size", [](Options& o) { o.struct_size = 0; }, {"struct_size"}},
          {"sizes that overflow",
           [](Options& o) {
             o.num_layers = o.max_sequences = int64_t{1} << 40;
             o.capacity = 2147483647;
           },
           {}},
      });
}

TEST(CacheErrors, OptionsWithoutMeaningForTheLayout) {
  using Options = heed_cache_options;
  expect_options_refused(one_head(20), {
                                           {"sinks", [](Options& o) { o.num_sinks = 1; }, {"options->num_sinks"}},
                                           {"page_size", [](Options& o) { o.page_size = 16; }, {"options->page_size"}},
                                           {"num_pages", [](Options& o) { o.num_pages = 2; }, {"options->num_pages"}},
                                       });
  expect_options_refused(as_ring(one_head(20), 0),
                         {
                             {"page_size", [](Options& o) { o.page_size = 16; }, {"options->page_size"}},
                             {"num_pages", [](Options& o) { o.num_pages = 2; }, {"options->num_pages"}},
                             {"negative sinks", [](Options& o) { o.num_sinks = -1; }, {"options->num_sinks", "-1"}},
                             {"more rows than are counted",
                              [](Options& o) { o.num_sinks = 2147483647 - 19; },
                              {"options->num_sinks", "0 to 2147483627"}},
                         });
  expect_options_refused(as_paged(one_head(20), 16, 4),
                         {
                             {"sinks", [](Options& o) { o.num_sinks = 1; }, {"options->num_sinks"}},
                             {"no pages", [](Options& o) { o.num_pages = 0; }, {"options->num_pages"}},
                             {"negative pages", [](Options& o) { o.num_pages = -1; }, {"options->num_pages", "-1"}},
                             {"half a tile", [](Options& o) { o.page_size = 8; }, {"options->page_size", "8"}},
                             {"not whole tiles", [](Options& o) { o.page_size = 24; }, {"options->page_size", "24"}},
                             {"negative page", [](Options& o) { o.page_size = -16; }, {"options->page_size", "-16"}},
                         });
}

TEST(CacheOptions, APageHas64RowsUnlessItsSizeIsGiven) {
  const capi_test::Context context = capi_test::make_context();
  const Cache cache = make_cache(context.get(), as_paged(one_head(200), 0, 3));
  property::check(heed_cache_reserve(cache.get(), 0, 64));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 2);
  property::check(heed_cache_reserve(cache.get(), 0, 65));
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 1);
}

TEST(CacheErrors, MemoryThatNoMachineHas) {
  const capi_test::Context context = capi_test::make_context();
  heed_cache_options options = one_head(2147483647);
  options.num_kv_heads = 64;
  options.head_size = 4096;
  size_t num_bytes = 0;
  ASSERT_EQ(heed_cache_size(&options, &num_bytes), HEED_OK) << heed_last_error();
  EXPECT_GE(num_bytes, size_t{2147483647} * 64 * 8192 * 4);
  heed_cache* cache = nullptr;
  EXPECT_TRUE(is_refused(heed_cache_create(context.get(), &options, &cache), {HEED_ERROR_OUT_OF_MEMORY, {}}));
  EXPECT_EQ(cache, nullptr);
}

TEST(CacheErrors, MoreSequencesOfLayersThanBytesCount) {
  heed_cache_options options = as_paged(one_head(16), 16, 1);
  options.num_layers = options.max_sequences = 2147483647;
  size_t num_bytes = 0;
  EXPECT_TRUE(is_refused(heed_cache_size(&options, &num_bytes), invalid({"options", "overflows"})));
}

}  // namespace
}  // namespace heed::cache_test
