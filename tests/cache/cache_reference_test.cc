// SPDX-License-Identifier: Apache-2.0
// Random calls with caches against the f64 reference: attention without a cache over the whole sequence, within the bound
// of rule 15 and a term for what the cache rounds (cache/support/cache_reference.h).
//
// On a device (property/support/device.h) most layers and caches are such that the device can attend to the cache.
//
// A failing case prints its number. HEED_CACHE_CASE runs it alone, HEED_CACHE_CASES sets the number of cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/cache_reference.h"
#include "cache/support/caches.h"
#include "cache/support/draft_tree.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"
#include "capi/support/objects.h"
#include "property/support/device.h"
#include "property/support/random.h"
#include "property/support/samples.h"

namespace heed::cache_test {
namespace {

using property::Array;
using property::Dims;
using property::Random;

// ---- random layers --------------------------------------------------------------------------------------------------

void add_rope(LayerSpec& spec, Random& random) {
  const int64_t head_size = spec.options.head_size;
  if (head_size < 2 || !random.chance(0.6)) return;
  heed_rope_options rope = rope_of(random.chance(0.5) ? HEED_ROPE_HALF : HEED_ROPE_INTERLEAVED);
  rope.rotary_offset = head_size > 2 ? random.below(2) : 0;
  const int64_t most_pairs = (head_size - rope.rotary_offset) / 2;
  rope.rotary_size = 2 * (1 + random.below(most_pairs));
  if (random.chance(0.2)) {
    rope.scaling = HEED_ROPE_SCALING_LINEAR;
    rope.factor = 4.0F;
  }
  if (random.chance(0.2)) rope.attention_factor = 1.25F;
  spec.rope = rope;
}

void add_distances(LayerSpec& spec, Random& random) {
  heed_multi_head_attention_options& options = spec.options;
  if (random.chance(0.3)) options.alibi = random.chance(0.5) ? HEED_ALIBI_ADDED : HEED_ALIBI_SCALED;
  if (random.chance(0.3)) {
    options.relative_bias = random.chance(0.5) ? HEED_RELATIVE_BIAS_ONE_WAY : HEED_RELATIVE_BIAS_BOTH_WAYS;
    if (random.chance(0.5)) {
      options.relative_bias_buckets = 8;
      options.relative_bias_max_distance = 20;
    }
  }
  if (random.chance(0.4)) {
    options.window = HEED_WINDOW_BOTTOM_RIGHT;
    options.window_left = random.one_of(std::vector<int64_t>{-1, 0, 3, 20});
    options.window_right = random.one_of(std::vector<int64_t>{-1, 0, 2});
  }
}

LayerSpec random_layer(Random& random) {
  const int64_t num_kv_heads = 1 + random.below(2);
  const int64_t group = random.one_of(std::vector<int64_t>{1, 3, 4, 7});
  const int64_t head_size = random.one_of(std::vector<int64_t>{1, 2, 3, 5, 8, 16, 17, 33});
  const int64_t value_head_size = random.one_of(std::vector<int64_t>{1, 4, 7, 16, 20});
  LayerSpec spec = grouped_heads(num_kv_heads, group, head_size, value_head_size);
  heed_multi_head_attention_options& options = spec.options;
  spec.input_size = random.one_of(std::vector<int64_t>{1, 5, 6, 17});
  spec.dtype = random.one_of(property::kFloats);
  spec.parameter_dtype = random.chance(0.5) ? spec.dtype : HEED_F32;
  spec.seed = random.next();
  add_rope(spec, random);
  add_distances(spec, random);
  if (random.chance(0.3)) options.causal = HEED_CAUSAL_NONE;
  if (random.chance(0.3)) options.sinks = 1;
  if (random.chance(0.3)) options.soft_cap = 3.0F;
  if (random.chance(0.5)) options.scale = random.chance(0.5) ? 0.3F : -0.7F;
  if (random.chance(0.3)) {
    options.qk_norm_epsilon = 1e-4F;
    options.qk_norm = random.chance(0.5) ? HEED_QK_NORM_RMS : HEED_QK_NORM_LAYER;
  }
  options.biases = static_cast<int32_t>(random.below(16));
  if (random.chance(0.3)) {
    options.no_output_projection = 1;
    options.output_size = 0;
    options.biases &= ~int32_t{HEED_BIAS_O};
  }
  options.add_bias_kv = random.chance(0.2) ? 1 : 0;
  options.add_zero_attn = random.chance(0.2) ? 1 : 0;
  if (random.chance(0.15)) options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  return spec;
}

// Leaves out what an NPU does not compute.
void limit_to_npu(LayerSpec& spec, Random& random) {
  heed_multi_head_attention_options& options = spec.options;
  options.head_size = options.value_head_size = random.one_of(std::vector<int64_t>{16, 48, 64, 128});
  options.alibi = HEED_ALIBI_NONE;
  options.relative_bias = HEED_RELATIVE_BIAS_NONE;
  options.relative_bias_buckets = options.relative_bias_max_distance = 0;
  options.sinks = options.add_bias_kv = options.add_zero_attn = 0;
  options.soft_cap = 0.0F;
  if (options.qk_norm_epsilon != 0.0F) options.qk_norm = HEED_QK_NORM_RMS;
  if (spec.rope) {
    spec.rope->layout = HEED_ROPE_HALF;
    spec.rope->rotary_size = random.one_of(std::vector<int64_t>{0, 10, 16});
    spec.rope->rotary_offset = spec.rope->rotary_size == 10 ? 3 : 0;
  }
  spec.parameter_dtype = spec.dtype;
}

// ---- random calls ---------------------------------------------------------------------------------------------------

// A mask or bias of a call: over all keys, or over the rows of the call alone.
struct Limit {
  property::Input input;
  bool is_of_call = false;
  Array whole;  // (B, H, Q, columns)

