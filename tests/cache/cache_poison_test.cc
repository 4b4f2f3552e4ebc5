// SPDX-License-Identifier: Apache-2.0
// Rows that are not finite, where nothing may read them: beyond the length of a sequence, in pages that were given back,
// in padding, and in rows that others do not see [rule 8]. The results have the same bits as without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"

namespace heed::cache_test {
namespace {

std::vector<int64_t> repeated(int64_t row, int64_t count) {
  return std::vector<int64_t>(static_cast<size_t>(count), row);
}

std::vector<int64_t> joined(std::vector<int64_t> rows, const std::vector<int64_t>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

bool is_nan(const property::Results& results, int64_t row) {
  const property::Array& output = results.output->contents;
  const int64_t size = output.dims[1];
  const auto first = output.values.begin() + row * size;
  return std::all_of(first, first + size, [](double value) { return std::isnan(value); });
}

// Rows that show whether a sequence was poisoned: in one call, and one that only reads.
RowBits next_rows(const CachedLayer& layer, heed_cache* cache, int64_t sequence, int64_t length) {
  RowBits bits = row_bits(forward_one(layer, cache, {sequence, counting_from(length, 7)}));
  const RowBits more = row_bits(forward_one(layer, cache, {sequence, counting_from(length + 7, 1)}));
  bits.insert(bits.end(), more.begin(), more.end());
  return bits;
}

RowBits expected_next_rows(const CachedLayer& layer, const heed_cache_options& contiguous, int64_t length) {
  return last_rows(row_bits(replay(layer, contiguous, counting_from(0, length + 8))), 8);
}

// ---- memory that holds no rows --------------------------------------------------------------------------------------

TEST(CachePoison, RowsBeyondTheLengthAreNotRead) {
  for_each_cache(140, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const int64_t poison : {kNaNRow, kInfiniteRow}) {
      for (const int64_t length : {1, 15, 16, 20, 63, 64}) {
        const RowBits expected = expected_next_rows(layer, contiguous, length);
        for (const heed_cache_options& options : each_layout(contiguous, 1)) {
          const Cache cache = make_cache(layer, options);
          forward_one(layer, cache.get(), {0, counting_from(0, length)});
          forward_one(layer, cache.get(), {0, repeated(poison, 70)});
          property::check(heed_cache_rewind(cache.get(), 0, length));
          EXPECT_TRUE(same_rows(next_rows(layer, cache.get(), 0, length), expected))
              << name_of_layout(options) << ", " << length << " rows";
        }
      }
    }
  });
}

// The poison is in memory that the sequence itself, or another one, had before.
TEST(CachePoison, MemoryThatWasGivenBackIsClean) {
  for_each_cache(140, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 2)) {
      const Cache cache = make_cache(layer, options);
      for (const int64_t sequence : {0, 1}) forward_one(layer, cache.get(), {sequence, repeated(kNaNRow, 140)});
      for (const int64_t sequence : {1, 0}) property::check(heed_cache_rewind(cache.get(), sequence, 0));
      for (const int64_t sequence : {0, 1}) {
        const int64_t length = sequence == 0 ? 5 : 70;
        forward_one(layer, cache.get(), {sequence, counting_from(0, length)});
        EXPECT_TRUE(
            same_rows(next_rows(layer, cache.get(), sequence, length), expected_next_rows(layer, contiguous, length)))
            << name_of_layout(options) << ", sequence " << sequence;
      }
    }
  });
}

