// SPDX-License-Identifier: Apache-2.0
// Takes the input as a program of operations on a cache. Each operation runs on a second cache too, which has another layout
// and enough pages: both must have the same rows and give the same bits. Rings have no second cache, since they drop rows. Of a
// cache whose layers keep the rows of their windows the second one keeps all rows, and the first may refuse what needs others. A
// call that fails must return a status that heed.h documents for the function, and change nothing. All rows are compared only
// after every few operations, since the comparison takes longer than most of them.
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/cached_layer.h"
#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"
#include "fuzz/calls/checks.h"
#include "fuzz/support/bytes.h"
#include "fuzz/support/require.h"
#include "property/support/host_tensor.h"

namespace heed::fuzz {
namespace {

using cache_test::Cache;
using cache_test::CachedLayer;
using cache_test::Form;
using cache_test::Part;
using cache_test::Step;
using property::HostTensor;

constexpr int64_t kNumSequences = 3;
constexpr int64_t kMostLayers = 2;
constexpr int kMostOperations = 40;
constexpr int kOperationsBetweenChecks = 10;
// The third byte chooses windows and masks, if it is one of these. No older program has them.
constexpr uint8_t kFirstWithExtras = 0xC0;
constexpr uint8_t kLastWithExtras = 0xDF;
// The rows of a few calls have positions after it, and then there is none for the next.
constexpr int64_t kLatePosition = 2147483560;

// Layers with the same heads, and with all that depends on positions. Those with a window see 21 and 4 rows.
const CachedLayer& layer_at(int64_t number) {
  const auto spec_of = [](int32_t layout) {
    cache_test::LayerSpec spec = cache_test::grouped_heads(2, 2, 4, 3);
    spec.rope = cache_test::rope_of(layout);
    return spec;
  };
  static const CachedLayer half(spec_of(HEED_ROPE_HALF));
  static const CachedLayer interleaved([&] {
    cache_test::LayerSpec spec = cache_test::with_window(spec_of(HEED_ROPE_INTERLEAVED), 20);
    spec.dtype = HEED_BF16;
    return spec;
  }());
  static const CachedLayer distances([&] {
    cache_test::LayerSpec spec = spec_of(HEED_ROPE_HALF);
    spec.rope.reset();
    spec.options.alibi = HEED_ALIBI_ADDED;
    spec.options.sinks = 1;
    return spec;
  }());
  static const CachedLayer few_rows(cache_test::with_window(spec_of(HEED_ROPE_HALF), 3));
  const CachedLayer* const layers[] = {&half, &interleaved, &distances, &few_rows};
  return *layers[number];
}

class Program {
 public:
  explicit Program(Bytes bytes) : bytes_(bytes), layer_(&layer_at(bytes_.below(3))) {
    dtype_ = cache_test::kCacheDTypes[static_cast<size_t>(bytes_.below(4))];
    const uint8_t choice = bytes_.next();
    unrotated_keys_ = choice % 2;
    const bool has_extras = choice >= kFirstWithExtras && choice <= kLastWithExtras;
    has_windows_ = has_extras && choice / 2 % 2 == 1;
    has_masks_ = has_extras && choice / 4 % 2 == 1;
    num_layers_ = 1 + bytes_.below(kMostLayers);
    if (has_windows_) choose_windows();
    options_ = some_options();
    cache_ = made(options_);
    if (!cache_) {
      options_ = usual_options();
      cache_ = made(options_);
      require(cache_ != nullptr, "a cache of usual options is made");
    }
    twin_ = twin_of(options_);
    all_pages_ = num_pages();
    check_numbers();
  }

  void run() {
    for (int i = 0; i < kMostOperations && !bytes_.is_empty(); ++i) {
      switch (bytes_.below(16)) {
        case 5: read_forward(); break;
        case 6: fill(); break;
        case 7: rewind(); break;
        case 8: fork_sequence(); break;
        case 9: reorder(); break;
        case 10: accept(); break;
        case 11: discard(); break;
        case 12: reserve(); break;
        case 13: read_rows(); break;
        case 14: save_and_load(); break;
        case 15: move_to_another_cache(); break;
        default: append(); break;
      }
      check_numbers();
      if (i % kOperationsBetweenChecks == kOperationsBetweenChecks - 1) check_rows();
    }
    check_rows();
    empty_all(cache_.get(), all_pages_);
    if (twin_) empty_all(twin_.get(), heed_cache_free_pages(twin_.get()));
  }

