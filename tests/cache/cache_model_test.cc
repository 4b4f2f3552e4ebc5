// SPDX-License-Identifier: Apache-2.0
// Random operations on a cache of two layers and three sequences, compared with plain lists of rows: after each
// operation the lengths, the pages, and the bits of every row that is kept; after each append also the results, with the
// bits of a new contiguous cache that is given all rows of the list at once.
//
// Keys that were renumbered are rounded once more. Sequences with such keys are compared with the f64 reference instead,
// within its bound (cache/support/cache_reference.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/cache_reference.h"
#include "cache/support/caches.h"
#include "cache/support/draft_tree.h"
#include "cache/support/page_count.h"
#include "cache/support/step.h"
#include "property/support/random.h"

namespace heed::cache_test {
namespace {

using property::Random;

constexpr int64_t kNumLayers = 2;
constexpr int64_t kNumSequences = 3;
constexpr int64_t kCapacity = 150;
constexpr int kNumOperations = 24;
// Rings have no end, but rows cost time.
constexpr int64_t kLongRing = 200;
// More rows than a ring may keep beyond those that a query sees.
constexpr int64_t kMostRowsBesides = 79;

using Sequence = std::vector<ReferenceRow>;
using Layers = std::vector<std::unique_ptr<CachedLayer>>;

std::vector<int64_t> numbers_of(const Sequence& rows) {
  std::vector<int64_t> numbers;
  for (const ReferenceRow& row : rows) numbers.push_back(row.number);
  return numbers;
}

std::vector<int64_t> positions_of(const Sequence& rows) {
  std::vector<int64_t> positions;
  for (const ReferenceRow& row : rows) positions.push_back(row.current_position());
  return positions;
}

// What both layers of a cache are, but for their parameters.
struct Variant {
  LayerSpec spec;
  bool unrotated_keys = false;
};

// Heads in groups of 1, 3 and 4, with both pairings of rotary positions, and without.
std::vector<Variant> variants() {
  LayerSpec half = grouped_heads(2, 1, 8, 5);
  half.rope = rope_of(HEED_ROPE_HALF);

  LayerSpec interleaved = grouped_heads(1, 3, 6, 8);
  interleaved.rope = rope_of(HEED_ROPE_INTERLEAVED);

  LayerSpec distances = grouped_heads(2, 4, 4, 4);
  distances.options.alibi = HEED_ALIBI_ADDED;
  distances.options.sinks = 1;

  LayerSpec slice = grouped_heads(1, 4, 10, 3);
  slice.rope = rope_of(HEED_ROPE_INTERLEAVED);
  slice.rope->rotary_offset = 2;
  slice.rope->rotary_size = 6;
  slice.options.qk_norm_epsilon = 1e-5F;
  slice.options.soft_cap = 5.0F;
  slice.dtype = HEED_BF16;
  return {{half, false}, {interleaved, true}, {distances, false}, {slice, false}, {half, true}, {slice, true}};
}

Layers layers_of(LayerSpec spec) {
  Layers layers;
  for (int64_t number = 0; number < kNumLayers; ++number) {
    spec.seed = static_cast<uint64_t>(10 + number);
    layers.push_back(std::make_unique<CachedLayer>(spec));
  }
  return layers;
}

class Game {
 public:
  Game(const Layers& layers, const heed_cache_options& options, uint64_t seed)
      : layers_(layers),
        options_(options),
        cache_(make_cache(*layers.front(), options)),
        random_(seed),
        sequences_(static_cast<size_t>(kNumSequences)),
        pages_(kNumSequences, is_paged() ? options.page_size : kOnePage,
               is_paged() ? options.num_pages : kNumSequences),
        expected_(layers.size()) {}