// The poison is appended to a fork, in a page that both sequences have.
TEST(CachePoison, AForkDoesNotWriteToItsOriginal) {
  for_each_cache(140, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const int64_t length : {1, 17, 40, 64, 70}) {
      const RowBits expected = expected_next_rows(layer, contiguous, length);
      for (const heed_cache_options& options : each_layout(contiguous, 2)) {
        const Cache cache = make_cache(layer, options);
        forward_one(layer, cache.get(), {0, counting_from(0, length)});
        property::check(heed_cache_fork(cache.get(), 0, length, 1));
        forward_one(layer, cache.get(), {1, repeated(kNaNRow, 30)});
        EXPECT_TRUE(same_rows(next_rows(layer, cache.get(), 0, length), expected))
            << name_of_layout(options) << ", " << length << " rows";
        // The fork goes on from where it began.
        property::check(heed_cache_rewind(cache.get(), 1, length));
        EXPECT_TRUE(same_rows(next_rows(layer, cache.get(), 1, length), expected))
            << name_of_layout(options) << ", " << length << " rows of the fork";
      }
    }
  });
}

TEST(CachePoison, DiscardedAndUnacceptedRowsAreGone) {
  for_each_cache(140, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const RowBits expected = expected_next_rows(layer, contiguous, 30);
    const std::vector<int64_t> kept = {2, 3, 5};
    for (const heed_cache_options& options : each_layout(contiguous, 1)) {
      // Rows 20 to 29 come after rows that are not finite, at the positions that they have in the end, which do not fall.
      const std::vector<int64_t> rows =
          joined(joined(counting_from(0, 20), repeated(kNaNRow, 25)), counting_from(20, 10));
      const std::vector<int64_t> positions =
          joined(joined(counting_from(0, 20), repeated(20, 25)), counting_from(20, 10));
      const Cache cache = make_cache(layer, options);
      forward_one(layer, cache.get(), {0, rows, positions});
      property::check(heed_cache_discard(cache.get(), 0, 20, 25, 0));
      EXPECT_TRUE(same_rows(next_rows(layer, cache.get(), 0, 30), expected))
          << name_of_layout(options) << ", discarded";

      const Cache drafts = make_cache(layer, options);
      forward_one(layer, drafts.get(), {0, counting_from(0, 27)});
      forward_one(layer, drafts.get(),
                  {0, {kNaNRow, kNaNRow, 27, 28, kNaNRow, 29, kNaNRow}, {27, 27, 27, 28, 28, 29, 29}});
      property::check(heed_cache_accept(drafts.get(), 0, 27, kept.data(), 3));
      EXPECT_TRUE(same_rows(next_rows(layer, drafts.get(), 0, 30), expected))
          << name_of_layout(options) << ", accepted";
    }
  });
}

TEST(CachePoison, DroppedRowsOfARingAreGone) {
  for_each_cache(20, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const Cache clean = make_cache(layer, as_ring(contiguous, 0));
    const Cache poisoned = make_cache(layer, as_ring(contiguous, 0));
    forward_one(layer, clean.get(), {0, counting_from(0, 50)});
    forward_one(layer, poisoned.get(), {0, joined(counting_from(0, 29), joined({kNaNRow}, counting_from(30, 20)))});
    // The query after row 49 sees rows 31 to 50.
    for (int64_t row = 50; row < 200; row += 25) {
      EXPECT_TRUE(same_rows(row_bits(forward_one(layer, poisoned.get(), {0, counting_from(row, 25)})),
                            row_bits(forward_one(layer, clean.get(), {0, counting_from(row, 25)}))))
          << "from row " << row;
    }
  });
}

// ---- padding and neighbours -----------------------------------------------------------------------------------------

TEST(CachePoison, PaddingIsNotRead) {
  for_each_cache(140, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 3)) {
      std::vector<std::vector<RowBits>> results;
      std::vector<CacheState> states;
      for (const double padding : {0.0, kNaN, kInfinity}) {
        const Cache cache = make_cache(layer, options);
        Form form;
        form.padding = padding;
        form.padded_rows = 70;
        results.emplace_back();
        for (const std::vector<Part>& parts :
             {std::vector<Part>{{0, counting_from(0, 17)}, {1, {}}, {2, counting_from(0, 64)}},
              std::vector<Part>{{1, counting_from(500, 3)}, {0, counting_from(17, 1)}}}) {
          for (const property::Results& of_part : forward(layer, cache.get(), parts, form))
            results.back().push_back(row_bits(of_part));
        }
        states.push_back(state_of(cache.get(), 3));
      }
      for (size_t i = 1; i < results.size(); ++i) {
        EXPECT_TRUE(same_state(states[i], states[0])) << name_of_layout(options);
        for (size_t part = 0; part < results[i].size(); ++part)
          EXPECT_TRUE(same_rows(results[i][part], results[0][part])) << name_of_layout(options) << ", part " << part;
      }
    }
  });
}

