// SPDX-License-Identifier: Apache-2.0
// Caches whose layers keep as many rows as each sees: random operations on such a cache and on one whose layers keep all
// rows. Both give the same bits, or the former refuses, naming a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/draft_tree.h"
#include "cache/support/step.h"
#include "capi/support/refusal.h"
#include "property/support/random.h"

namespace heed::cache_test {
namespace {

using capi_test::invalid;
using capi_test::is_refused;
using property::Random;

constexpr int64_t kNumSequences = 3;
constexpr int64_t kCapacity = 700;
constexpr int kNumOperations = 60;

// Of each layer; 0: it sees all rows.
const std::vector<int64_t> kWindows = {17, 0, 1, 100, 0, 17};

using Layers = std::vector<std::unique_ptr<CachedLayer>>;

Layers layers_of(const LayerSpec& spec, int32_t num_threads) {
  Layers layers;
  for (size_t i = 0; i < kWindows.size(); ++i) {
    LayerSpec of_layer = kWindows[i] > 0 ? with_window(spec, kWindows[i] - 1) : spec;
    of_layer.seed = 20 + i;
    layers.push_back(std::make_unique<CachedLayer>(of_layer, num_threads));
  }
  return layers;
}

heed_cache_options full_options(const CachedLayer& layer, heed_dtype dtype) {
  heed_cache_options options = with_sequences(layer.contiguous(kCapacity, dtype), kNumSequences);
  options.num_layers = static_cast<int64_t>(kWindows.size());
  return options;
}

heed_cache_options with_windows(heed_cache_options options, const std::vector<int64_t>& windows = kWindows) {
  options.layer_capacities = windows.data();
  return options;
}

class Game {
 public:
  Game(const Layers& layers, const heed_cache_options& mixed, const heed_cache_options& full, uint64_t seed)
      : layers_(layers),
        mixed_options_(mixed),
        mixed_(make_cache(*layers.front(), mixed)),
        full_(make_cache(*layers.front(), full)),
        random_(seed) {}

  void play() {
    for (int i = 0; i < kNumOperations && !testing::Test::HasFailure(); ++i) {
      switch (i < 4 ? 0 : random_.below(12)) {
        case 4: rewind(); break;
        case 5: fork_sequence(); break;
        case 6: reorder(); break;
        case 7: discard(); break;
        case 8: save_and_load(); break;
        case 9: append_a_tree(); break;
        default: append(); break;
      }
      SCOPED_TRACE(history_);
      check_rows();
    }
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) both(heed_cache_rewind, sequence, int64_t{0});
    EXPECT_EQ(heed_cache_free_pages(mixed_.get()),
              heed_cache_free_pages(make_cache(*layers_.front(), mixed_options_).get()));
  }

  int num_refused() const { return num_refused_; }
  int64_t most_dropped() const { return most_dropped_; }

 private:
  int64_t any_sequence() { return random_.below(kNumSequences); }
  int64_t length(int64_t sequence) const { return heed_cache_length(full_.get(), sequence); }
  void note(const std::string& text) { history_ += (history_.empty() ? "" : "; ") + text; }

  // The same call of both caches; false if the one with windows refused it, which leaves it as it was.
  template <typename Function, typename... Arguments>
  bool both(const Function& function, Arguments... arguments) {
    const CacheState before = state_of(mixed_.get(), kNumSequences);
    const heed_status status = function(mixed_.get(), arguments...);
    if (status != HEED_OK) {
      note("refused");
      ++num_refused_;
      EXPECT_EQ(status, HEED_ERROR_INVALID_ARGUMENT) << heed_last_error();
      EXPECT_NE(std::string(heed_last_error()).find("keeps"), std::string::npos) << heed_last_error();
      EXPECT_TRUE(same_state(state_of(mixed_.get(), kNumSequences), before));
      return false;
    }
    EXPECT_EQ(function(full_.get(), arguments...), HEED_OK) << heed_last_error();
    return true;
  }

  Part new_rows(int64_t sequence, int64_t count) {
    Part part{sequence, counting_from(next_row_, count)};
    next_row_ += count;
    return part;
  }

  int64_t next_position(int64_t sequence) { return positions_[static_cast<size_t>(sequence)]; }

