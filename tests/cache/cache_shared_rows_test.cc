// SPDX-License-Identifier: Apache-2.0
// Sequences that share rows: chunks of 512 rows that several sequences of a batch have in common are read once for all
// of them, and no bit of a result shows it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"

namespace heed::cache_test {
namespace {

constexpr int64_t kCapacity = 1700;
constexpr int64_t kNumSequences = 6;
using SequenceRows = std::vector<std::vector<int64_t>>;  // the numbers of the rows of each sequence

std::vector<int64_t> first_rows(const std::vector<int64_t>& rows, int64_t count) {
  return {rows.begin(), rows.begin() + count};
}

// Forks of forks: 1 and 2 share 1100 rows with 0, 3 shares 600, 4 shares 1300 with 3, and 5 shares nothing. Then each
// has rows of its own.
SequenceRows fork_and_append(const CachedLayer& layer, heed_cache* cache) {
  SequenceRows rows(kNumSequences);
  const auto append = [&](int64_t sequence, int64_t count) {
    std::vector<int64_t>& all = rows[static_cast<size_t>(sequence)];
    const std::vector<int64_t> more = counting_from(10000 * sequence + static_cast<int64_t>(all.size()), count);
    fill_cache(layer, cache, {{sequence, more}});
    all.insert(all.end(), more.begin(), more.end());
  };
  const auto share = [&](int64_t from, int64_t length, int64_t to) {
    property::check(heed_cache_fork(cache, from, length, to));
    rows[static_cast<size_t>(to)] = first_rows(rows[static_cast<size_t>(from)], length);
  };
  append(0, 1100);
  share(0, 1100, 1);
  share(0, 1100, 2);
  share(0, 600, 3);
  append(3, 750);
  share(3, 1300, 4);
  append(5, 40);
  append(1, 7);
  append(4, 300);
  return rows;
}

std::vector<int64_t> new_rows(int64_t sequence) { return counting_from(10000 * sequence + 5000, 1 + sequence % 3); }

// The results of the new rows of a sequence in a cache that has no other.
RowBits alone(const CachedLayer& layer, const heed_cache_options& contiguous, const std::vector<int64_t>& rows,
              int64_t sequence) {
  const Cache cache = make_cache(layer, contiguous);
  fill_cache(layer, cache.get(), {{0, rows}});
  return row_bits(forward_one(layer, cache.get(), {0, new_rows(sequence)}));
}

TEST(Cache, SharedRowsAreAsIfEachSequenceHadItsOwn) {
  LayerSpec constants = grouped_heads(1, 2, 16, 16);
  constants.options.add_bias_kv = constants.options.add_zero_attn = 1;
  const std::vector<std::pair<std::string, LayerSpec>> specs = {
      {"constant keys", constants},
      {"rotary", sample_layers()[1].spec},
      {"norms and relative bias", sample_layers()[3].spec},
      {"a window", with_window(grouped_heads(2, 1, 16, 16), 900)},
  };
  for (size_t number = 0; number < specs.size(); ++number) {
    const CachedLayer one_thread(specs[number].second, 1);
    const CachedLayer three_threads(specs[number].second, 3);
    const heed_dtype dtype = kCacheDTypes[number % kCacheDTypes.size()];
    const heed_cache_options contiguous = one_thread.contiguous(kCapacity, dtype);
    std::vector<RowBits> expected;
    for (const int64_t page_size : {16, 64, 1024}) {
      const int64_t num_pages = kNumSequences * ((kCapacity + page_size - 1) / page_size);
      const heed_cache_options options = with_sequences(as_paged(contiguous, page_size, num_pages), kNumSequences);
      for (const CachedLayer* layer : {&one_thread, &three_threads}) {
        const Cache cache = make_cache(*layer, options);
        const SequenceRows rows = fork_and_append(*layer, cache.get());
        for (int64_t sequence = 0; expected.size() < kNumSequences; ++sequence)
          expected.push_back(alone(one_thread, contiguous, rows[static_cast<size_t>(sequence)], sequence));
        Form form;
        form.is_packed = page_size == 64;
        // Sequence 4 before 3, and 3 before 0: a sequence may come before the one whose rows it shares.
        const std::vector<int64_t> order = {4, 1, 5, 3, 0, 2};
        std::vector<Part> parts;
        for (const int64_t sequence : order) parts.push_back({sequence, new_rows(sequence)});
        const std::vector<property::Results> results = forward(*layer, cache.get(), parts, form);
        for (size_t b = 0; b < order.size(); ++b) {
          EXPECT_TRUE(same_rows(row_bits(results[b]), expected[static_cast<size_t>(order[b])]))
              << specs[number].first << ", cache of " << property::name_of(dtype) << ", pages of " << page_size
              << " rows, sequence " << order[b];
        }
      }
    }
  }
}

}  // namespace
}  // namespace heed::cache_test