 private:
  // What a caller sees of a cache, but for its rows.
  struct State {
    std::vector<int64_t> lengths;
    std::vector<int64_t> firsts;
    std::vector<int64_t> num_rows;  // of each layer and sequence
    int64_t num_free_pages = 0;

    bool operator==(const State&) const = default;
  };

  // Of the new cache. Those of layers with windows are not among them.
  int64_t num_pages() const {
    if (has_windows()) return heed_cache_free_pages(cache_.get());
    return options_.layout == HEED_CACHE_PAGED ? options_.num_pages : kNumSequences;
  }

  // Whether layers of the cache may keep fewer rows than those of the twin.
  bool has_windows() const { return options_.layer_capacities != nullptr; }

  // A layer with a window, and for each layer of the cache the rows that it sees, some more, or all.
  void choose_windows() {
    const bool is_long = layer_ == &layer_at(1);
    layer_ = &layer_at(is_long ? 1 : 3);
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      const int64_t extra = bytes_.below(4) == 3 ? bytes_.below(40) : 0;
      windows_.push_back(bytes_.below(3) == 2 ? 0 : (is_long ? 21 : 4) + extra);
    }
    if (bytes_.rarely()) windows_.front() = bytes_.size(3);
  }

  // ---- caches --------------------------------------------------------------------------------------------------------

  heed_cache_options usual_options() const {
    heed_cache_options options = cache_test::with_sequences(layer_->contiguous(40, dtype_), kNumSequences);
    options.num_layers = num_layers_;
    options.unrotated_keys = unrotated_keys_;
    return options;
  }

  heed_cache_options some_options() {
    heed_cache_options options = usual_options();
    options.capacity = 1 + bytes_.below(100);
    options.layout = static_cast<int32_t>(bytes_.below(3));
    if (has_windows_) {
      options.capacity *= 8;
      options.layer_capacities = windows_.data();
    }
    if (options.layout == HEED_CACHE_RING) options.num_sinks = bytes_.below(20);
    if (options.layout == HEED_CACHE_PAGED) {
      options.page_size = 16 * bytes_.below(5);
      options.num_pages = 1 + bytes_.below(12);
    }
    if (!bytes_.rarely()) return options;
    int64_t* const members[] = {&options.num_layers,      &options.num_kv_heads, &options.head_size,
                                &options.value_head_size, &options.capacity,     &options.num_sinks,
                                &options.page_size,       &options.num_pages};
    *members[bytes_.below(8)] = kStrange[bytes_.below(9)];
    return options;
  }

  // Null if the options are refused.
  Cache made(const heed_cache_options& options) const {
    size_t num_bytes = 0x5EED;
    const heed_status of_size = heed_cache_size(&options, &num_bytes);
    const bool has_size = succeeded(of_size);
    require(has_size || num_bytes == 0x5EED, "a size that was refused is not written");
    heed_cache* cache = nullptr;
    const heed_status status = heed_cache_create(layer_->context(), &options, &cache);
    require((cache != nullptr) == succeeded(status), "a call made its cache");
    require(status == of_size || (has_size && status == HEED_ERROR_OUT_OF_MEMORY), "size and cache are refused alike");
    return Cache(cache);
  }

  Cache twin_of(const heed_cache_options& options) const {
    if (options.layout == HEED_CACHE_RING) return nullptr;
    heed_cache_options twin = cache_test::with_capacity(usual_options(), options.capacity);
    if (options.layout == HEED_CACHE_CONTIGUOUS)
      twin = cache_test::as_paged(twin, 16, kNumSequences * ((options.capacity + 15) / 16));
    return made(twin);
  }