  void append() {
    static const std::vector<int64_t> kCounts = {1, 1, 2, 3, 15, 16, 33, 64, 65, 130, 190};
    std::vector<Part> parts;
    bool is_full = false;
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      if (random_.chance(0.4)) continue;
      parts.push_back(new_rows(sequence, random_.one_of(kCounts)));
      is_full = is_full || length(sequence) + static_cast<int64_t>(parts.back().rows.size()) > kCapacity;
    }
    if (parts.empty() || is_full) return;
    if (random_.chance(0.2)) {
      for (Part& part : parts) {
        int64_t position = next_position(part.sequence);
        for (size_t i = 0; i < part.rows.size(); ++i) {
          position += random_.below(3);
          part.positions.push_back(position++);
        }
      }
    }
    Form form;
    form.is_packed = random_.chance(0.5);
    append_to_all_layers(parts, form);
  }

  // A path of the drafts is kept, or all are dropped.
  void append_a_tree() {
    const int64_t sequence = any_sequence();
    const int64_t count = random_.chance(0.5) ? 2 + random_.below(7) : 40 + random_.below(25);
    if (length(sequence) + count > kCapacity) return;
    const DraftTree tree(count, random_);
    Part part = new_rows(sequence, count);
    part.positions = tree.positions(next_position(sequence));
    Form form;
    form.mask = tree.mask();
    const int64_t from = length(sequence);
    const int64_t text_end = next_position(sequence);
    if (!append_to_all_layers({part}, form)) return;
    std::vector<int64_t> path;
    if (random_.chance(0.8)) path = tree.path_to(random_.below(count));
    note("accept " + testing::PrintToString(path));
    const auto num_kept = static_cast<int64_t>(path.size());
    path.push_back(-1);  // has an address although it may be empty
    ASSERT_TRUE(both(heed_cache_accept, sequence, from, path.data(), num_kept)) << heed_last_error();
    positions_[static_cast<size_t>(sequence)] = text_end + num_kept;
  }

  // False if it was refused: then nothing has been appended.
  bool append_to_all_layers(const std::vector<Part>& parts, Form form) {
    std::string text = form.is_packed ? "append packed" : "append";
    for (const Part& part : parts) {
      text += " " + std::to_string(part.rows.size()) + " to " + std::to_string(part.sequence);
      if (!part.positions.empty()) text += " at " + std::to_string(part.positions.front());
    }
    note(text);
    SCOPED_TRACE(history_);
    for (size_t i = 0; i < layers_.size(); ++i) {
      form.layer = static_cast<int64_t>(i);
      const std::vector<property::Results> of_full = forward(*layers_[i], full_.get(), parts, form);
      form.with_workspace = random_.chance(0.5);
      const std::vector<property::Results> of_mixed = forward(*layers_[i], mixed_.get(), parts, form);
      for (size_t part = 0; part < parts.size(); ++part)
        EXPECT_TRUE(same_rows(row_bits(of_mixed[part]), row_bits(of_full[part]))) << "layer " << i;
    }
    for (const Part& part : parts) {
      int64_t& next = positions_[static_cast<size_t>(part.sequence)];
      next = part.positions.empty() ? next + static_cast<int64_t>(part.rows.size()) : part.positions.back() + 1;
    }
    return true;
  }

  // Mostly near the end, as of drafts.
  int64_t any_length(int64_t sequence) {
    const int64_t most = length(sequence);
    return random_.chance(0.2) ? random_.below(most + 1) : std::max<int64_t>(0, most - random_.below(70));
  }

  // The position behind the row before `row`.
  int64_t position_behind(int64_t sequence, int64_t row) {
    if (row == 0) return 0;
    std::vector<uint8_t> bytes = saved(full_.get(), sequence);
    const Cache copy = make_cache(*layers_.front(), full_options(*layers_.front(), dtype()));
    load_saved(copy.get(), 0, bytes);
    property::check(heed_cache_rewind(copy.get(), 0, row));
    return position_at_end(saved(copy.get(), 0), row) + 1;
  }

  heed_dtype dtype() const { return static_cast<heed_dtype>(mixed_options_.dtype); }

  // The last position in a file of `num_rows` rows: its tensor layers.0.positions.
  static int64_t position_at_end(const std::vector<uint8_t>& file, int64_t num_rows) {
    uint64_t header_size = 0;
    std::memcpy(&header_size, file.data(), sizeof header_size);
    const std::string header(reinterpret_cast<const char*>(file.data()) + 8, header_size);
    const size_t name = header.find("\"layers.0.positions\"");
    const size_t offsets = header.find("\"data_offsets\":[", name) + 16;
    const size_t begin = std::stoul(header.substr(offsets));
    int32_t position = 0;
    std::memcpy(&position, file.data() + 8 + header_size + begin + static_cast<size_t>(num_rows - 1) * 4, 4);
    return position;
  }

