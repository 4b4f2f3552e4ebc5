// SPDX-License-Identifier: Apache-2.0
#include "cache/support/caches.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "property/support/host_tensor.h"

namespace heed::cache_test {
namespace {

constexpr size_t kFloatBytes = sizeof(float);

// Row `row` of (heads, count, size) in each head.
std::vector<uint8_t> row_in_each_head(const std::vector<uint8_t>& heads, int64_t num_heads, int64_t count, int64_t size,
                                      int64_t row) {
  std::vector<uint8_t> bytes;
  for (int64_t head = 0; head < num_heads; ++head) {
    const auto first = heads.begin() + static_cast<std::ptrdiff_t>(kFloatBytes) * (head * count + row) * size;
    bytes.insert(bytes.end(), first, first + static_cast<std::ptrdiff_t>(kFloatBytes) * size);
  }
  return bytes;
}

}  // namespace

Cache make_cache(heed_context* context, const heed_cache_options& options) {
  heed_cache* cache = nullptr;
  property::check(heed_cache_create(context, &options, &cache));
  return Cache(cache);
}

Cache make_cache(const CachedLayer& layer, const heed_cache_options& options) {
  return make_cache(layer.context(), options);
}

heed_cache_options with_sequences(heed_cache_options options, int64_t max_sequences) {
  options.max_sequences = max_sequences;
  return options;
}

heed_cache_options with_capacity(heed_cache_options options, int64_t capacity) {
  options.capacity = capacity;
  return options;
}

heed_cache_options as_ring(heed_cache_options options, int64_t num_sinks) {
  options.layout = HEED_CACHE_RING;
  options.num_sinks = num_sinks;
  options.unrotated_keys = 0;
  return options;
}

heed_cache_options as_paged(heed_cache_options options, int64_t page_size, int64_t num_pages) {
  options.layout = HEED_CACHE_PAGED;
  options.page_size = page_size;
  options.num_pages = num_pages;
  return options;
}

std::vector<heed_cache_options> each_layout(const heed_cache_options& contiguous, int64_t max_sequences) {
  const heed_cache_options all = with_sequences(contiguous, max_sequences);
  std::vector<heed_cache_options> layouts = {all};
  if (contiguous.unrotated_keys == 0) layouts.push_back(as_ring(all, 0));
  for (const int64_t page_size : {16, 64}) {
    const int64_t pages_of_sequence = (contiguous.capacity + page_size - 1) / page_size;
    layouts.push_back(as_paged(all, page_size, max_sequences * pages_of_sequence));
  }
  return layouts;
}

const char* name_of_layout(const heed_cache_options& options) {
  if (options.layout == HEED_CACHE_CONTIGUOUS) return "contiguous";
  return options.layout == HEED_CACHE_RING ? "ring" : "paged";
}

std::vector<uint8_t> saved(const heed_cache* cache, int64_t sequence) {
  size_t num_bytes = 0;
  property::check(heed_cache_save_memory(cache, sequence, nullptr, 0, &num_bytes));
  std::vector<uint8_t> bytes(num_bytes);
  size_t num_written = 0;
  property::check(heed_cache_save_memory(cache, sequence, bytes.data(), bytes.size(), &num_written));
  EXPECT_EQ(num_written, num_bytes);
  return bytes;
}

void load_saved(heed_cache* cache, int64_t sequence, const std::vector<uint8_t>& bytes) {
  property::check(heed_cache_load_memory(cache, sequence, bytes.data(), bytes.size()));
}

std::vector<KeptRow> kept_rows(const CachedLayer& layer, const heed_cache* cache, int64_t layer_number,
                               int64_t sequence, int64_t count) {
  const reference::AttentionSizes& sizes = layer.sizes();
  const auto read_of = [&](int64_t size) {
    const property::Dims dims = {sizes.num_kv_heads, count, size};
    return property::HostTensor(layer.context(), HEED_F32, dims, property::row_major_strides(dims));
  };
  const property::HostTensor keys = read_of(sizes.head_size);
  const property::HostTensor values = read_of(sizes.value_head_size);
  property::check(heed_cache_read(cache, layer_number, sequence, keys.handle(), values.handle()));
  const std::vector<uint8_t> key_bytes = keys.read_bytes();
  const std::vector<uint8_t> value_bytes = values.read_bytes();
  std::vector<KeptRow> rows;
  for (int64_t row = 0; row < count; ++row) {
    rows.push_back({row_in_each_head(key_bytes, sizes.num_kv_heads, count, sizes.head_size, row),
                    row_in_each_head(value_bytes, sizes.num_kv_heads, count, sizes.value_head_size, row)});
  }
  return rows;
}

testing::AssertionResult same_kept_rows(const CachedLayer& layer, const heed_cache* a, int64_t sequence_of_a,
                                        const heed_cache* b, int64_t sequence_of_b, int64_t count) {
  for (const auto& [cache, sequence] : {std::pair{a, sequence_of_a}, {b, sequence_of_b}}) {
    if (heed_cache_length(cache, sequence) != count) {
      return testing::AssertionFailure() << "a sequence has " << heed_cache_length(cache, sequence)
                                         << " rows, expected " << count;
    }
  }
  const std::vector<KeptRow> rows_of_a = kept_rows(layer, a, 0, sequence_of_a, count);
  const std::vector<KeptRow> rows_of_b = kept_rows(layer, b, 0, sequence_of_b, count);
  const auto differing = std::mismatch(rows_of_a.begin(), rows_of_a.end(), rows_of_b.begin()).first;
  if (differing == rows_of_a.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "row " << differing - rows_of_a.begin() << " differs";
}

CacheState state_of(const heed_cache* cache, int64_t num_sequences) {
  CacheState state;
  for (int64_t sequence = 0; sequence < num_sequences; ++sequence) {
    state.saved.push_back(saved(cache, sequence));
    state.lengths.push_back(heed_cache_length(cache, sequence));
    state.firsts.push_back(heed_cache_first(cache, sequence));
  }
  state.num_free_pages = heed_cache_free_pages(cache);
  return state;
}

testing::AssertionResult same_state(const CacheState& a, const CacheState& b) {
  if (a.lengths != b.lengths) {
    return testing::AssertionFailure() << "lengths " << testing::PrintToString(a.lengths) << " and "
                                       << testing::PrintToString(b.lengths);
  }
  if (a.firsts != b.firsts) {
    return testing::AssertionFailure() << "first rows " << testing::PrintToString(a.firsts) << " and "
                                       << testing::PrintToString(b.firsts);
  }
  if (a.num_free_pages != b.num_free_pages)
    return testing::AssertionFailure() << a.num_free_pages << " and " << b.num_free_pages << " free pages";
  for (size_t sequence = 0; sequence < a.saved.size(); ++sequence) {
    if (a.saved[sequence] != b.saved[sequence])
      return testing::AssertionFailure() << "sequence " << sequence << " holds other rows";
  }
  return testing::AssertionSuccess();
}

}  // namespace heed::cache_test