  void play() {
    for (int i = 0; i < kNumOperations && !testing::Test::HasFailure(); ++i) {
      // The first operations fill the sequences.
      const int64_t operation = i < 3 ? 0 : random_.below(14);
      switch (operation) {
        case 4: rewind(); break;
        case 5: fork_sequence(); break;
        case 6: reorder(); break;
        case 7:
        case 8: discard(); break;
        case 9: save_and_load(); break;
        case 10: reserve(); break;
        case 11: accept(); break;
        case 12:
        case 13: append_a_tree(); break;
        default: append(); break;
      }
      SCOPED_TRACE(history_);
      check_everything();
    }
    finish();
  }

 private:
  static constexpr int64_t kOnePage = int64_t{1} << 40;

  bool is_paged() const { return options_.layout == HEED_CACHE_PAGED; }
  bool is_ring() const { return options_.layout == HEED_CACHE_RING; }
  bool is_rotated() const { return layers_.front()->spec().rope && options_.unrotated_keys == 0; }
  Sequence& rows(int64_t sequence) { return sequences_[static_cast<size_t>(sequence)]; }
  int64_t length(int64_t sequence) { return static_cast<int64_t>(rows(sequence).size()); }
  int64_t first(int64_t sequence) const { return heed_cache_first(cache_.get(), sequence); }
  int64_t any_sequence() { return random_.below(kNumSequences); }

  void note(const std::string& text) { history_ += (history_.empty() ? "" : "; ") + text; }

  // Whether the key of no row was rounded more than once.
  bool is_exact(const Sequence& all) const {
    return !is_rotated() ||
           std::all_of(all.begin(), all.end(), [](const ReferenceRow& row) { return row.turns.empty(); });
  }

  // ---- appending -----------------------------------------------------------------------------------------------------

  // Which of the rows of a call see each other; null: all that the layer lets.
  using SeesInCall = std::function<bool(int64_t row, int64_t other)>;

  int64_t next_position(int64_t sequence) {
    return rows(sequence).empty() ? 0 : rows(sequence).back().current_position() + 1;
  }

  Part new_rows(int64_t sequence, int64_t count) {
    Part part{sequence, counting_from(next_row_, count)};
    next_row_ += count;
    return part;
  }

  void append() {
    static const std::vector<int64_t> kCounts = {0, 1, 1, 1, 2, 3, 15, 16, 17, 33, 64};
    std::vector<int64_t> order = counting_from(0, kNumSequences);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]);
    order.resize(static_cast<size_t>(1 + random_.below(kNumSequences)));
    std::vector<Part> parts;
    for (const int64_t sequence : order) {
      const int64_t count = random_.one_of(kCounts);
      parts.push_back(new_rows(sequence, is_ring() && length(sequence) > kLongRing ? 1 : count));
    }
    if (random_.chance(0.2)) {
      for (Part& part : parts) give_positions_with_gaps(part);
    }
    Form form;
    form.is_packed = random_.chance(0.5);
    form.padded_rows = random_.below(20);
    append_to_all_layers(parts, form, nullptr);
  }

  void give_positions_with_gaps(Part& part) {
    int64_t position = next_position(part.sequence);
    for (size_t i = 0; i < part.rows.size(); ++i) {
      position += random_.below(3);
      part.positions.push_back(position++);
    }
  }

  void append_a_tree() {
    const int64_t sequence = any_sequence();
    const int64_t count = 2 + random_.below(7);
    const DraftTree tree(count, random_);
    Part part = new_rows(sequence, count);
    part.positions = tree.positions(next_position(sequence));
    const SeesInCall sees = [&tree](int64_t row, int64_t other) { return tree.sees(row, other); };
    Form form;
    form.mask = tree.mask();
    const int64_t from = length(sequence);
    if (!append_to_all_layers({part}, form, sees) || random_.chance(0.3)) return;
    accept_these(sequence, from, tree.path_to(random_.below(count)));
  }

  std::string text_of(const std::vector<Part>& parts, const Form& form) const {
    std::string text = form.is_packed ? "append packed" : "append";
    for (const Part& part : parts) {
      text += " " + std::to_string(part.rows.size()) + " to " + std::to_string(part.sequence);
      if (!part.positions.empty()) text += " at " + testing::PrintToString(part.positions);
    }
    return text;
  }