  void rewind() {
    const int64_t sequence = any_sequence();
    const int64_t to = any_length(sequence);
    note("rewind " + std::to_string(sequence) + " to " + std::to_string(to));
    SCOPED_TRACE(history_);
    const int64_t next = position_behind(sequence, to);
    if (both(heed_cache_rewind, sequence, to)) positions_[static_cast<size_t>(sequence)] = next;
  }

  void fork_sequence() {
    const int64_t from = any_sequence();
    const int64_t to = any_sequence();
    const int64_t count = any_length(from);
    note("fork " + std::to_string(count) + " rows of " + std::to_string(from) + " to " + std::to_string(to));
    SCOPED_TRACE(history_);
    const int64_t next = position_behind(from, count);
    if (both(heed_cache_fork, from, count, to)) positions_[static_cast<size_t>(to)] = next;
  }

  void reorder() {
    const std::vector<int64_t> sources = {any_sequence(), any_sequence(), any_sequence()};
    note("reorder " + testing::PrintToString(sources));
    SCOPED_TRACE(history_);
    ASSERT_TRUE(both(heed_cache_reorder, sources.data(), kNumSequences));
    const std::vector<int64_t> before = positions_;
    for (size_t i = 0; i < sources.size(); ++i) positions_[i] = before[static_cast<size_t>(sources[i])];
  }

  void discard() {
    const int64_t sequence = any_sequence();
    const int64_t start = any_length(sequence);
    const int64_t count = random_.below(length(sequence) - start + 1);
    const bool renumbers = random_.chance(0.5);
    if (dtype() == HEED_I8 && renumbers) return;
    note((renumbers ? "discard and renumber " : "discard ") + std::to_string(count) + " rows from " +
         std::to_string(start) + " of " + std::to_string(sequence));
    SCOPED_TRACE(history_);
    if (!both(heed_cache_discard, sequence, start, count, renumbers ? 1 : 0)) return;
    positions_[static_cast<size_t>(sequence)] = position_behind(sequence, length(sequence));
  }

  void save_and_load() {
    const int64_t from = any_sequence();
    const int64_t to = any_sequence();
    note("save " + std::to_string(from) + " and load it in " + std::to_string(to));
    SCOPED_TRACE(history_);
    load_saved(mixed_.get(), to, saved(mixed_.get(), from));
    load_saved(full_.get(), to, saved(full_.get(), from));
    positions_[static_cast<size_t>(to)] = positions_[static_cast<size_t>(from)];
    append_to_all_layers({new_rows(to, length(to) < kCapacity ? 1 : 0)}, {});
  }

  // Each layer keeps the last rows that the other cache has, and not many more than it sees.
  void check_rows() {
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      const int64_t num_rows = length(sequence);
      ASSERT_EQ(heed_cache_length(mixed_.get(), sequence), num_rows);
      for (size_t i = 0; i < layers_.size(); ++i) {
        const auto layer = static_cast<int64_t>(i);
        const int64_t num_kept = heed_cache_num_rows(mixed_.get(), layer, sequence);
        if (kWindows[i] > 0) {
          ASSERT_LE(num_kept, kWindows[i] + 79);
        } else {
          ASSERT_EQ(num_kept, num_rows);
        }
        most_dropped_ = std::max(most_dropped_, num_rows - num_kept);
        const std::vector<KeptRow> all = kept_rows(*layers_[i], full_.get(), layer, sequence, num_rows);
        const std::vector<KeptRow> last = kept_rows(*layers_[i], mixed_.get(), layer, sequence, num_kept);
        ASSERT_TRUE(std::equal(last.begin(), last.end(), all.end() - num_kept)) << "layer " << i;
      }
    }
  }

  const Layers& layers_;
  heed_cache_options mixed_options_;
  Cache mixed_;
  Cache full_;
  Random random_;
  std::vector<int64_t> positions_ = std::vector<int64_t>(kNumSequences);  // of the next row
  int64_t next_row_ = 0;
  int64_t most_dropped_ = 0;
  int num_refused_ = 0;
  std::string history_;
};

struct Variant {
  const char* name;
  LayerSpec spec;
  heed_dtype dtype;
};

std::vector<Variant> variants() {
  LayerSpec rotated = grouped_heads(2, 1, 8, 5);
  rotated.rope = rope_of(HEED_ROPE_HALF);
  LayerSpec distances = grouped_heads(1, 3, 6, 8);
  distances.options.alibi = HEED_ALIBI_ADDED;
  distances.options.sinks = 1;
  return {{"rotated keys", rotated, HEED_F32}, {"F16", rotated, HEED_F16}, {"ALiBi and sinks", distances, HEED_I8}};
}