TEST(CachePoison, ASequenceThatIsNotFiniteLeavesItsNeighboursAlone) {
  for_each_cache(140, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const RowBits expected = row_bits(replay(layer, contiguous, counting_from(0, 50)));
    for (const heed_cache_options& options : each_layout(contiguous, 3)) {
      for (const bool is_packed : {false, true}) {
        const Cache cache = make_cache(layer, options);
        Form form;
        form.is_packed = is_packed;
        RowBits bits;
        for (const std::vector<int64_t>& rows : {counting_from(0, 40), counting_from(40, 10)}) {
          const std::vector<property::Results> results = forward(
              layer, cache.get(), {{0, repeated(kNaNRow, 33)}, {1, rows}, {2, repeated(kInfiniteRow, 1)}}, form);
          const RowBits more = row_bits(results[1]);
          bits.insert(bits.end(), more.begin(), more.end());
        }
        EXPECT_TRUE(same_rows(bits, expected)) << name_of_layout(options) << (is_packed ? ", packed" : ", padded");
      }
    }
  });
}

// ---- rows that others do not see ------------------------------------------------------------------------------------

// Row 9 of 60 is not finite. Rows before it do not see it, later ones do, unless a mask hides it.
constexpr int64_t kBadRow = 9;
constexpr int64_t kNumRows = 60;

std::vector<int64_t> rows_with(int64_t bad) {
  std::vector<int64_t> rows = counting_from(0, kNumRows);
  rows[static_cast<size_t>(kBadRow)] = bad;
  return rows;
}

// Of rows 40 to 59 the even ones do not see the bad row.
property::Input mask_of_later_rows() {
  property::Array mask = property::filled({20, kNumRows}, 1.0);
  for (size_t q = 0; q < 20; q += 2)
    mask.values[q * static_cast<size_t>(kNumRows) + static_cast<size_t>(kBadRow)] = 0.0;
  return property::make_input(mask, HEED_BOOL);
}

TEST(CachePoison, AMaskHidesWhatIsNotFinite) {
  Form masked;
  masked.mask = mask_of_later_rows();
  masked.with_weights = true;
  for_each_cache(kNumRows, [&](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 1)) {
      const Cache clean = make_cache(layer, options);
      forward_one(layer, clean.get(), {0, counting_from(0, 40)});
      const property::Results expected = forward_one(layer, clean.get(), {0, counting_from(40, 20)}, masked);
      for (const int64_t bad : {kNaNRow, kInfiniteRow}) {
        const Cache cache = make_cache(layer, options);
        const std::vector<int64_t> rows = rows_with(bad);
        forward_one(layer, cache.get(), {0, std::vector<int64_t>(rows.begin(), rows.begin() + 40)});
        const property::Results results = forward_one(layer, cache.get(), {0, counting_from(40, 20)}, masked);
        const RowBits bits = row_bits(results);
        const RowBits expected_bits = row_bits(expected);
        const property::Array& weights = results.weights->contents;
        for (int64_t q = 0; q < 20; ++q) {
          const auto index = static_cast<size_t>(q);
          if (q % 2 == 0) {
            EXPECT_EQ(bits[index], expected_bits[index]) << name_of_layout(options) << ", row " << q;
            EXPECT_EQ(weights.values[static_cast<size_t>(q * weights.dims[2] + kBadRow)], 0.0);
          } else if (bad == kNaNRow) {
            EXPECT_TRUE(is_nan(results, q)) << "row " << q << " should see it";
          }
        }
      }
    }
  });
}