  double at(int64_t b, int64_t h, int64_t q, int64_t column) const {
    const Dims& dims = whole.dims;
    return whole.values[static_cast<size_t>(((b * dims[1] + h) * dims[2] + q) * dims[3] + column)];
  }
};

// The number of rows of some padded calls, which is more than any part of a call has.
constexpr int64_t kMostPadded = 40;

class RandomCall {
 public:
  RandomCall(uint64_t seed, property::Fallback fallback) : random_(seed), spec_(random_layer(random_)) {
    is_for_npu_ = property::on_ascend() && random_.chance(0.8);
    if (is_for_npu_) limit_to_npu(spec_, random_);
    reads_ = random_.chance(0.2);
    // Which rows a query that is not appended comes after is not stated.
    if (reads_) spec_.options.causal = HEED_CAUSAL_NONE;
    heed_context_options context = property::device_options(fallback);
    context.num_threads = 1;
    layer_.emplace(capi_test::make_context(&context), spec_);
    make_sequences();
    make_cache_options();
    make_form();
  }

  heed_dtype cache_dtype() const { return static_cast<heed_dtype>(options_.dtype); }

  testing::AssertionResult agrees(property::AccuracyStatistics& statistics) {
    const Cache cache = make_cache(*layer_, options_);
    append_earlier_rows(cache.get());
    const std::vector<property::Results> results = forward(*layer_, cache.get(), parts_, form_);
    for (size_t b = 0; b < parts_.size(); ++b) {
      const reference::AttentionResult expected = solve(problem_of(static_cast<int64_t>(b)));
      testing::AssertionResult verdict = property::agree(results[b], widened(expected, b), &statistics);
      if (!verdict) return verdict << ", part " << b << " of " << parts_.size();
    }
    return testing::AssertionSuccess();
  }

 private:
  const heed_multi_head_attention_options& layer_options() const { return spec_.options; }
  int64_t num_heads() const { return layer_->sizes().num_heads; }
  int64_t num_earlier(size_t b) const { return static_cast<int64_t>(earlier_[b].rows.size()); }
  int64_t num_new(size_t b) const { return static_cast<int64_t>(parts_[b].rows.size()); }
  // Of the sequence when the rows of the call attend.
  int64_t num_keys(size_t b) const { return num_earlier(b) + (reads_ ? 0 : num_new(b)); }
  int64_t longest() const {
    int64_t most = 0;
    for (size_t b = 0; b < parts_.size(); ++b) most = std::max(most, num_keys(b));
    return most;
  }
  bool is_ring() const { return options_.layout == HEED_CACHE_RING; }