  State state_of(const heed_cache* cache) const {
    State state;
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      state.lengths.push_back(heed_cache_length(cache, sequence));
      state.firsts.push_back(heed_cache_first(cache, sequence));
      for (int64_t layer = 0; layer < num_layers_; ++layer)
        state.num_rows.push_back(heed_cache_num_rows(cache, layer, sequence));
    }
    state.num_free_pages = heed_cache_free_pages(cache);
    return state;
  }

  void check_numbers() {
    state_ = state_of(cache_.get());
    const auto are_counts = [](const std::vector<int64_t>& counts) {
      return std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count >= 0; });
    };
    require(state_.num_free_pages >= 0 && state_.num_free_pages <= all_pages_, "free pages are 0 to all");
    require(are_counts(state_.lengths) && are_counts(state_.firsts) && are_counts(state_.num_rows),
            "a cache has 0 rows or more");
    if (!twin_) return;
    State of_twin = state_of(twin_.get());
    of_twin.num_free_pages = state_.num_free_pages;
    if (has_windows()) {
      for (size_t i = 0; i < state_.num_rows.size(); ++i)
        require(state_.num_rows[i] <= of_twin.num_rows[i], "a layer with a window keeps no more rows");
      of_twin.firsts = state_.firsts;
      of_twin.num_rows = state_.num_rows;
    }
    require(of_twin == state_, "caches of two layouts have the same numbers of rows");
  }

  void check_rows() const {
    for (int64_t sequence = 0; twin_ && sequence < kNumSequences; ++sequence) {
      if (has_windows()) {
        check_kept_rows(sequence);
        continue;
      }
      require(cache_test::saved(cache_.get(), sequence) == cache_test::saved(twin_.get(), sequence),
              "caches of two layouts have the same rows");
    }
    require(!testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed(), "no expectation failed");
  }

  // Each layer keeps the last rows that the twin has.
  void check_kept_rows(int64_t sequence) const {
    for (int64_t layer = 0; layer < num_layers_; ++layer) {
      const auto rows_of = [&](const heed_cache* cache) {
        return cache_test::kept_rows(*layer_, cache, layer, sequence, heed_cache_num_rows(cache, layer, sequence));
      };
      const std::vector<cache_test::KeptRow> last = rows_of(cache_.get());
      const std::vector<cache_test::KeptRow> all = rows_of(twin_.get());
      require(std::equal(last.rbegin(), last.rend(), all.rbegin()), "a layer with a window keeps the last rows");
    }
  }

  static void empty_all(heed_cache* cache, int64_t all_pages) {
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
      require(succeeded(heed_cache_rewind(cache, sequence, 0)), "a sequence can be emptied");
      require(heed_cache_length(cache, sequence) == 0, "an emptied sequence has no rows");
    }
    require(heed_cache_free_pages(cache) >= all_pages, "an empty cache has all its pages");
  }

  // ---- calls ---------------------------------------------------------------------------------------------------------

  // Makes a call of the cache and, unless the cache had no room, of its twin. Whether the call succeeded. `refusals`: the
  // statuses that it may have.
  template <typename Call>
  bool both(std::initializer_list<heed_status> refusals, const Call& call) {
    const heed_status status = call(cache_.get());
    const bool needs_dropped_rows = status != HEED_OK && has_windows() && is_of_windows(heed_last_error());
    if (!succeeded(status)) {
      require(std::find(refusals.begin(), refusals.end(), status) != refusals.end(),
              std::string("not a status of the call: ") + heed_status_name(status));
      require(state_of(cache_.get()) == state_, "a call that failed changed nothing");
      if (status == HEED_ERROR_CACHE_FULL || needs_dropped_rows) return false;
    }
    if (twin_) {
      const heed_status of_twin = call(twin_.get());
      succeeded(of_twin);
      require(of_twin == status, std::string("a cache of another layout says ") + heed_status_name(of_twin));
    }
    return status == HEED_OK;
  }

  // Whether a sentence says that a cache of windows lacks the rows that a call needs.
  static bool is_of_windows(const std::string& text) {
    constexpr const char* kWords[] = {" keeps ", " has dropped", " shows the last ", " has the rows of a window "};
    return std::any_of(std::begin(kWords), std::end(kWords),
                       [&](const char* words) { return text.find(words) != std::string::npos; });
  }

  int64_t length(int64_t sequence) const {
    return sequence < 0 || sequence >= kNumSequences ? 0 : heed_cache_length(cache_.get(), sequence);
  }
  int64_t some_sequence() { return bytes_.size(kNumSequences - 1); }
  // Rarely one row more than there are.
  int64_t some_length(int64_t sequence) { return bytes_.size(length(sequence) + (bytes_.rarely() ? 1 : 0)); }

  // ---- forward -------------------------------------------------------------------------------------------------------

  std::vector<Part> some_parts() {
    static constexpr int64_t kCounts[] = {1, 0, 2, 3, 15, 16, 17, 40};
    std::vector<Part> parts(static_cast<size_t>(1 + bytes_.below(kNumSequences)));
    const bool has_positions = bytes_.below(4) == 3;
    int64_t sequence = bytes_.below(kNumSequences);
    for (Part& part : parts) {
      part.sequence = bytes_.rarely() ? bytes_.below(kNumSequences + 2) - 1 : sequence;
      sequence = (sequence + 1) % kNumSequences;
      part.rows = cache_test::counting_from(next_row_, kCounts[bytes_.below(8)]);
      next_row_ += static_cast<int64_t>(part.rows.size());
      if (!has_positions) continue;
      int64_t position = bytes_.rarely() ? kLatePosition : bytes_.below(200) - (bytes_.rarely() ? 1 : 0);
      const int64_t step = bytes_.below(3);
      for (size_t i = 0; i < part.rows.size(); ++i, position += step) part.positions.push_back(position);
    }
    return parts;
  }

  Form some_form(const std::vector<Part>& parts) {
    Form form;
    form.is_packed = bytes_.flag();
    form.index_dtype = bytes_.flag() ? HEED_I32 : HEED_I64;
    if (form.is_packed) return form;
    form.padded_rows = bytes_.flag() ? bytes_.below(20) : 0;
    form.with_weights = bytes_.flag();
    if (!bytes_.flag()) return form;
    int64_t num_rows = form.padded_rows;
    for (const Part& part : parts) num_rows = std::max(num_rows, static_cast<int64_t>(part.rows.size()));
    property::Array mask = property::filled({num_rows, num_rows}, 1.0);
    const uint8_t bits = bytes_.next();
    for (size_t i = 0; i < mask.values.size(); ++i) mask.values[i] = (bits >> (i * 5 % 8)) & 1;
    form.mask = property::make_input(std::move(mask), HEED_BOOL);
    return form;
  }

  const CachedLayer& some_layer() { return bytes_.rarely() ? layer_at(bytes_.below(3)) : *layer_; }

  // The rows of the parts that a mask shows, and the mask, which hides rows behind a part, too.
  struct Masked {
    std::vector<Part> visible;
    std::vector<std::vector<size_t>> rows;  // of each part
    property::Input mask;
  };

  Masked some_mask(const std::vector<Part>& parts, const Form& form) {
    int64_t num_rows = form.padded_rows;
    for (const Part& part : parts) num_rows = std::max(num_rows, static_cast<int64_t>(part.rows.size()));
    property::Array mask = property::filled({static_cast<int64_t>(parts.size()), num_rows}, 0.0);
    Masked masked;
    for (size_t b = 0; b < parts.size(); ++b) {
      const uint8_t bits = bytes_.next();
      Part visible = {parts[b].sequence, {}, {}};
      std::vector<size_t> rows;
      for (size_t row = 0; row < parts[b].rows.size(); ++row) {
        if ((bits >> (row % 8)) % 2 == 0) continue;
        mask.values[b * static_cast<size_t>(num_rows) + row] = 1;
        rows.push_back(row);
        visible.rows.push_back(parts[b].rows[row]);
        if (!parts[b].positions.empty()) visible.positions.push_back(parts[b].positions[row]);
      }
      masked.visible.push_back(std::move(visible));
      masked.rows.push_back(std::move(rows));
    }
    masked.mask = property::make_input(std::move(mask), bytes_.flag() ? HEED_I64 : HEED_BOOL);
    return masked;
  }

  // A call with a mask; the twin gets the visible rows alone.
  bool forward_masked(const CachedLayer& layer, const std::vector<Part>& parts, const Form& form,
                      const Masked& masked) {
    std::vector<std::unique_ptr<Step>> steps;
    const bool is_done = both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_CACHE_FULL}, [&](heed_cache* cache) {
      Form of_this = form;
      const bool is_first = steps.empty();
      if (!is_first) of_this.padded_rows = 0;
      steps.push_back(std::make_unique<Step>(layer, cache, is_first ? parts : masked.visible, of_this));
      Step& step = *steps.back();
      if (is_first) {
        step.sequences.query_lens = nullptr;
        step.inputs.attention_mask = step.input(masked.mask);
      }
      return step.run();
    });
    if (!is_done || steps.size() == 1) return is_done;
    const std::vector<property::Results> results = steps.front()->results();
    const std::vector<property::Results> of_twin = steps.back()->results();
    for (size_t b = 0; b < results.size(); ++b) {
      const cache_test::RowBits all = cache_test::row_bits(results[b]);
      cache_test::RowBits visible;
      for (const size_t row : masked.rows[b]) visible.push_back(all[row]);
      const testing::AssertionResult same = cache_test::same_rows(visible, cache_test::row_bits(of_twin[b]));
      require(static_cast<bool>(same),
              std::string("visible rows have the bits that they have alone: ") + same.message());
    }
    return true;
  }

  // Whether the call succeeded. The call of the twin has a workspace, if its size is that of this call: it is the size of the
  // longest sequence with the most rows.
  bool forward(const CachedLayer& layer, const std::vector<Part>& parts, const Form& form) {
    std::vector<std::unique_ptr<Step>> steps;
    heed_status status = HEED_OK;
    const bool is_done = both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_CACHE_FULL}, [&](heed_cache* cache) {
      Form of_this = form;
      of_this.with_workspace =
          !steps.empty() && status == HEED_OK && parts.size() == 1 && form.padded_rows == 0 && !parts[0].rows.empty();
      steps.push_back(std::make_unique<Step>(layer, cache, parts, of_this));
      status = steps.back()->run();
      return status;
    });
    if (!is_done) return false;
    const std::vector<property::Results> results = steps.front()->results();
    if (steps.size() == 1) return true;
    const std::vector<property::Results> of_twin = steps.back()->results();
    for (size_t i = 0; i < results.size(); ++i) {
      const testing::AssertionResult same =
          cache_test::same_rows(cache_test::row_bits(results[i]), cache_test::row_bits(of_twin[i]));
      require(static_cast<bool>(same), std::string("layouts give the same bits: ") + same.message());
      require(!results[i].weights || results[i].weights->bytes == of_twin[i].weights->bytes,
              "layouts give the same weights");
    }
    return true;
  }

  void append() {
    const std::vector<Part> parts = some_parts();
    Form form = some_form(parts);
    const CachedLayer& layer = some_layer();
    const int64_t last = bytes_.rarely() ? 1 : num_layers_;
    std::optional<Masked> masked;
    if (has_masks_ && !form.is_packed && bytes_.flag()) {
      form.mask.reset();
      form.with_weights = false;
      masked = some_mask(parts, form);
    }
    for (form.layer = 0; form.layer < last; ++form.layer) {
      if (!(masked ? forward_masked(layer, parts, form, *masked) : forward(layer, parts, form))) return;
      state_ = state_of(cache_.get());
    }
  }

  void read_forward() {
    std::vector<Part> parts = some_parts();
    Form form = some_form(parts);
    form.use = HEED_CACHE_READ;
    form.layer = bytes_.below(num_layers_);
    forward(some_layer(), parts, form);
  }

  void fill() {
    const std::vector<Part> parts = some_parts();
    Form form = some_form(parts);
    form.mask.reset();
    form.with_weights = false;
    form.layer = bytes_.below(num_layers_);
    const CachedLayer& layer = some_layer();
    both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_CACHE_FULL},
         [&](heed_cache* cache) { return Step(layer, cache, parts, form).fill(); });
  }

  // ---- other operations ----------------------------------------------------------------------------------------------

  void rewind() {
    const int64_t sequence = some_sequence();
    const int64_t before = length(sequence);
    const int64_t to = some_length(sequence);
    if (both({HEED_ERROR_INVALID_ARGUMENT}, [&](heed_cache* cache) { return heed_cache_rewind(cache, sequence, to); }))
      require(length(sequence) == std::min(before, to), "a sequence is cut");
  }

  void fork_sequence() {
    const int64_t from = some_sequence();
    const int64_t before = length(from);
    const int64_t count = some_length(from);
    const int64_t to = some_sequence();
    if (both({HEED_ERROR_INVALID_ARGUMENT}, [&](heed_cache* cache) { return heed_cache_fork(cache, from, count, to); }))
      require(length(to) == std::min(before, count), "a fork has the rows");
  }

  void reorder() {
    int64_t sources[kNumSequences + 1];
    for (int64_t& source : sources) source = some_sequence();
    const int64_t count = bytes_.size(kNumSequences);
    const std::vector<int64_t> before = state_.lengths;
    if (!both({HEED_ERROR_INVALID_ARGUMENT},
              [&](heed_cache* cache) { return heed_cache_reorder(cache, sources, count); }))
      return;
    for (int64_t i = 0; i < count; ++i)
      require(length(i) == before[static_cast<size_t>(sources[i])], "a beam has the rows of its source");
  }

  void accept() {
    const int64_t sequence = some_sequence();
    const int64_t from = some_length(sequence);
    const int64_t count = bytes_.size(8);
    std::vector<int64_t> kept = {bytes_.below(3)};
    while (kept.size() < 8) kept.push_back(kept.back() + (bytes_.rarely() ? 0 : 1 + bytes_.below(2)));
    if (both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_CACHE_FULL},
             [&](heed_cache* cache) { return heed_cache_accept(cache, sequence, from, kept.data(), count); }))
      require(length(sequence) == from + count, "a sequence has the accepted rows");
  }

  void discard() {
    const int64_t sequence = some_sequence();
    const int64_t before = length(sequence);
    const int64_t first = some_length(sequence);
    const int64_t count = some_length(sequence);
    const int32_t renumber = bytes_.enumerator(1);
    if (both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_UNSUPPORTED, HEED_ERROR_CACHE_FULL},
             [&](heed_cache* cache) { return heed_cache_discard(cache, sequence, first, count, renumber); }))
      require(length(sequence) == before - count, "a sequence loses the rows");
  }

  void reserve() {
    const int64_t sequence = some_sequence();
    const int64_t to = bytes_.size(100);
    const std::vector<int64_t> before = state_.lengths;
    if (both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_CACHE_FULL},
             [&](heed_cache* cache) { return heed_cache_reserve(cache, sequence, to); }))
      require(state_of(cache_.get()).lengths == before, "reserved pages have no rows");
  }

  void read_rows() {
    static constexpr heed_dtype kDTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I8};
    const int64_t layer = bytes_.size(num_layers_ - 1);
    const int64_t sequence = some_sequence();
    const heed_dtype dtype = kDTypes[bytes_.below(5)];
    const uint8_t which = bytes_.next();
    int64_t count = std::max<int64_t>(0, heed_cache_num_rows(cache_.get(), layer, sequence));
    if (bytes_.rarely()) ++count;
    std::vector<std::vector<uint8_t>> contents;
    // The twin keeps other rows: check_rows compares them.
    if (twin_ &&
        heed_cache_num_rows(twin_.get(), layer, sequence) != heed_cache_num_rows(cache_.get(), layer, sequence))
      return;
    both({HEED_ERROR_INVALID_ARGUMENT}, [&](heed_cache* cache) {
      const auto tensor_of = [&](int64_t size) {
        const property::Dims dims = {layer_->sizes().num_kv_heads, count, size};
        return HostTensor(layer_->context(), dtype, dims, property::row_major_strides(dims));
      };
      const HostTensor keys = tensor_of(layer_->sizes().head_size);
      const HostTensor values = tensor_of(layer_->sizes().value_head_size);
      const heed_status status = heed_cache_read(cache, layer, sequence, which % 8 == 1 ? nullptr : keys.handle(),
                                                 which % 4 == 1 || which % 8 == 2 ? nullptr : values.handle());
      contents.push_back(keys.read_bytes());
      contents.push_back(values.read_bytes());
      return status;
    });
    require(contents.size() < 4 || (contents[0] == contents[2] && contents[1] == contents[3]),
            "the same rows are read from two layouts");
  }

  // A layer with a window that is ahead of others may have dropped what it sees from the last row that all have.
  bool can_be_saved(int64_t sequence) const {
    if (!has_windows()) return true;
    size_t num_bytes = 0;
    const heed_status status = heed_cache_save_memory(cache_.get(), sequence, nullptr, 0, &num_bytes);
    require(status == HEED_OK || status == HEED_ERROR_INVALID_ARGUMENT, heed_status_name(status));
    return succeeded(status);
  }

  void save_and_load() {
    const int64_t from = bytes_.below(kNumSequences);
    const int64_t to = some_sequence();
    if (!can_be_saved(from)) return;
    std::vector<uint8_t> bytes = cache_test::saved(cache_.get(), from);
    // The twin has the rows that layers with windows have dropped.
    const std::vector<uint8_t> of_twin = has_windows() && twin_ ? cache_test::saved(twin_.get(), from) : bytes;
    if (has_windows() && bytes_.flag()) bytes = of_twin;
    const int64_t expected = length(from);
    if (both({HEED_ERROR_INVALID_ARGUMENT, HEED_ERROR_CACHE_FULL}, [&](heed_cache* cache) {
          const std::vector<uint8_t>& file = cache == cache_.get() ? bytes : of_twin;
          return heed_cache_load_memory(cache, to, file.data(), file.size());
        }))
      require(length(to) == expected, "a loaded sequence has the rows of the file");
  }

  // Saves all sequences to memory and loads them into a new cache of any layout, which replaces this one if it has room.
  void move_to_another_cache() {
    const heed_cache_options options = some_options();
    Cache cache = made(options);
    if (!cache) return;
    Cache twin = twin_of(options);
    const int64_t new_pages = heed_cache_free_pages(cache.get());
    for (heed_cache* const destination : {cache.get(), twin.get()}) {
      for (int64_t i = 0; destination != nullptr && i < kNumSequences; ++i) {
        if (!can_be_saved(i)) return;
        const bool is_twin = destination == twin.get() && twin_;
        const std::vector<uint8_t> bytes = cache_test::saved(is_twin ? twin_.get() : cache_.get(), i);
        const heed_status status = heed_cache_load_memory(destination, i, bytes.data(), bytes.size());
        const bool lacks_rows = status != HEED_OK && has_windows() && is_of_windows(heed_last_error());
        if (succeeded(status)) continue;
        if (lacks_rows && destination == cache.get()) return;
        require(status == HEED_ERROR_CACHE_FULL && destination == cache.get(), "another cache takes the rows");
        return;
      }
    }
    options_ = options;
    cache_ = std::move(cache);
    twin_ = std::move(twin);
    all_pages_ = options_.layout == HEED_CACHE_PAGED && !has_windows() ? options_.num_pages : new_pages;
  }

  Bytes bytes_;
  const CachedLayer* layer_;
  heed_dtype dtype_ = HEED_F32;
  int32_t unrotated_keys_ = 0;
  int64_t num_layers_ = 1;
  bool has_windows_ = false;
  bool has_masks_ = false;
  std::vector<int64_t> windows_;  // layer_capacities
  heed_cache_options options_ = HEED_CACHE_OPTIONS_INIT;
  Cache cache_;
  Cache twin_;  // null for a ring
  int64_t all_pages_ = 0;
  State state_;  // before the operation
  int64_t next_row_ = 0;
};

}  // namespace
}  // namespace heed::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  heed::fuzz::Program(heed::fuzz::Bytes({data, num_bytes})).run();
  return 0;
}