  // False if the call was refused for lack of room.
  bool append_to_all_layers(const std::vector<Part>& parts, Form form, const SeesInCall& sees) {
    form.index_dtype = random_.chance(0.5) ? HEED_I32 : HEED_I64;
    note(text_of(parts, form));
    SCOPED_TRACE(history_);
    PageCount after = pages_;
    int64_t most_needed = 0;
    int64_t longest = 0;
    int64_t most_rows = form.padded_rows;
    bool is_too_long = false;
    for (const Part& part : parts) {
      const auto count = static_cast<int64_t>(part.rows.size());
      const int64_t before = length(part.sequence);
      const int64_t end = before + count;
      if (count > 0)
        most_needed += pages_.num_missing(part.sequence, end) + pages_.num_shared(part.sequence, before, end);
      after.write(part.sequence, before, end);
      is_too_long = is_too_long || (!is_ring() && end > options_.capacity);
      longest = std::max(longest, before);
      most_rows = std::max(most_rows, count);
    }
    // The size is that of the longest sequence with the most rows, which need not fit.
    const bool fits = is_ring() || longest + most_rows <= options_.capacity;
    form.with_workspace = fits && random_.chance(0.5);
    // Two sequences that both write to a page of theirs need a copy or two.
    const bool may_be_full = is_paged() && pages_.num_free() < most_needed;
    const bool is_full = is_paged() && after.num_free() < 0;
    const Step first_step(*layers_.front(), cache_.get(), parts, form);
    const heed_status status = first_step.run();
    if (status != HEED_OK) {
      note("refused");
      expect_no_room(status, is_too_long, may_be_full);
      return false;
    }
    EXPECT_FALSE(is_too_long || is_full);
    for (const Part& part : parts) EXPECT_EQ(heed_cache_length(cache_.get(), part.sequence), length(part.sequence));
    pages_ = after;
    if (!is_ring() && may_stop_ && random_.chance(0.1)) {
      stop_after_the_first_layer(parts);
      return false;
    }
    std::vector<std::vector<property::Results>> results = {first_step.results()};
    for (int64_t number = 1; number < kNumLayers; ++number) {
      form.layer = number;
      results.push_back(forward(*layers_[static_cast<size_t>(number)], cache_.get(), parts, form));
    }
    is_just_loaded_ = false;
    for (size_t i = 0; i < parts.size(); ++i) {
      add_rows(parts[i]);
      for (size_t number = 0; number < results.size(); ++number)
        check_results(number, parts[i].sequence, results[number][i], sees);
    }
    return true;
  }

  void expect_no_room(heed_status status, bool is_too_long, bool may_be_full) {
    EXPECT_EQ(status, HEED_ERROR_CACHE_FULL) << heed_last_error();
    const std::string sentence = heed_last_error();
    if (sentence.find("rows needed") != std::string::npos) {
      EXPECT_TRUE(is_too_long) << sentence;
      return;
    }
    EXPECT_TRUE(may_be_full) << sentence;
    const std::string free = std::to_string(pages_.num_free()) + " free";
    EXPECT_NE(sentence.find("pages needed, " + free), std::string::npos) << sentence;
  }

  // The rows of a step that ends after its first layer are dropped again.
  void stop_after_the_first_layer(const std::vector<Part>& parts) {
    note("in one layer only");
    for (const Part& part : parts) {
      EXPECT_EQ(heed_cache_rewind(cache_.get(), part.sequence, length(part.sequence)), HEED_OK) << heed_last_error();
      pages_.cut(part.sequence, length(part.sequence));
    }
  }

  void add_rows(const Part& part) {
    for (size_t i = 0; i < part.rows.size(); ++i) {
      const int64_t position = part.positions.empty() ? next_position(part.sequence) : part.positions[i];
      rows(part.sequence).push_back({part.rows[i], position});
    }
  }