  void make_sequences() {
    static const std::vector<int64_t> kEarlier = {0, 1, 5, 15, 16, 17, 40, 70, 70, 257};
    static const std::vector<int64_t> kNew = {0, 1, 1, 2, 3, 16, 17, 30};
    const int64_t batch = 1 + random_.below(3);
    is_even_ = batch == 1 || random_.chance(0.4);
    const int64_t count_of_all = random_.one_of(kNew);
    // The mean of an empty row is over keys without gaps.
    const bool is_mean = layer_options().empty_rows == HEED_EMPTY_ROWS_MEAN;
    has_gaps_ = random_.chance(0.3) && !is_mean;
    std::vector<int64_t> sequences = {2, 0, 1};
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t sequence = sequences[static_cast<size_t>(b)];
      const int64_t num_earlier = random_.one_of(kEarlier);
      const int64_t num_new = is_even_ ? count_of_all : random_.one_of(kNew);
      Part earlier{sequence, counting_from(1000 * sequence, num_earlier)};
      Part next{sequence, counting_from(1000 * sequence + num_earlier, num_new)};
      int64_t position = 0;
      for (Part* part : {&earlier, &next}) {
        for (size_t i = 0; i < part->rows.size(); ++i) {
          if (has_gaps_) position += random_.below(3);
          part->positions.push_back(position++);
        }
      }
      earlier_.push_back(earlier);
      parts_.push_back(next);
    }
  }

  void make_cache_options() {
    // Room for the longest sequence with as many more rows as a padded call may have.
    int64_t capacity = kMostPadded;
    for (size_t b = 0; b < parts_.size(); ++b) capacity = std::max(capacity, num_earlier(b) + kMostPadded);
    options_ = with_sequences(layer_->contiguous(capacity, random_.one_of(kCacheDTypes)), 3);
    if (is_for_npu_) {
      options_.dtype = spec_.dtype == HEED_F16 ? HEED_F16 : HEED_BF16;
      if (random_.chance(0.3)) return;
      const int64_t page_size = random_.one_of(std::vector<int64_t>{0, 16, 64, 128});
      const int64_t least_rows = page_size == 0 ? 128 : page_size;
      options_ = as_paged(options_, page_size, 3 * ((capacity + least_rows - 1) / least_rows));
      return;
    }
    if (spec_.rope && random_.chance(0.3)) options_.unrotated_keys = 1;
    const bool may_be_a_ring =
        layer_options().causal != HEED_CAUSAL_NONE && layer_options().empty_rows == HEED_EMPTY_ROWS_ZERO && !reads_;
    if (random_.chance(0.6)) {
      const int64_t page_size = random_.one_of(std::vector<int64_t>{16, 32, 64});
      options_ = as_paged(options_, page_size, 3 * ((capacity + page_size - 1) / page_size));
    } else if (may_be_a_ring) {
      options_ = with_capacity(options_, random_.one_of(std::vector<int64_t>{1, 5, 16, 40}));
      options_ = as_ring(options_, random_.below(4));
    }
  }

  void make_form() {
    form_.is_packed = random_.chance(0.4);
    form_.use = reads_ ? HEED_CACHE_READ : HEED_CACHE_APPEND;
    form_.with_workspace = random_.chance(0.5);
    form_.index_dtype = random_.chance(0.5) ? HEED_I32 : HEED_I64;
    if (random_.chance(0.5)) form_.output_dtype = HEED_F32;
    if (is_for_npu_) {
      form_.with_log_sum_exp = false;
      if (!form_.is_packed && !is_even_ && random_.chance(0.3)) form_.padded_rows = kMostPadded;
      return;
    }
    if (layer_options().sinks == 0 && random_.chance(0.3))
      form_.sinks = property::make_input(property::random_array({num_heads()}, random_, 2.0));
    if (layer_options().alibi == HEED_ALIBI_NONE && random_.chance(0.2))
      form_.alibi_slopes = property::make_input(property::random_array({num_heads()}, random_, 0.3));
    if (form_.is_packed) return;
    form_.with_weights = random_.chance(0.7);
    if (!is_even_ && random_.chance(0.3)) form_.padded_rows = kMostPadded;
    if (random_.chance(0.4)) {
      mask_ = make_limit(HEED_BOOL, [this] { return random_.chance(0.7) ? 1.0 : 0.0; });
      if (mask_) form_.mask = mask_->input;
    }
    if (random_.chance(0.3)) {
      bias_ = make_limit(random_.chance(0.5) ? HEED_F32 : spec_.dtype,
                         [this] { return random_.chance(0.1) ? -kInfinity : random_.uniform(-2.0, 2.0); });
      if (bias_) form_.bias = bias_->input;
    }
  }