// A sink that is NaN makes rows NaN that see a key. The even rows see none: their output is that of rows without a sink, and
// log_sum_exp is the sink.
TEST(CachePoison, EmptyRowsWithASinkThatIsNaNAreEmpty) {
  for_each_cache(kNumRows, [&](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const heed_multi_head_attention_options& of_layer = layer.spec().options;
    // Constant keys are visible to every row.
    if (of_layer.sinks != 0 || of_layer.add_bias_kv != 0 || of_layer.add_zero_attn != 0) return;
    Form without;
    property::Array mask = property::filled({20, kNumRows}, 1.0);
    for (size_t q = 0; q < 20; q += 2)
      std::fill_n(mask.values.begin() + static_cast<std::ptrdiff_t>(q * kNumRows), kNumRows, 0.0);
    without.mask = property::make_input(mask, HEED_BOOL);
    without.with_weights = true;
    Form with = without;
    with.sinks = property::make_input(property::filled({of_layer.num_heads}, kNaN));
    for (const heed_cache_options& options : each_layout(contiguous, 1)) {
      for (const int64_t bad : {kBadRow, kNaNRow, kInfiniteRow}) {
        const std::vector<int64_t> rows = rows_with(bad);
        const auto results_of = [&](const Form& form) {
          const Cache cache = make_cache(layer, options);
          forward_one(layer, cache.get(), {0, std::vector<int64_t>(rows.begin(), rows.begin() + 40)});
          return forward_one(layer, cache.get(), {0, counting_from(40, 20)}, form);
        };
        const property::Results expected = results_of(without);
        const property::Results results = results_of(with);
        const auto size = static_cast<size_t>(results.output->contents.dims.back());
        for (size_t q = 0; q < 20; ++q) {
          for (size_t d = 0; d < size; ++d) {
            const double element = results.output->contents.values[q * size + d];
            if (q % 2 == 0) {
              EXPECT_EQ(element, expected.output->contents.values[q * size + d]) << name_of_layout(options);
            } else {
              EXPECT_TRUE(std::isnan(element)) << name_of_layout(options) << ", row " << q;
            }
          }
        }
        for (const double number : results.log_sum_exp->contents.values) EXPECT_TRUE(std::isnan(number));
        for (size_t i = 0; i < results.weights->contents.values.size(); ++i) {
          const size_t q = i / kNumRows % 20;
          if (q % 2 == 0) {
            EXPECT_EQ(results.weights->contents.values[i], 0.0);
          }
        }
      }
    }
  });
}

TEST(CachePoison, ACausalMaskHidesWhatIsNotFinite) {
  for_each_cache(kNumRows, [](const CachedLayer& layer, const heed_cache_options& contiguous) {
    const RowBits expected = row_bits(replay(layer, contiguous, counting_from(0, kNumRows)));
    for (const heed_cache_options& options : each_layout(contiguous, 1)) {
      for (const int64_t bad : {kNaNRow, kInfiniteRow}) {
        const Cache cache = make_cache(layer, options);
        const property::Results results = forward_one(layer, cache.get(), {0, rows_with(bad)});
        const RowBits bits = row_bits(results);
        for (int64_t row = 0; row < kBadRow; ++row)
          EXPECT_EQ(bits[static_cast<size_t>(row)], expected[static_cast<size_t>(row)]) << name_of_layout(options);
        for (int64_t row = kBadRow; bad == kNaNRow && row < kNumRows; ++row)
          EXPECT_TRUE(is_nan(results, row)) << "row " << row << " should see it";
      }
    }
  });
}