  // What a ring keeps from the query at index `row`.
  bool is_in_ring(int64_t row, int64_t other) const {
    return !is_ring() || other > row - options_.capacity || other < options_.num_sinks;
  }

  void check_results(size_t number, int64_t sequence, const property::Results& results, const SeesInCall& sees) {
    const int64_t count = results.output->contents.dims[0];
    if (count == 0) return;
    const Sequence& all = rows(sequence);
    const auto num_keys = static_cast<int64_t>(all.size());
    const int64_t start = num_keys - count;
    const auto is_visible = [&](int64_t row, int64_t other) {
      if (!is_in_ring(row, other)) return false;
      return !sees || row < start || other < start || sees(row - start, other - start);
    };
    if (!is_exact(all)) {
      CacheProblem problem = appended(*layers_[number], options_, all, count);
      problem.sees = [&](int64_t /*h*/, int64_t q, int64_t k) { return k <= start + q && is_visible(start + q, k); };
      EXPECT_TRUE(property::agree(results, solve(problem))) << "layer " << number << ", sequence " << sequence;
      return;
    }
    Form form;
    // Without a mask positions must not fall, as they may where rows of several trees of drafts are kept.
    const std::vector<int64_t> positions = positions_of(all);
    if (is_ring() || sees || !std::ranges::is_sorted(positions)) {
      property::Array mask = property::filled({num_keys, num_keys}, 0.0);
      for (int64_t row = 0; row < num_keys; ++row) {
        for (int64_t other = 0; other < num_keys; ++other)
          mask.values[static_cast<size_t>(row * num_keys + other)] = is_visible(row, other) ? 1.0 : 0.0;
      }
      form.mask = property::make_input(mask, HEED_BOOL);
    }
    heed_cache_options options = layers_[number]->contiguous(num_keys, static_cast<heed_dtype>(options_.dtype));
    options.unrotated_keys = options_.unrotated_keys;
    const Cache fresh = make_cache(*layers_[number], options);
    const RowBits expected =
        row_bits(forward_one(*layers_[number], fresh.get(), {0, numbers_of(all), positions}, form));
    EXPECT_TRUE(same_rows(row_bits(results), last_rows(expected, static_cast<size_t>(count))))
        << "layer " << number << ", sequence " << sequence;
    const std::vector<KeptRow> of_fresh = kept_rows(*layers_[number], fresh.get(), 0, 0, num_keys);
    for (size_t i = 0; i < all.size(); ++i) expected_[number].insert({key_of(all[i]), of_fresh[i]});
  }

  // ---- other operations ------------------------------------------------------------------------------------------------

  // Whether a sequence may be cut to a length: a ring must have all rows that the next query sees then.
  bool may_cut(int64_t sequence, int64_t to) const {
    const int64_t oldest = first(sequence);
    const int64_t sinks = options_.num_sinks;
    return to == 0 || to <= sinks || oldest <= std::max(sinks, to - options_.capacity + 1) || oldest == 0;
  }

  int64_t length_up_to(int64_t most) {
    switch (random_.below(4)) {
      case 0: return 0;
      case 1: return most;
      case 2: return std::max<int64_t>(0, most - 1 - random_.below(3));
      default: return random_.below(most + 1);
    }
  }

  // Whether the call did what was predicted.
  bool succeeds(heed_status status, bool should, int64_t oldest) {
    if (should) {
      EXPECT_EQ(status, HEED_OK) << heed_last_error();
      return status == HEED_OK;
    }
    EXPECT_EQ(status, HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(heed_last_error()).find(std::to_string(oldest)), std::string::npos) << heed_last_error();
    return false;
  }