  // Over all keys, unless rows of a ring are numbered in a way that is not stated; over the rows of the call where each
  // element has as many.
  std::optional<Limit> make_limit(heed_dtype dtype, const std::function<double()>& draw) {
    const auto batch = static_cast<int64_t>(parts_.size());
    int64_t num_queries = form_.padded_rows;
    for (size_t b = 0; b < parts_.size(); ++b) num_queries = std::max(num_queries, num_new(b));
    Limit limit;
    // A single column is repeated.
    const bool may_be_of_call = is_even_ && !reads_ && num_queries != 1;
    limit.is_of_call = may_be_of_call && (is_ring() || random_.chance(0.5));
    if (is_ring() && !limit.is_of_call) return std::nullopt;
    const int64_t columns = limit.is_of_call ? num_queries : longest();
    // With Q = K, and other numbers of rows in some elements, a mask would say two things.
    if (!limit.is_of_call && columns == num_queries && batch > 1) return std::nullopt;
    const auto size_or_one = [&](int64_t size) { return random_.chance(0.5) ? size : 1; };
    Dims dims = {num_queries, columns};
    if (random_.chance(0.6)) dims = {size_or_one(batch), size_or_one(num_heads()), size_or_one(num_queries), columns};
    Array array = property::filled(dims, 0.0);
    for (double& element : array.values) element = draw();
    limit.input = property::make_input(array, dtype);
    limit.whole = property::broadcast(limit.input.contents, {batch, num_heads(), num_queries, columns});
    return limit;
  }

  // Earlier rows come in pieces, with attention or without.
  void append_earlier_rows(heed_cache* cache) {
    for (size_t b = 0; b < parts_.size(); ++b) {
      int64_t start = 0;
      while (start < num_earlier(b)) {
        const int64_t count = std::min(num_earlier(b) - start, 1 + random_.below(100));
        Part piece{earlier_[b].sequence, {}};
        for (int64_t i = start; i < start + count; ++i) {
          piece.rows.push_back(earlier_[b].rows[static_cast<size_t>(i)]);
          if (has_gaps_) piece.positions.push_back(earlier_[b].positions[static_cast<size_t>(i)]);
        }
        if (random_.chance(0.5)) {
          fill_cache(*layer_, cache, {piece});
        } else {
          Form form;
          form.with_log_sum_exp = form_.with_log_sum_exp;
          forward_one(*layer_, cache, piece, form);
        }
        start += count;
      }
    }
    // Rows that read need positions; others continue.
    for (Part& part : parts_) {
      if (!has_gaps_ && !reads_) part.positions.clear();
    }
  }

  // The column of a mask or bias for a key; -1 if the key has none, and is visible without a bias.
  int64_t column_of(const Limit& limit, size_t b, int64_t k) const {
    if (!limit.is_of_call) return k;
    return std::max<int64_t>(-1, k - num_earlier(b));
  }

  CacheProblem problem_of(int64_t b) const {
    const auto index = static_cast<size_t>(b);
    CacheProblem problem;
    problem.layer = &*layer_;
    problem.cache = options_;
    problem.keys = reference_rows(earlier_[index].rows, earlier_[index].positions);
    std::vector<int64_t> positions = parts_[index].positions;
    if (positions.empty()) positions = counting_from(num_earlier(index), num_new(index));
    problem.queries = reference_rows(parts_[index].rows, positions);
    if (!reads_) problem.keys.insert(problem.keys.end(), problem.queries.begin(), problem.queries.end());
    problem.sees = [this, b, index](int64_t h, int64_t q, int64_t k) {
      const int64_t row = num_earlier(index) + q;
      if (layer_options().causal != HEED_CAUSAL_NONE && k > row) return false;
      if (is_ring() && k <= row - options_.capacity && k >= options_.num_sinks) return false;
      if (!mask_) return true;
      const int64_t column = column_of(*mask_, index, k);
      return column < 0 || mask_->at(b, h, q, column) != 0.0;
    };
    if (bias_) {
      problem.bias = [this, b, index](int64_t h, int64_t q, int64_t k) {
        const int64_t column = column_of(*bias_, index, k);
        return column < 0 ? 0.0 : bias_->at(b, h, q, column);
      };
    }
    if (form_.alibi_slopes) problem.alibi_slopes = form_.alibi_slopes->contents.values;
    if (form_.sinks) problem.sinks = form_.sinks->contents.values;
    return problem;
  }

  // The weights have columns for the keys of the longest sequence; those that this one lacks are 0.
  reference::AttentionResult widened(reference::AttentionResult expected, size_t b) const {
    if (!form_.with_weights) return expected;
    const int64_t num_constant = property::num_constant_keys(layer_->call());
    const int64_t narrow = num_keys(b) + num_constant;
    const int64_t wide = longest() + num_constant;
    const int64_t num_rows = num_heads() * num_new(b);
    reference::Bounded weights(static_cast<size_t>(num_rows * wide));
    for (int64_t row = 0; row < num_rows; ++row) {
      for (int64_t k = 0; k < narrow; ++k) {
        const int64_t column = k < num_keys(b) ? k : longest() + k - num_keys(b);
        const auto to = static_cast<size_t>(row * wide + column);
        const auto from = static_cast<size_t>(row * narrow + k);
        weights.values[to] = expected.weights.values[from];
        weights.errors[to] = expected.weights.errors[from];
      }
    }
    expected.weights = std::move(weights);
    return expected;
  }