// In a tree of drafts, one branch is not finite.
TEST(CachePoison, ATreeHidesABranchThatIsNotFinite) {
  Form tree;
  // Rows 0 and 1 are siblings; 2 and 3 follow 0, and 4 follows 1.
  tree.mask = property::make_input({{5, 5}, {1, 0, 0, 0, 0,  //
                                             0, 1, 0, 0, 0,  //
                                             1, 0, 1, 0, 0,  //
                                             1, 0, 1, 1, 0,  //
                                             0, 1, 0, 0, 1}},
                                   HEED_BOOL);
  const std::vector<int64_t> positions = {20, 20, 21, 22, 21};
  for_each_cache(60, [&](const CachedLayer& layer, const heed_cache_options& contiguous) {
    for (const heed_cache_options& options : each_layout(contiguous, 1)) {
      const auto results_with = [&](int64_t second, int64_t fifth) {
        const Cache cache = make_cache(layer, options);
        forward_one(layer, cache.get(), {0, counting_from(0, 20)});
        return forward_one(layer, cache.get(), {0, {20, second, 22, 23, fifth}, positions}, tree);
      };
      const RowBits expected = row_bits(results_with(21, 24));
      const property::Results results = results_with(kNaNRow, kNaNRow);
      const RowBits bits = row_bits(results);
      for (const size_t row : {0, 2, 3})
        EXPECT_EQ(bits[row], expected[row]) << name_of_layout(options) << ", row " << row;
      EXPECT_TRUE(is_nan(results, 1));
      EXPECT_TRUE(is_nan(results, 4));
    }
  });
}

TEST(CachePoison, AWindowHidesWhatIsNotFinite) {
  for (const NamedLayer& named : sample_layers()) {
    const CachedLayer layer(with_window(named.spec, 10));
    for (const heed_dtype dtype : kCacheDTypes) {
      SCOPED_TRACE(std::string(named.name) + ", cache of " + property::name_of(dtype));
      const heed_cache_options contiguous = layer.contiguous(kNumRows, dtype);
      const RowBits expected = row_bits(replay(layer, contiguous, counting_from(0, kNumRows)));
      for (const heed_cache_options& options : each_layout(contiguous, 1)) {
        for (const bool is_cut : {false, true}) {
          const Cache cache = make_cache(layer, options);
          const std::vector<int64_t> sizes =
              is_cut ? std::vector<int64_t>{12, 30, 1, 1, 16} : std::vector<int64_t>{kNumRows};
          const RowBits bits = append_in_pieces(layer, cache.get(), 0, rows_with(kNaNRow), sizes);
          for (int64_t row = 0; row < kNumRows; ++row) {
            if (row >= kBadRow && row <= kBadRow + 10) continue;
            EXPECT_EQ(bits[static_cast<size_t>(row)], expected[static_cast<size_t>(row)])
                << name_of_layout(options) << ", row " << row;
          }
        }
      }
    }
  }
}

// Each row of a head has a scale of its own: neither an outlier nor zeros beside it matter.
TEST(CachePoison, AnOutlierInI8LeavesOtherRowsAlone) {
  const CachedLayer layer(sample_layers()[1].spec);
  const heed_cache_options options = as_paged(layer.contiguous(80, HEED_I8), 16, 5);
  const Cache clean = make_cache(layer, options);
  const Cache cache = make_cache(layer, options);
  forward_one(layer, clean.get(), {0, counting_from(0, 40)});
  forward_one(layer, cache.get(), {0, counting_from(0, 40)});
  fill_cache(layer, cache.get(), {{0, {kInfiniteRow}}});
  fill_cache(layer, clean.get(), {{0, {40}}});
  const std::vector<KeptRow> expected = kept_rows(layer, clean.get(), 0, 0, 41);
  const std::vector<KeptRow> actual = kept_rows(layer, cache.get(), 0, 0, 41);
  for (size_t row = 0; row < 40; ++row) EXPECT_TRUE(actual[row] == expected[row]) << "row " << row;
}

}  // namespace
}  // namespace heed::cache_test