TEST(CacheWindows, ACacheOfWindowsHasTheBitsOfACacheOfAllRows) {
  int num_refused = 0;
  int64_t most_dropped = 0;
  for (const Variant& variant : variants()) {
    for (const int32_t num_threads : {1, 4, 16}) {
      const Layers layers = layers_of(variant.spec, num_threads);
      const heed_cache_options full = full_options(*layers.front(), variant.dtype);
      for (uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) {
        SCOPED_TRACE(std::string(variant.name) + ", " + std::to_string(num_threads) + " threads, seed " +
                     std::to_string(seed));
        const heed_cache_options mixed =
            seed % 2 == 0 ? as_paged(full, 16, kNumSequences * (kCapacity / 16 + 1)) : full;
        Game game(layers, with_windows(mixed), full, seed);
        game.play();
        num_refused += game.num_refused();
        most_dropped = std::max(most_dropped, game.most_dropped());
      }
    }
  }
  EXPECT_GT(num_refused, 0);
  EXPECT_GT(most_dropped, 200);
}

// ---- sizes ------------------------------------------------------------------------------------------------------------

size_t size_of_cache(const heed_cache_options& options) {
  size_t num_bytes = 0;
  property::check(heed_cache_size(&options, &num_bytes));
  return num_bytes;
}

// 26 layers with one key head of 256 elements, of which every sixth sees all rows and the others 512.
TEST(CacheWindows, Gemma3Of1BTakes148MegabytesFor32768Rows) {
  std::vector<int64_t> windows(26, 512);
  for (size_t i = 5; i < windows.size(); i += 6) windows[i] = 0;
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.num_layers = 26;
  options.num_kv_heads = 1;
  options.head_size = 256;
  options.capacity = 32768;
  options.dtype = HEED_F16;
  EXPECT_NEAR(static_cast<double>(size_of_cache(options)), 875.9e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(size_of_cache(with_windows(options, windows))), 147.8e6, 0.1e6);
}

TEST(CacheWindows, ALayerKeepsAllRowsWhereThatTakesLess) {
  const CachedLayer layer(grouped_heads(1, 1, 4, 4));
  // A ring for 17 rows has 32 + 64.
  heed_cache_options options = layer.contiguous(96);
  options.num_layers = 2;
  const std::vector<int64_t> windows = {17, 0};
  EXPECT_EQ(size_of_cache(with_windows(options, windows)), size_of_cache(options));
  options.capacity = 97;
  EXPECT_LT(size_of_cache(with_windows(options, windows)), size_of_cache(options));
  options.unrotated_keys = 1;
  EXPECT_EQ(size_of_cache(with_windows(options, windows)), size_of_cache(options));
  const heed_cache_options ring = as_ring(layer.contiguous(200), 0);
  EXPECT_EQ(size_of_cache(with_windows(ring, windows)), size_of_cache(ring));
}

// ---- what is refused ------------------------------------------------------------------------------------------------

heed_cache_options two_layers(const CachedLayer& layer, const std::vector<int64_t>& windows) {
  heed_cache_options options = layer.contiguous(400);
  options.num_layers = static_cast<int64_t>(windows.size());
  return with_windows(options, windows);
}

heed_status append_one(const CachedLayer& layer, heed_cache* cache, int32_t use) {
  Form form;
  form.use = use;
  form.names_sequences = false;
  return Step(layer, cache, {Part{0, {1}}}, form).run();
}

TEST(CacheWindows, AnAttentionThatSeesMoreThanItsLayerKeepsIsRefused) {
  const LayerSpec spec = grouped_heads(1, 1, 4, 4);
  const CachedLayer all(spec);
  const CachedLayer wider(with_window(spec, 20));
  LayerSpec both_sides = with_window(spec, 19);
  both_sides.options.causal = HEED_CAUSAL_NONE;
  both_sides.options.window_right = 3;
  const CachedLayer later(both_sides);
  const CachedLayer as_wide(with_window(spec, 19));
  const std::vector<int64_t> windows = {20, 0};
  const Cache cache = make_cache(all, two_layers(all, windows));
  EXPECT_TRUE(is_refused(append_one(all, cache.get(), HEED_CACHE_APPEND),
                         invalid({"inputs->cache->cache", "20 rows", "layer 0", "all rows"})));
  EXPECT_TRUE(is_refused(append_one(wider, cache.get(), HEED_CACHE_APPEND),
                         invalid({"inputs->cache->cache", "20 rows", "layer 0", "21 rows"})));
  EXPECT_TRUE(is_refused(append_one(later, cache.get(), HEED_CACHE_APPEND), invalid({"inputs->cache->cache"})));
  EXPECT_EQ(append_one(as_wide, cache.get(), HEED_CACHE_APPEND), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(append_one(as_wide, cache.get(), HEED_CACHE_READ),
                         invalid({"inputs->cache->use", "HEED_CACHE_READ", "layer_capacities"})));
}