  Random random_;
  LayerSpec spec_;
  std::optional<CachedLayer> layer_;
  heed_cache_options options_ = HEED_CACHE_OPTIONS_INIT;
  bool is_for_npu_ = false;
  bool reads_ = false;
  bool is_even_ = false;
  bool has_gaps_ = false;
  std::vector<Part> earlier_;
  std::vector<Part> parts_;
  Form form_;
  std::optional<Limit> mask_;
  std::optional<Limit> bias_;
};

TEST(CacheReference, RandomCallsAgreeWithAttentionOverTheWholeSequence) {
  const int64_t num_cases = property::num_rounds(property::from_environment("HEED_CACHE_CASES", 400));
  const int64_t only = property::from_environment("HEED_CACHE_CASE", -1);
  std::map<heed_dtype, property::AccuracyStatistics> statistics;
  int num_failures = 0;
  for (int64_t number = 0; number < num_cases && num_failures < 5; ++number) {
    if (only >= 0 && number != only) continue;
    testing::AssertionResult verdict = testing::AssertionSuccess();
    try {
      verdict = property::on_device([&](property::Fallback fallback) {
        RandomCall call(static_cast<uint64_t>(number) + 1, fallback);
        return call.agrees(statistics[call.cache_dtype()]);
      });
    } catch (const std::exception& failure) {
      verdict = testing::AssertionFailure() << failure.what();
    }
    EXPECT_TRUE(verdict) << "HEED_CACHE_CASE=" << number;
    if (!verdict) ++num_failures;
  }
  for (const auto& [dtype, of_dtype] : statistics) {
    std::cout << "caches of " << property::name_of(dtype) << ": " << of_dtype.elements
              << " elements, largest used fraction of the bound " << of_dtype.largest_fraction << "\n";
    EXPECT_EQ(of_dtype.without_bound, 0);
    // A bound that nothing comes near would show nothing.
    if (num_cases >= 100 && only < 0) {
      EXPECT_GT(of_dtype.largest_fraction, 0.01) << property::name_of(dtype);
    }
  }
}

// ---- borders --------------------------------------------------------------------------------------------------------

// The last rows of sequences that end around the ends of tiles, pages, key blocks and chunks.
TEST(CacheReference, LastRowsAtTheEndsOfBlocks) {
  const std::vector<NamedLayer> layers = sample_layers();
  for (const int64_t count : {15, 16, 17, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025}) {
    for (size_t number = 0; number < layers.size(); ++number) {
      const CachedLayer layer(layers[number].spec);
      for (size_t of_dtype = 0; of_dtype < kCacheDTypes.size(); ++of_dtype) {
        // The reference takes long for many rows.
        const size_t every = count < 100 ? 1 : count < 300 ? 2 : 4;
        if ((number + of_dtype) % every != 0) continue;
        const heed_cache_options contiguous = layer.contiguous(count, kCacheDTypes[of_dtype]);
        for (const int64_t num_last : {1, 4}) {
          const Cache cache = make_cache(layer, as_paged(contiguous, 64, (count + 63) / 64));
          fill_cache(layer, cache.get(), {{0, counting_from(0, count - num_last)}});
          const property::Results results =
              forward_one(layer, cache.get(), {0, counting_from(count - num_last, num_last)});
          const std::vector<ReferenceRow> rows = reference_rows(counting_from(0, count));
          EXPECT_TRUE(property::agree(results, solve(appended(layer, contiguous, rows, num_last))))
              << layers[number].name << ", cache of " << property::name_of(kCacheDTypes[of_dtype]) << ", " << count
              << " rows";
        }
      }
    }
  }
}

// Queries that are not appended have no number in their sequence: a causal mask and a window compare the positions that the
// call gives, whatever the alignment.
TEST(CacheReference, QueriesThatReadSeeKeysByTheirPositions) {
  for (const int32_t causal : {HEED_CAUSAL_TOP_LEFT, HEED_CAUSAL_BOTTOM_RIGHT}) {
    for (const int64_t window_left : {int64_t{-1}, int64_t{4}, INT64_MAX}) {
      LayerSpec spec = with_window(grouped_heads(2, 2, 8, 4), window_left);
      spec.options.window_right = INT64_MAX;
      spec.options.causal = causal;
      const CachedLayer layer(spec);
      const heed_cache_options options = layer.contiguous(30);
      const Cache cache = make_cache(layer, options);
      fill_cache(layer, cache.get(), {{0, counting_from(0, 30)}});
      Form form;
      form.use = HEED_CACHE_READ;
      form.with_weights = true;
      const std::vector<int64_t> positions = {7, 0, 29, 100};
      const Part part{0, counting_from(50, 4), positions};
      const property::Results results = forward_one(layer, cache.get(), part, form);
      CacheProblem problem;
      problem.layer = &layer;
      problem.cache = options;
      problem.keys = reference_rows(counting_from(0, 30));
      problem.queries = reference_rows(part.rows, positions);
      problem.sees = [&](int64_t /*h*/, int64_t q, int64_t k) { return k <= positions[static_cast<size_t>(q)]; };
      EXPECT_TRUE(property::agree(results, solve(problem))) << causal << ", " << window_left;
    }
  }
}

// Values of key head n are n + 1, whatever the input: a query head that read another group's keys would show it.
TEST(CacheReference, EachQueryHeadReadsTheKeysOfItsGroup) {
  for (const int64_t group : {1, 3, 4, 7}) {
    constexpr int64_t kNumKvHeads = 3;
    LayerSpec spec = grouped_heads(kNumKvHeads, group, 8, 4);
    spec.options.no_output_projection = 1;
    spec.options.output_size = 0;
    spec.options.biases = HEED_BIAS_V;
    const CachedLayer layer(spec);
    const auto set = [&](const char* name, const Array& value) {
      const property::HostTensor tensor(layer.context(), property::make_input(value));
      property::check(heed_layer_set_parameter(layer.layer(), name, tensor.handle()));
    };
    set("W_v.weight", property::filled({kNumKvHeads * 4, spec.input_size}, 0.0));
    Array bias = property::filled({kNumKvHeads * 4}, 0.0);
    for (size_t i = 0; i < bias.values.size(); ++i) {
      const size_t head = i / 4;
      bias.values[i] = static_cast<double>(head + 1);
    }
    set("W_v.bias", bias);
    for (const heed_dtype dtype : kCacheDTypes) {
      for (const heed_cache_options& options : each_layout(layer.contiguous(90, dtype), 1)) {
        const Cache cache = make_cache(layer, options);
        for (const int64_t count : {70, 1, 3}) {
          const property::Results results = forward_one(layer, cache.get(), {0, counting_from(0, count)});
          property::for_each_index(results.output->contents.dims, [&](const Dims& index, size_t place) {
            const int64_t kv_head = index[1] / 4 / group;
            const auto expected = static_cast<double>(kv_head + 1);
            EXPECT_NEAR(results.output->contents.values[place], expected, property::a_few_roundings(expected))
                << "group of " << group << ", element " << index[1];
          });
        }
      }
    }
  }
}

// ---- positions ------------------------------------------------------------------------------------------------------

// Rotary positions far apart, up to the largest: angles are in f64.
TEST(CacheReference, PositionsUpToTheLargest) {
  const std::vector<int64_t> positions = {0, 1, 4095, 131071, 1048575, 2147483646, 2147483647};
  for (const int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (const int32_t unrotated_keys : {0, 1}) {
      LayerSpec spec = grouped_heads(1, 3, 16, 8);
      spec.rope = rope_of(layout);
      const CachedLayer layer(spec);
      for (const heed_dtype dtype : kCacheDTypes) {
        heed_cache_options options = layer.contiguous(10, dtype);
        options.unrotated_keys = unrotated_keys;
        const Cache cache = make_cache(layer, options);
        const std::vector<int64_t> rows = counting_from(0, 7);
        const property::Results results = forward_one(layer, cache.get(), {0, rows, positions});
        EXPECT_TRUE(property::agree(results, solve(appended(layer, options, reference_rows(rows, positions), 7))))
            << property::name_of(dtype);
        // The positions matter.
        if (dtype != HEED_F32) continue;
        const auto other = solve(appended(layer, options, reference_rows(rows), 7));
        EXPECT_FALSE(property::agree(results, other)) << "any positions are accepted";
      }
    }
  }
}

// Drafts in a tree: siblings have one position, and a mask lets each see those before it. ALiBi, relative bias and
// rotary positions go by the position, not by the index.
TEST(CacheReference, TreesOfDrafts) {
  const DraftTree tree({-1, -1, 0, 0, 1, 2, 5, 3});
  const int64_t count = tree.size();
  for (const bool covers_all_keys : {false, true}) {
    for (const NamedLayer& named : sample_layers()) {
      const CachedLayer layer(named.spec);
      for (const heed_dtype dtype : kCacheDTypes) {
        for (const int64_t length : {0, 9, 61}) {
          const std::vector<int64_t> of_drafts = tree.positions(length);
          std::vector<int64_t> positions = counting_from(0, length);
          positions.insert(positions.end(), of_drafts.begin(), of_drafts.end());
          Form form;
          form.mask = tree.mask(covers_all_keys ? length : 0);
          const heed_cache_options contiguous = layer.contiguous(80, dtype);
          const Cache cache = make_cache(layer, as_paged(contiguous, 16, 5));
          if (length > 0) forward_one(layer, cache.get(), {0, counting_from(0, length)});
          const property::Results results =
              forward_one(layer, cache.get(), {0, counting_from(length, count), of_drafts}, form);
          CacheProblem problem =
              appended(layer, contiguous, reference_rows(counting_from(0, length + count), positions), count);
          problem.sees = [&](int64_t /*h*/, int64_t q, int64_t k) { return k < length || tree.sees(q, k - length); };
          EXPECT_TRUE(property::agree(results, solve(problem)))
              << named.name << ", cache of " << property::name_of(dtype) << ", " << length << " rows before";
        }
      }
    }
  }
}

// Computes a call with two batch elements: their sequences have lengths[b] rows, and the call appends counts[b] rows. The mask
// has Q columns, where Q is the larger count. is_of_call: whether column i of the mask is row i of those that the
// call appends; otherwise it is row i of the sequence.
void expect_mask_of_square(const std::vector<int64_t>& lengths, const std::vector<int64_t>& counts, bool is_of_call) {
  SCOPED_TRACE("lengths " + testing::PrintToString(lengths) + ", new rows " + testing::PrintToString(counts));
  const CachedLayer layer(sample_layers()[0].spec);
  const int64_t most = std::max(counts[0], counts[1]);
  Random random(5);
  Array mask = property::filled({2, 1, most, most}, 0.0);
  for (double& element : mask.values) element = random.chance(0.5) ? 1.0 : 0.0;
  const Cache cache = make_cache(layer, with_sequences(layer.contiguous(50), 2));
  std::vector<Part> parts;
  for (int64_t b = 0; b < 2; ++b) {
    const auto index = static_cast<size_t>(b);
    forward_one(layer, cache.get(), {b, counting_from(100 * b, lengths[index])});
    parts.push_back({b, counting_from(100 * b + lengths[index], counts[index])});
  }
  Form form;
  form.mask = property::make_input(mask, HEED_BOOL);
  const std::vector<property::Results> results = forward(layer, cache.get(), parts, form);
  for (int64_t b = 0; b < 2; ++b) {
    const auto index = static_cast<size_t>(b);
    const int64_t length = lengths[index];
    const int64_t first_column = is_of_call ? length : 0;
    CacheProblem problem = appended(layer, layer.contiguous(50),
                                    reference_rows(counting_from(100 * b, length + counts[index])), counts[index]);
    problem.sees = [&](int64_t /*h*/, int64_t q, int64_t k) {
      if (k > length + q) return false;
      return k < first_column || mask.values[static_cast<size_t>((b * most + q) * most + k - first_column)] != 0.0;
    };
    EXPECT_TRUE(property::agree(results[index], solve(problem))) << "element " << b;
  }
}

// Batch elements append different numbers of rows, and the mask has Q columns in place of K. Then column i is row i of those
// that the call appends, even for an element whose whole sequence has Q rows.
TEST(CacheReference, MasksOfTheCallsRowsWhereTheirNumbersDiffer) {
  expect_mask_of_square({20, 3}, {2, 4}, true);
  expect_mask_of_square({0, 20}, {4, 2}, true);
  expect_mask_of_square({2, 20}, {2, 4}, true);
}

// If no sequence has more than Q rows, K is Q, and column i of the mask is row i of the sequence.
TEST(CacheReference, MasksOfAllRowsWhereNoSequenceHasMoreThanTheCall) {
  expect_mask_of_square({0, 2}, {4, 2}, false);
  expect_mask_of_square({0, 1}, {4, 1}, false);
}

// A context shift: keys are rotated back from those as stored, once or twice, and rounded each time.
TEST(CacheReference, RenumberedKeysAreRotatedBackAndRoundedOnceMore) {
  for (const int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    for (const float attention_factor : {0.0F, 1.5F}) {
      LayerSpec spec = grouped_heads(2, 3, 10, 6);
      spec.rope = rope_of(layout);
      spec.rope->rotary_offset = 2;
      spec.rope->rotary_size = 6;
      spec.rope->attention_factor = attention_factor;
      const CachedLayer layer(spec);
      for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
        const heed_cache_options contiguous = layer.contiguous(120, dtype);
        for (const heed_cache_options& options : each_layout(contiguous, 1)) {
          const Cache cache = make_cache(layer, options);
          std::vector<ReferenceRow> rows = reference_rows(counting_from(0, 90));
          forward_one(layer, cache.get(), {0, counting_from(0, 90)});
          for (const auto& [first, count] : {std::pair{4, 30}, {10, 7}}) {
            property::check(heed_cache_discard(cache.get(), 0, first, count, 1));
            rows.erase(rows.begin() + first, rows.begin() + first + count);
            for (size_t i = static_cast<size_t>(first); i < rows.size(); ++i) rows[i].turns.push_back(count);
            // The next rows continue after the last one.
            const int64_t next = rows.back().current_position() + 1;
            const std::vector<int64_t> more = counting_from(1000 + 10 * count, 3);
            const property::Results results = forward_one(layer, cache.get(), {0, more});
            for (int64_t i = 0; i < 3; ++i) rows.push_back({more[static_cast<size_t>(i)], next + i});
            EXPECT_TRUE(property::agree(results, solve(appended(layer, contiguous, rows, 3))))
                << name_of_layout(options) << " of " << property::name_of(dtype);
          }
        }
      }
    }
  }
}