  void rewind() {
    const int64_t sequence = any_sequence();
    const int64_t to = length_up_to(length(sequence));
    note("rewind " + std::to_string(sequence) + " to " + std::to_string(to));
    SCOPED_TRACE(history_);
    const bool should = may_cut(sequence, to);
    const int64_t oldest = first(sequence);
    if (!succeeds(heed_cache_rewind(cache_.get(), sequence, to), should, oldest)) return;
    rows(sequence).resize(static_cast<size_t>(to));
    pages_.cut(sequence, to);
  }

  void fork_sequence() {
    const int64_t from = any_sequence();
    const int64_t to = any_sequence();
    const int64_t count = length_up_to(length(from));
    note("fork " + std::to_string(count) + " rows of " + std::to_string(from) + " to " + std::to_string(to));
    SCOPED_TRACE(history_);
    const bool should = may_cut(from, count);
    const int64_t oldest = first(from);
    if (!succeeds(heed_cache_fork(cache_.get(), from, count, to), should, oldest)) return;
    Sequence copy = rows(from);
    copy.resize(static_cast<size_t>(count));
    rows(to) = copy;
    pages_.copy(from, count, to);
  }

  // A list that has an address although it is empty.
  static std::vector<int64_t> with_an_end(std::vector<int64_t> list) {
    list.push_back(-1);
    return list;
  }

  void reorder() {
    std::vector<int64_t> sources;
    const int64_t count = random_.below(kNumSequences + 1);
    for (int64_t i = 0; i < count; ++i) sources.push_back(any_sequence());
    note("reorder " + testing::PrintToString(sources));
    SCOPED_TRACE(history_);
    EXPECT_EQ(heed_cache_reorder(cache_.get(), with_an_end(sources).data(), count), HEED_OK) << heed_last_error();
    const std::vector<Sequence> before = sequences_;
    for (size_t i = 0; i < sources.size(); ++i) sequences_[i] = before[static_cast<size_t>(sources[i])];
    pages_.reorder(sources);
  }

  // What a ring does if rows are missing that its next query would see is not stated: a game leaves that out.
  bool leaves_what_is_seen(int64_t sequence, int64_t first_changed, int64_t new_length) const {
    const int64_t oldest = first(sequence);
    if (oldest == 0) return true;
    return first_changed >= oldest && oldest <= std::max(options_.num_sinks, new_length - options_.capacity + 1);
  }

  void accept() {
    const int64_t sequence = any_sequence();
    const int64_t from = length_up_to(length(sequence));
    std::vector<int64_t> kept;
    for (int64_t i = 0; from + i < length(sequence); ++i) {
      if (random_.chance(0.5)) kept.push_back(i);
    }
    accept_these(sequence, from, kept);
  }