TEST(CacheWindows, RowsOfAWindowAreNumbersThatALayerCanHave) {
  const CachedLayer layer(grouped_heads(1, 1, 4, 4));
  for (const int64_t wrong : {int64_t{-1}, int64_t{1} << 31}) {
    const std::vector<int64_t> windows = {0, wrong};
    const heed_cache_options options = two_layers(layer, windows);
    size_t num_bytes = 0;
    EXPECT_TRUE(is_refused(heed_cache_size(&options, &num_bytes),
                           invalid({"options->layer_capacities[1]", std::to_string(wrong), "0 to 2147483647"})));
  }
}

// 300 rows in the layer with a window.
struct LongSequence {
  LayerSpec spec = with_window(grouped_heads(1, 1, 4, 4), 19);
  CachedLayer layer = CachedLayer(spec);
  std::vector<int64_t> windows = {20};
  Cache cache = make_cache(layer, two_layers(layer, windows));
  LongSequence() { append_in_pieces(layer, cache.get(), 0, counting_from(0, 300), {300}); }
};

TEST(CacheWindows, RewindingBehindTheWindowIsRefusedByTheRow) {
  const LongSequence of;
  // A ring of 32 + 64 rows.
  EXPECT_EQ(heed_cache_first(of.cache.get(), 0), 204);
  EXPECT_TRUE(is_refused(heed_cache_rewind(of.cache.get(), 0, 222), invalid({"length is 222", "204", "at least 223"})));
  EXPECT_TRUE(
      is_refused(heed_cache_fork(of.cache.get(), 0, 222, 0), invalid({"length is 222", "204", "at least 223"})));
  EXPECT_EQ(heed_cache_rewind(of.cache.get(), 0, 223), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_cache_rewind(of.cache.get(), 0, 0), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_cache_first(of.cache.get(), 0), 0);
}

TEST(CacheWindows, ARowWhoseWindowReachesDroppedRowsIsRefused) {
  const LongSequence of;
  // Row 204 is dropped for the new one, and a window from 223 on reaches it.
  const Step refused(of.layer, of.cache.get(), {Part{0, {300}, {223}}});
  EXPECT_TRUE(is_refused(refused.run(), invalid({"inputs->sequences->positions", "223", "at least 224"})));
  const Step taken(of.layer, of.cache.get(), {Part{0, {300}, {224}}});
  EXPECT_EQ(taken.run(), HEED_OK) << heed_last_error();
}

TEST(CacheWindows, DiscardingRowsThatTheWindowThenLacksIsRefused) {
  const LongSequence of;
  EXPECT_TRUE(is_refused(heed_cache_discard(of.cache.get(), 0, 100, 10, 0), invalid({"first is 100", "204"})));
  EXPECT_TRUE(is_refused(heed_cache_discard(of.cache.get(), 0, 210, 78, 1), invalid({"num_rows is 78", "row 204"})));
  EXPECT_EQ(heed_cache_discard(of.cache.get(), 0, 210, 77, 1), HEED_OK) << heed_last_error();
}

TEST(CacheWindows, AFileIsLoadedByALayerThatKeepsNoMore) {
  const LongSequence of;
  const std::vector<uint8_t> bytes = saved(of.cache.get(), 0);
  const auto load_into = [&](const std::vector<int64_t>& windows) {
    const Cache other = make_cache(of.layer, two_layers(of.layer, windows));
    return heed_cache_load_memory(other.get(), 0, bytes.data(), bytes.size());
  };
  EXPECT_EQ(load_into({20}), HEED_OK) << heed_last_error();
  EXPECT_EQ(load_into({7}), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(load_into({21}), invalid({"layer 0", "layer_capacities[0]", "is 21", "1 to 20"})));
  EXPECT_TRUE(is_refused(load_into({0}), invalid({"layer 0", "layer_capacities[0]", "is 0", "1 to 20"})));
  // A file that lacks no row is one of any cache.
  property::check(heed_cache_rewind(of.cache.get(), 0, 0));
  append_in_pieces(of.layer, of.cache.get(), 0, counting_from(0, 90), {90});
  const Cache full = make_cache(of.layer, of.layer.contiguous(400));
  load_saved(full.get(), 0, saved(of.cache.get(), 0));
  EXPECT_EQ(saved(full.get(), 0), saved(of.cache.get(), 0));
}

}  // namespace
}  // namespace heed::cache_test