// ---- cross attention ------------------------------------------------------------------------------------------------

// The memory is projected once, from keys and values of other sizes than the queries, and read by every later call.
TEST(CacheReference, FilledMemoryIsThatOfCrossAttention) {
  Random random(71);
  heed_multi_head_attention_options options = property::two_heads();
  options.num_kv_heads = 1;
  property::MultiHeadSample sample;
  sample.num_keys = 37;
  property::Call call = property::multi_head_call(options, sample, random);
  property::want_everything_in_f32(call);
  const property::Runner runner(call);
  const reference::AttentionSizes sizes = property::sizes_of(call);
  heed_cache_options geometry = HEED_CACHE_OPTIONS_INIT;
  geometry.max_sequences = 2;
  geometry.num_kv_heads = sizes.num_kv_heads;
  geometry.head_size = sizes.head_size;
  geometry.value_head_size = sizes.value_head_size;
  geometry.capacity = 40;
  const Cache cache = make_cache(runner.context(), geometry);
  const property::HostTensor keys(runner.context(), *call.keys);
  const property::HostTensor values(runner.context(), *call.values);
  heed_cache_inputs cache_inputs = HEED_CACHE_INPUTS_INIT;
  cache_inputs.cache = cache.get();
  heed_layer_inputs memory = HEED_LAYER_INPUTS_INIT;
  memory.cache = &cache_inputs;
  memory.keys = keys.handle();
  memory.values = values.handle();
  property::check(heed_layer_fill_cache(runner.layer(), &memory, nullptr));
  EXPECT_EQ(heed_cache_length(cache.get(), 0), sample.num_keys);
  EXPECT_EQ(heed_cache_length(cache.get(), 1), sample.num_keys);

  const property::ResultDims dims = property::result_dims(call);
  const auto result_of = [&](const Dims& of) {
    return property::HostTensor(runner.context(), HEED_F32, of, property::row_major_strides(of));
  };
  for (int round = 0; round < 3; ++round) {
    call.queries = property::make_input(property::random_array(call.queries.contents.dims, random, 2.0));
    const property::HostTensor queries(runner.context(), call.queries);
    const property::HostTensor output = result_of(dims.output);
    const property::HostTensor weights = result_of(dims.weights);
    const property::HostTensor log_sum_exp = result_of(dims.log_sum_exp);
    cache_inputs.use = HEED_CACHE_READ;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.cache = &cache_inputs;
    inputs.queries = queries.handle();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.handle();
    outputs.weights = weights.handle();
    outputs.log_sum_exp = log_sum_exp.handle();
    property::check(heed_layer_forward(runner.layer(), &inputs, nullptr, &outputs));
    const auto read = [](const property::HostTensor& tensor) {
      return property::Result{HEED_F32, tensor.read(), tensor.read_bytes()};
    };
    const property::Results results = {read(output), read(weights), read(log_sum_exp)};
    EXPECT_TRUE(property::agree(results, property::solve(call))) << "round " << round;
  }
}

}  // namespace
}  // namespace heed::cache_test