  void accept_these(int64_t sequence, int64_t from, const std::vector<int64_t>& kept) {
    const auto count = static_cast<int64_t>(kept.size());
    const int64_t end = from + count;
    if (!leaves_what_is_seen(sequence, from, end)) return;
    note("accept " + testing::PrintToString(kept) + " from " + std::to_string(from) + " of " +
         std::to_string(sequence));
    SCOPED_TRACE(history_);
    const bool may_be_full = is_paged() && pages_.num_free() < pages_.num_shared(sequence, from, end);
    const heed_status status = heed_cache_accept(cache_.get(), sequence, from, with_an_end(kept).data(), count);
    if (status == HEED_ERROR_CACHE_FULL) {
      note("refused");
      EXPECT_TRUE(may_be_full) << heed_last_error();
      return;
    }
    EXPECT_EQ(status, HEED_OK) << heed_last_error();
    Sequence moved;
    int64_t num_in_place = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = kept[static_cast<size_t>(i)];
      if (place == i) ++num_in_place;
      moved.push_back(rows(sequence)[static_cast<size_t>(from + place)]);
    }
    rows(sequence).resize(static_cast<size_t>(from));
    rows(sequence).insert(rows(sequence).end(), moved.begin(), moved.end());
    // A shared page whose rows stay where they are may be copied or not.
    PageCount with_copies = pages_;
    with_copies.write(sequence, from, end);
    with_copies.cut(sequence, end);
    pages_.write(sequence, from + num_in_place, end);
    pages_.cut(sequence, end);
    if (is_paged() && heed_cache_free_pages(cache_.get()) == with_copies.num_free()) pages_ = with_copies;
  }

  void discard() {
    const int64_t sequence = any_sequence();
    const int64_t start = length_up_to(length(sequence));
    const int64_t count = random_.below(length(sequence) - start + 1);
    const int64_t end = length(sequence) - count;
    const bool renumbers = random_.chance(0.5);
    if (!leaves_what_is_seen(sequence, start, end)) return;
    note((renumbers ? "discard and renumber " : "discard ") + std::to_string(count) + " rows from " +
         std::to_string(start) + " of " + std::to_string(sequence));
    SCOPED_TRACE(history_);
    const Sequence later(rows(sequence).begin() + start + count, rows(sequence).end());
    const bool moves = count > 0 && !later.empty();
    const bool is_negative = moves && renumbers &&
                             std::any_of(later.begin(), later.end(),
                                         [&](const ReferenceRow& row) { return row.current_position() < count; });
    const bool is_rounded_in_i8 = is_rotated() && options_.dtype == HEED_I8;
    const bool may_be_full = is_paged() && pages_.num_free() < pages_.num_shared(sequence, start, end);
    const heed_status status = heed_cache_discard(cache_.get(), sequence, start, count, renumbers ? 1 : 0);
    if (status != HEED_OK) {
      note("refused");
      if (status == HEED_ERROR_UNSUPPORTED) {
        EXPECT_TRUE(renumbers && (is_rounded_in_i8 || is_just_loaded_)) << heed_last_error();
      } else if (status == HEED_ERROR_CACHE_FULL) {
        EXPECT_TRUE(may_be_full) << heed_last_error();
      } else {
        EXPECT_EQ(status, HEED_ERROR_INVALID_ARGUMENT) << heed_last_error();
        EXPECT_TRUE(is_negative) << heed_last_error();
      }
      return;
    }
    EXPECT_FALSE(is_negative);
    EXPECT_FALSE(renumbers && moves && is_rounded_in_i8);
    rows(sequence).erase(rows(sequence).begin() + start, rows(sequence).begin() + start + count);
    for (int64_t i = start; renumbers && moves && i < end; ++i)
      rows(sequence)[static_cast<size_t>(i)].turns.push_back(count);
    if (moves) pages_.write(sequence, start, end);
    pages_.cut(sequence, end);
  }

  void save_and_load() {
    const int64_t from = any_sequence();
    const int64_t to = any_sequence();
    // How such a sequence is numbered after loading is not stated.
    if (first(from) != 0) return;
    note("save " + std::to_string(from) + " and load it in " + std::to_string(to));
    SCOPED_TRACE(history_);
    const std::vector<uint8_t> bytes = saved(cache_.get(), from);
    const heed_status status = heed_cache_load_memory(cache_.get(), to, bytes.data(), bytes.size());
    if (status == HEED_ERROR_CACHE_FULL) {
      note("refused");
      EXPECT_LT(pages_.num_free(), pages_.pages_of(length(from))) << heed_last_error();
      return;
    }
    EXPECT_EQ(status, HEED_OK) << heed_last_error();
    const Sequence copy = rows(from);
    rows(to) = copy;
    pages_.replace(to, length(to));
    is_just_loaded_ = true;
  }

  // Takes pages for later rows, and gives them back, or gives the sequence rows for which they suffice.
  void reserve() {
    if (!is_paged()) return;
    const int64_t sequence = any_sequence();
    const int64_t to = length(sequence) + random_.below(kCapacity - length(sequence) + 1);
    note("reserve " + std::to_string(to) + " rows of " + std::to_string(sequence));
    SCOPED_TRACE(history_);
    const bool is_full = pages_.num_free() < pages_.num_missing(sequence, to);
    const heed_status status = heed_cache_reserve(cache_.get(), sequence, to);
    EXPECT_EQ(status, is_full ? HEED_ERROR_CACHE_FULL : HEED_OK) << heed_last_error();
    if (status != HEED_OK) return;
    pages_.reserve(sequence, to);
    check_pages();
    const int64_t count = std::min<int64_t>(to - length(sequence), 33);
    const bool shares = pages_.num_shared(sequence, length(sequence), length(sequence) + count) > 0;
    if (count > 0 && random_.chance(0.5)) {
      may_stop_ = false;
      const bool is_done = append_to_all_layers({new_rows(sequence, count)}, {}, nullptr);
      may_stop_ = true;
      EXPECT_TRUE(is_done || shares) << "reserved pages do not suffice";
    }
    EXPECT_EQ(heed_cache_rewind(cache_.get(), sequence, length(sequence)), HEED_OK) << heed_last_error();
    pages_.cut(sequence, length(sequence));
  }

  // ---- what a cache shows ----------------------------------------------------------------------------------------------

  // A key depends on its row and, if it is kept rotated, on its position.
  using RowKey = std::pair<int64_t, int64_t>;
  RowKey key_of(const ReferenceRow& row) const { return {row.number, is_rotated() ? row.position : 0}; }

  const KeptRow& expected_row(size_t number, const ReferenceRow& row) {
    std::map<RowKey, KeptRow>& known = expected_[number];
    const auto found = known.find(key_of(row));
    if (found != known.end()) return found->second;
    heed_cache_options options = layers_[number]->contiguous(1, static_cast<heed_dtype>(options_.dtype));
    options.unrotated_keys = options_.unrotated_keys;
    const Cache one = make_cache(*layers_[number], options);
    forward_one(*layers_[number], one.get(), {0, {row.number}, {row.position}});
    return known.insert({key_of(row), kept_rows(*layers_[number], one.get(), 0, 0, 1).front()}).first->second;
  }

  // The rows that are kept: all, or in a ring the sinks and the rows from the first one on.
  Sequence kept(int64_t sequence) {
    const int64_t oldest = first(sequence);
    const Sequence& all = rows(sequence);
    if (oldest == 0) return all;
    Sequence result(all.begin(), all.begin() + std::min(options_.num_sinks, oldest));
    result.insert(result.end(), all.begin() + oldest, all.end());
    return result;
  }

  void check_first(int64_t sequence) {
    const int64_t oldest = first(sequence);
    if (oldest == 0) return;
    ASSERT_TRUE(is_ring()) << "row " << oldest << " is the first of sequence " << sequence;
    ASSERT_LE(oldest, length(sequence));
    EXPECT_LE(oldest, std::max(options_.num_sinks, length(sequence) - options_.capacity)) << sequence;
  }

  void check_rows(int64_t sequence) {
    const int64_t oldest = first(sequence);
    if (is_ring()) {
      EXPECT_LE(length(sequence) - std::max(oldest, options_.num_sinks), options_.capacity + kMostRowsBesides);
    }
    const Sequence expected = kept(sequence);
    for (size_t number = 0; number < layers_.size(); ++number) {
      const std::vector<KeptRow> actual = kept_rows(*layers_[number], cache_.get(), static_cast<int64_t>(number),
                                                    sequence, static_cast<int64_t>(expected.size()));
      for (size_t i = 0; i < expected.size(); ++i) {
        const KeptRow& of_row = expected_row(number, expected[i]);
        const bool is_turned = is_rotated() && !expected[i].turns.empty();
        ASSERT_TRUE(is_turned || actual[i].key == of_row.key) << "key " << i << " of sequence " << sequence;
        ASSERT_TRUE(actual[i].value == of_row.value) << "value " << i << " of sequence " << sequence;
      }
    }
  }

  // Sequences of contiguous caches and rings may share all their memory, as they share pages, or none.
  void check_pages() {
    const int64_t actual = heed_cache_free_pages(cache_.get());
    if (is_paged()) {
      EXPECT_EQ(actual, pages_.num_free());
      return;
    }
    int64_t num_in_use = 0;
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence)
      num_in_use += pages_.num_missing(sequence, 1) == 0 ? 1 : 0;
    EXPECT_LE(actual, pages_.num_free());
    EXPECT_GE(actual, kNumSequences - num_in_use);
  }

  void check_everything() {
    check_pages();
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      ASSERT_EQ(heed_cache_length(cache_.get(), sequence), length(sequence)) << sequence;
      check_first(sequence);
      if (testing::Test::HasFatalFailure()) return;
      check_rows(sequence);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  void finish() {
    SCOPED_TRACE(history_);
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      EXPECT_EQ(heed_cache_rewind(cache_.get(), sequence, 0), HEED_OK) << heed_last_error();
      EXPECT_EQ(heed_cache_length(cache_.get(), sequence), 0);
      EXPECT_EQ(heed_cache_first(cache_.get(), sequence), 0);
    }
    EXPECT_EQ(heed_cache_free_pages(cache_.get()), is_paged() ? options_.num_pages : kNumSequences);
  }

  const Layers& layers_;
  heed_cache_options options_;
  Cache cache_;
  Random random_;
  std::vector<Sequence> sequences_;
  PageCount pages_;
  std::vector<std::map<RowKey, KeptRow>> expected_;  // of each layer
  int64_t next_row_ = 0;
  bool may_stop_ = true;         // a step after its first layer
  bool is_just_loaded_ = false;  // and no layer has used the cache since
  std::string history_;
};

using MakeOptions = std::function<heed_cache_options(const CachedLayer& layer, heed_dtype dtype)>;

// A game for each variant with two of the dtypes; another `salt` pairs them with the other two. All dtypes are played with
// half of the variants.
void play_games(uint64_t salt, const MakeOptions& make_options) {
  const std::vector<Variant> all = variants();
  for (size_t number = 0; number < all.size(); ++number) {
    const Layers layers = layers_of(all[number].spec);
    for (size_t of_dtype = 0; of_dtype < kCacheDTypes.size(); ++of_dtype) {
      if ((number + of_dtype + salt) % 2 != 0) continue;
      const heed_dtype dtype = kCacheDTypes[of_dtype];
      heed_cache_options options = make_options(*layers.front(), dtype);
      options.num_layers = kNumLayers;
      options.max_sequences = kNumSequences;
      options.unrotated_keys = all[number].unrotated_keys && options.layout != HEED_CACHE_RING ? 1 : 0;
      const uint64_t seed = 100 * salt + 10 * number + of_dtype;
      SCOPED_TRACE("game " + std::to_string(seed) + " with " + property::name_of(dtype));
      Game(layers, options, seed).play();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(CacheModel, ContiguousCachesAreListsOfRows) {
  play_games(1, [](const CachedLayer& layer, heed_dtype dtype) { return layer.contiguous(kCapacity, dtype); });
}

TEST(CacheModel, CachesOfSmallPagesAreListsOfRows) {
  play_games(2, [](const CachedLayer& layer, heed_dtype dtype) {
    return as_paged(layer.contiguous(kCapacity, dtype), 16, 20);
  });
}

TEST(CacheModel, CachesOfLargePagesAreListsOfRows) {
  play_games(3, [](const CachedLayer& layer, heed_dtype dtype) {
    return as_paged(layer.contiguous(kCapacity, dtype), 64, 7);
  });
}

TEST(CacheModel, RingsAreListsOfRows) {
  play_games(4, [](const CachedLayer& layer, heed_dtype dtype) { return as_ring(layer.contiguous(20, dtype), 0); });
}

TEST(CacheModel, RingsWithSinksAreListsOfRows) {
  play_games(5, [](const CachedLayer& layer, heed_dtype dtype) { return as_ring(layer.contiguous(16, dtype), 5); });
}

}  // namespace
}  // namespace heed::cache_test
