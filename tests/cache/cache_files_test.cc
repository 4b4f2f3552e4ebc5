// SPDX-License-Identifier: Apache-2.0
// Files of sequences: every layout loads what every other one saved, and a file that does not fit is refused by name, with
// nothing changed.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/sample_layers.h"
#include "cache/support/step.h"
#include "capi/support/files.h"
#include "capi/support/objects.h"

namespace heed::cache_test {
namespace {

constexpr int64_t kRows = 37;

LayerSpec interleaved_layer() {
  LayerSpec spec = grouped_heads(2, 2, 4, 6);
  spec.rope = rope_of(HEED_ROPE_INTERLEAVED);
  return spec;
}

TEST(CacheFiles, EachLayoutLoadsWhatEachOtherSaved) {
  const CachedLayer layer(interleaved_layer());
  for (const heed_dtype dtype : kCacheDTypes) {
    const std::vector<heed_cache_options> layouts = each_layout(layer.contiguous(64, dtype), 2);
    for (const heed_cache_options& from : layouts) {
      const Cache source = make_cache(layer, from);
      forward_one(layer, source.get(), {0, counting_from(0, kRows)});
      const std::vector<uint8_t> bytes = saved(source.get(), 0);
      const RowBits expected = row_bits(forward_one(layer, source.get(), {0, counting_from(kRows, 5)}));
      for (const heed_cache_options& to : layouts) {
        SCOPED_TRACE(std::string(name_of_layout(from)) + " to " + name_of_layout(to));
        const Cache destination = make_cache(layer, to);
        forward_one(layer, destination.get(), {1, counting_from(90, 7)});
        load_saved(destination.get(), 1, bytes);
        EXPECT_EQ(heed_cache_length(destination.get(), 1), kRows);
        EXPECT_EQ(saved(destination.get(), 1), bytes);
        EXPECT_TRUE(same_rows(expected, row_bits(forward_one(layer, destination.get(), {1, counting_from(kRows, 5)}))));
      }
    }
  }
}

TEST(CacheFiles, OfARingHaveTheRowsThatItKeeps) {
  const CachedLayer layer(interleaved_layer());
  const Cache ring = make_cache(layer, as_ring(layer.contiguous(16), 3));
  append_in_pieces(layer, ring.get(), 0, counting_from(0, 200), std::vector<int64_t>(200, 1));
  ASSERT_GT(heed_cache_first(ring.get(), 0), 3);
  const Cache contiguous = make_cache(layer, layer.contiguous(300));
  load_saved(contiguous.get(), 0, saved(ring.get(), 0));
  EXPECT_EQ(heed_cache_length(contiguous.get(), 0), 200);
  EXPECT_EQ(heed_cache_first(contiguous.get(), 0), heed_cache_first(ring.get(), 0));
  EXPECT_EQ(saved(contiguous.get(), 0), saved(ring.get(), 0));
  // Another ring of the same size goes on with the same bits.
  const Cache other = make_cache(layer, as_ring(layer.contiguous(16), 3));
  load_saved(other.get(), 0, saved(contiguous.get(), 0));
  EXPECT_TRUE(same_rows(row_bits(forward_one(layer, ring.get(), {0, counting_from(200, 90)})),
                        row_bits(forward_one(layer, other.get(), {0, counting_from(200, 90)}))));
}

// A ring has as many sinks as its options say. The file of a ring that had dropped rows has only the sinks of that ring. So
// another ring with more sinks that loads it has only those of the file.
TEST(CacheFiles, OfARingWithOtherSinks) {
  const CachedLayer layer(interleaved_layer());
  for (const int64_t num_rows : {20, 200}) {
    for (const auto& [num_saved, num_own] : {std::pair<int64_t, int64_t>{3, 5}, {5, 3}}) {
      SCOPED_TRACE(testing::Message() << num_rows << " rows, sinks " << num_saved << " and " << num_own);
      const auto ring = [&](int64_t num_sinks) { return make_cache(layer, as_ring(layer.contiguous(16), num_sinks)); };
      const Cache source = ring(num_saved);
      append_in_pieces(layer, source.get(), 0, counting_from(0, num_rows),
                       std::vector<int64_t>(static_cast<size_t>(num_rows), 1));
      const std::vector<uint8_t> file = saved(source.get(), 0);
      const int64_t num_sinks = num_rows > 100 ? std::min(num_saved, num_own) : num_own;
      const Cache cache = ring(num_own);
      const Cache expected = ring(num_sinks);
      for (heed_cache* const loads : {cache.get(), expected.get()}) load_saved(loads, 0, file);
      EXPECT_TRUE(same_rows(row_bits(forward_one(layer, cache.get(), {0, counting_from(num_rows, 150)})),
                            row_bits(forward_one(layer, expected.get(), {0, counting_from(num_rows, 150)}))));
      EXPECT_EQ(saved(cache.get(), 0), saved(expected.get(), 0));
      EXPECT_EQ(heed_cache_num_rows(cache.get(), 0, 0),
                num_sinks + heed_cache_length(cache.get(), 0) - heed_cache_first(cache.get(), 0));
      // After a rewind to 0 the sequence has no rows of the file, so the ring has as many sinks as its options say.
      property::check(heed_cache_rewind(cache.get(), 0, 0));
      append_in_pieces(layer, cache.get(), 0, counting_from(0, 150), std::vector<int64_t>(150, 1));
      EXPECT_EQ(heed_cache_num_rows(cache.get(), 0, 0),
                num_own + heed_cache_length(cache.get(), 0) - heed_cache_first(cache.get(), 0));
    }
  }
}

TEST(CacheFiles, KeepPositions) {
  const CachedLayer layer(interleaved_layer());
  const Cache source = make_cache(layer, layer.contiguous(64));
  forward_one(layer, source.get(), {0, counting_from(0, 3), {5, 9, 9}});
  const Cache destination = make_cache(layer, layer.contiguous(64));
  load_saved(destination.get(), 0, saved(source.get(), 0));
  EXPECT_TRUE(same_rows(row_bits(forward_one(layer, source.get(), {0, {3}})),
                        row_bits(forward_one(layer, destination.get(), {0, {3}}))));
  EXPECT_EQ(saved(destination.get(), 0), saved(source.get(), 0));
}

// A ring that was rewound to its first row keeps none, but knows how many there were.
TEST(CacheFiles, OfASequenceThatKeepsNoRowSayWhereItContinues) {
  const CachedLayer layer(interleaved_layer());
  const heed_cache_options options = as_ring(layer.contiguous(1), 0);
  const Cache cache = make_cache(layer, options);
  forward_one(layer, cache.get(), {0, counting_from(0, 200)});
  const int64_t first = heed_cache_first(cache.get(), 0);
  ASSERT_GT(first, 0);
  property::check(heed_cache_rewind(cache.get(), 0, first));
  const Cache loaded = make_cache(layer, options);
  load_saved(loaded.get(), 0, saved(cache.get(), 0));
  for (heed_cache* each : {cache.get(), loaded.get()}) forward_one(layer, each, {0, counting_from(first, 1)});
  // The saved bytes have the position of the row.
  EXPECT_EQ(saved(loaded.get(), 0), saved(cache.get(), 0));
}

TEST(CacheFiles, OfAnEmptySequenceEmptyIt) {
  const CachedLayer layer(interleaved_layer());
  const Cache cache = make_cache(layer, as_paged(with_sequences(layer.contiguous(64), 2), 16, 4));
  forward_one(layer, cache.get(), {0, counting_from(0, 20)});
  load_saved(cache.get(), 0, saved(cache.get(), 1));
  EXPECT_EQ(heed_cache_length(cache.get(), 0), 0);
  EXPECT_EQ(heed_cache_free_pages(cache.get()), 4);
}

TEST(CacheFiles, OnDiskHaveTheSameBytes) {
  const CachedLayer layer(interleaved_layer());
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.path("sequence.safetensors");
  const Cache cache = make_cache(layer, with_sequences(layer.contiguous(64, HEED_I8), 2));
  forward_one(layer, cache.get(), {0, counting_from(0, 20)});
  property::check(heed_cache_save(cache.get(), 0, path.c_str()));
  property::check(heed_cache_load(cache.get(), 1, path.c_str()));
  EXPECT_EQ(saved(cache.get(), 1), saved(cache.get(), 0));
}

struct FileTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> dims;

  bool operator==(const FileTensor&) const = default;
};

// The tensors of a file, as heed_weights lists them.
std::vector<FileTensor> listed(const CachedLayer& layer, const std::vector<uint8_t>& bytes) {
  heed_weights* opened = nullptr;
  property::check(heed_weights_open_memory(layer.context(), bytes.data(), bytes.size(), &opened));
  const std::unique_ptr<heed_weights, property::Destroyer<heed_weights_destroy>> weights(opened);
  std::vector<FileTensor> tensors;
  for (int64_t i = 0; i < heed_weights_count(weights.get()); ++i) {
    FileTensor& tensor = tensors.emplace_back();
    tensor.name = heed_weights_name(weights.get(), i);
    tensor.dtype = heed_weights_dtype_name(weights.get(), i);
    for (int32_t axis = 0; axis < heed_weights_rank(weights.get(), i); ++axis)
      tensor.dims.push_back(heed_weights_dim(weights.get(), i, axis));
  }
  return tensors;
}

// docs/caches.md lists them.
std::vector<FileTensor> expected_tensors(const std::string& dtype, const std::vector<std::string>& layers,
                                         int64_t num_rows, int64_t rope_size) {
  std::vector<FileTensor> tensors;
  for (const std::string& layer : layers) {
    if (dtype == "I8") tensors.push_back({layer + "key_scales", "F32", {2, num_rows}});
    tensors.push_back({layer + "keys", dtype, {2, num_rows, 4}});
    tensors.push_back({layer + "positions", "I32", {num_rows}});
    if (dtype == "I8") tensors.push_back({layer + "value_scales", "F32", {2, num_rows}});
    tensors.push_back({layer + "values", dtype, {2, num_rows, 6}});
  }
  tensors.push_back({"rope", "U8", {rope_size}});
  tensors.push_back({"rows", "I64", {5}});
  return tensors;
}

// Other programs find the tensors of a saved cache by name. The file has exactly those that docs/caches.md lists, and
// heed_tensor_load_safetensors can load each of them from it.
TEST(CacheFiles, HaveTheTensorsThatTheManualLists) {
  const CachedLayer layer(interleaved_layer());
  const capi_test::TemporaryFolder folder;
  const std::vector<std::string> layers = {"layers.0.", "layers.1."};
  const std::vector<int32_t> positions = {0, 3, 4, 9, 12};
  const auto num_rows = static_cast<int64_t>(positions.size());
  for (const heed_dtype dtype : kCacheDTypes) {
    SCOPED_TRACE(property::name_of(dtype));
    heed_cache_options options = as_paged(layer.contiguous(64, dtype), 16, 4);
    options.num_layers = 2;
    const Cache cache = make_cache(layer, options);
    Form form;
    for (form.layer = 0; form.layer < 2; ++form.layer) {
      const Part part{0, counting_from(10 * form.layer, num_rows), {positions.begin(), positions.end()}};
      forward_one(layer, cache.get(), part, form);
    }
    const std::vector<uint8_t> bytes = saved(cache.get(), 0);
    const std::string path = folder.write(property::name_of(dtype), std::string(bytes.begin(), bytes.end()));
    const auto loaded = [&](const std::string& name) {
      heed_tensor* tensor = nullptr;
      property::check(heed_tensor_load_safetensors(layer.context(), path.c_str(), name.c_str(), &tensor));
      return property::Tensor(tensor);
    };
    const std::vector<uint8_t> rope_bytes = capi_test::read_elements<uint8_t>(loaded("rope").get());
    const std::string rope(rope_bytes.begin(), rope_bytes.end());
    EXPECT_NE(rope.find(R"("layout":"interleaved")"), std::string::npos) << rope;
    EXPECT_EQ(listed(layer, bytes),
              expected_tensors(property::name_of(dtype), layers, num_rows, static_cast<int64_t>(rope.size())));
    EXPECT_EQ(capi_test::read_elements<int64_t>(loaded("rows").get()), (std::vector<int64_t>{1, num_rows, 0, 0, 0}));
    for (size_t number = 0; number < layers.size(); ++number) {
      EXPECT_EQ(capi_test::read_elements<int32_t>(loaded(layers[number] + "positions").get()), positions);
      const capi_test::Tensor keys = capi_test::make_tensor(layer.context(), {2, num_rows, 4});
      const capi_test::Tensor values = capi_test::make_tensor(layer.context(), {2, num_rows, 6});
      property::check(heed_cache_read(cache.get(), static_cast<int64_t>(number), 0, keys.get(), values.get()));
      for (const auto& [kept, part, scales_of] :
           {std::tuple{keys.get(), "keys", "key_scales"}, {values.get(), "values", "value_scales"}}) {
        std::vector<float> in_file = capi_test::read_floats(layer.context(), loaded(layers[number] + part).get());
        if (dtype == HEED_I8) {
          const std::vector<float> scales =
              capi_test::read_floats(layer.context(), loaded(layers[number] + scales_of).get());
          const size_t size = in_file.size() / scales.size();
          for (size_t i = 0; i < in_file.size(); ++i) in_file[i] *= scales[i / size];
        }
        EXPECT_EQ(capi_test::read_floats(layer.context(), kept), in_file) << part << " of layer " << number;
      }
    }
  }
}

// A cache with 20 rows in sequence 0 and 5 in sequence 1.
class Held {
 public:
  explicit Held(const LayerSpec& spec, const std::function<void(heed_cache_options&)>& change = {}) : layer_(spec) {
    heed_cache_options options = with_sequences(layer_.contiguous(64), 2);
    if (change) change(options);
    cache_ = make_cache(layer_, options);
    for (int64_t number = 0; number < std::max<int64_t>(1, options.num_layers); ++number) {
      Form form;
      form.layer = number;
      forward_one(layer_, cache_.get(), {0, counting_from(0, 20)}, form);
      forward_one(layer_, cache_.get(), {1, counting_from(50, 5)}, form);
    }
  }
  heed_cache* cache() const { return cache_.get(); }

 private:
  CachedLayer layer_;
  Cache cache_;
};

void expect_refused(const Held& held, const std::vector<uint8_t>& bytes, heed_status status, const std::string& words,
                    int64_t sequence = 0) {
  const CacheState before = state_of(held.cache(), 2);
  EXPECT_EQ(heed_cache_load_memory(held.cache(), sequence, bytes.data(), bytes.size()), status) << words;
  EXPECT_NE(std::string(heed_last_error()).find(words), std::string::npos) << heed_last_error();
  EXPECT_TRUE(same_state(before, state_of(held.cache(), 2)));
}

TEST(CacheFiles, OfAnotherGeometryAreRefused) {
  const Held held(interleaved_layer());
  const auto of_layer = [](LayerSpec spec) { return saved(Held(spec).cache(), 0); };
  LayerSpec other = grouped_heads(1, 2, 4, 6);
  other.rope = rope_of(HEED_ROPE_INTERLEAVED);
  expect_refused(held, of_layer(other), HEED_ERROR_INVALID_ARGUMENT, "\"layers.0.keys\"");
  other = grouped_heads(2, 2, 4, 5);
  other.rope = rope_of(HEED_ROPE_INTERLEAVED);
  expect_refused(held, of_layer(other), HEED_ERROR_INVALID_ARGUMENT, "\"layers.0.values\"");
  other = interleaved_layer();
  other.rope = rope_of(HEED_ROPE_HALF);
  expect_refused(held, of_layer(other), HEED_ERROR_INVALID_ARGUMENT, "interleaved");
  // The rows of the other sequence are those that count.
  expect_refused(held, of_layer(other), HEED_ERROR_INVALID_ARGUMENT, "interleaved", 1);
  other.rope.reset();
  expect_refused(held, of_layer(other), HEED_ERROR_INVALID_ARGUMENT, "none");
  const auto of_options = [](const std::function<void(heed_cache_options&)>& change) {
    return saved(Held(interleaved_layer(), change).cache(), 0);
  };
  expect_refused(held, of_options([](heed_cache_options& o) { o.dtype = HEED_F16; }), HEED_ERROR_INVALID_ARGUMENT,
                 "is F16");
  expect_refused(held, of_options([](heed_cache_options& o) { o.num_layers = 2; }), HEED_ERROR_INVALID_ARGUMENT,
                 "more layers");
  expect_refused(held, of_options([](heed_cache_options& o) { o.unrotated_keys = 1; }), HEED_ERROR_INVALID_ARGUMENT,
                 "unrotated");
  const Held two_layers(interleaved_layer(), [](heed_cache_options& o) { o.num_layers = 2; });
  expect_refused(two_layers, saved(held.cache(), 0), HEED_ERROR_NOT_FOUND, "\"layers.1.keys\"");
}

TEST(CacheFiles, WithOtherRotaryPositionsReplaceTheOnlySequence) {
  LayerSpec other = interleaved_layer();
  other.rope = rope_of(HEED_ROPE_HALF);
  const Held half(other);
  const CachedLayer layer(interleaved_layer());
  const Cache cache = make_cache(layer, layer.contiguous(64));
  forward_one(layer, cache.get(), {0, counting_from(0, 4)});
  load_saved(cache.get(), 0, saved(half.cache(), 0));
  EXPECT_EQ(saved(cache.get(), 0), saved(half.cache(), 0));
  // The layer's own rotary positions are others now.
  Step step(layer, cache.get(), {{0, {20}}});
  EXPECT_EQ(step.run(), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error()).find("interleaved"), std::string::npos) << heed_last_error();
}

TEST(CacheFiles, ThatAreCutOrForeignAreRefused) {
  const Held held(interleaved_layer());
  const std::vector<uint8_t> whole = saved(held.cache(), 0);
  for (size_t size = 1; size < whole.size(); size += 1 + size / 8) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    expect_refused(held, cut, HEED_ERROR_CORRUPT_FILE, "");
  }
  const std::string foreign = capi_test::safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  expect_refused(held, {foreign.begin(), foreign.end()}, HEED_ERROR_NOT_FOUND, "\"rows\"");
}

// Where the elements of a tensor begin in a file.
size_t offset_in(const std::vector<uint8_t>& file, const std::string& name) {
  uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  const std::string text(file.begin() + 8, file.begin() + 8 + static_cast<std::ptrdiff_t>(header));
  const size_t at = text.find('"' + name + '"');
  EXPECT_NE(at, std::string::npos) << name;
  return 8 + header + std::stoul(text.substr(text.find("data_offsets", at) + 15));
}

// Numbers of "rows" that no cache can have.
TEST(CacheFiles, WithNumbersThatNoCacheHasAreRefused) {
  struct WrongNumber {
    size_t element;
    int64_t number;
    heed_status status;
    const char* words = "rows";
  };
  const auto expect_each_refused = [](const Held& held, const std::vector<WrongNumber>& numbers) {
    const std::vector<uint8_t> whole = saved(held.cache(), 0);
    for (const WrongNumber& wrong : numbers) {
      std::vector<uint8_t> changed = whole;
      std::memcpy(changed.data() + offset_in(whole, "rows") + 8 * wrong.element, &wrong.number, sizeof wrong.number);
      expect_refused(held, changed, wrong.status, wrong.words);
    }
  };
  expect_each_refused(Held(interleaved_layer()),
                      {{0, 3, HEED_ERROR_UNSUPPORTED, "version 3"},
                       {1, -1, HEED_ERROR_CORRUPT_FILE},
                       {1, int64_t{1} << 31, HEED_ERROR_CORRUPT_FILE},
                       {2, -1, HEED_ERROR_CORRUPT_FILE},
                       {2, 21, HEED_ERROR_CORRUPT_FILE, "has 21 sinks, expected at most 20, the number of its rows"},
                       {2, INT64_MAX, HEED_ERROR_CORRUPT_FILE, "sinks, expected at most 20"},
                       {3, -1, HEED_ERROR_CORRUPT_FILE},
                       {3, 21, HEED_ERROR_CORRUPT_FILE},
                       {4, 1, HEED_ERROR_INVALID_ARGUMENT, "unrotated"},
                       {4, 2, HEED_ERROR_CORRUPT_FILE, "says 2 about whether its keys are unrotated, expected 0 or 1"},
                       {4, -1, HEED_ERROR_CORRUPT_FILE, "expected 0 or 1"}});
  expect_each_refused(
      Held(interleaved_layer(), [](heed_cache_options& o) { o.unrotated_keys = 1; }),
      {{4, 2, HEED_ERROR_CORRUPT_FILE, "expected 0 or 1"}, {4, 0, HEED_ERROR_INVALID_ARGUMENT, "rotated"}});
}

// A ring of 16 rows with 3 sinks that has dropped rows.
TEST(CacheFiles, WithMoreSinksThanRowsBeforeTheOthersAreRefused) {
  const CachedLayer layer(interleaved_layer());
  const Cache ring = make_cache(layer, as_ring(layer.contiguous(16), 3));
  append_in_pieces(layer, ring.get(), 0, counting_from(0, 200), std::vector<int64_t>(200, 1));
  const int64_t first = heed_cache_first(ring.get(), 0);
  std::vector<uint8_t> file = saved(ring.get(), 0);
  const int64_t num_sinks = first + 1;
  std::memcpy(file.data() + offset_in(file, "rows") + 16, &num_sinks, sizeof num_sinks);
  EXPECT_EQ(heed_cache_load_memory(ring.get(), 0, file.data(), file.size()), HEED_ERROR_CORRUPT_FILE);
  const std::string words = "sinks, expected at most " + std::to_string(first) + ", the number of rows before";
  EXPECT_NE(std::string(heed_last_error()).find(words), std::string::npos) << heed_last_error();
}

// A sequence with fewer rows than the ring has sinks, in one layer or in all.
TEST(CacheFiles, OfARingWithFewerRowsThanSinksAreLoaded) {
  const CachedLayer layer(interleaved_layer());
  heed_cache_options options = as_ring(layer.contiguous(16), 5);
  options.num_layers = 2;
  const Cache ring = make_cache(layer, options);
  Form second;
  second.layer = 1;
  forward_one(layer, ring.get(), {0, {0, 1}});
  forward_one(layer, ring.get(), {0, {0, 1}}, second);
  load_saved(ring.get(), 0, saved(ring.get(), 0));
  forward_one(layer, ring.get(), {0, counting_from(2, 200)});
  const std::vector<uint8_t> behind = saved(ring.get(), 0);
  const Cache other = make_cache(layer, options);
  load_saved(other.get(), 0, behind);
  EXPECT_EQ(heed_cache_length(other.get(), 0), 2);
  EXPECT_EQ(saved(other.get(), 0), behind);
}

// Each kind of rotary positions, with numbers of many digits.
std::vector<LayerSpec> layers_of_each_scaling() {
  static const float kFactors[] = {1.1F, 0.1F};
  static const float kShortFactors[] = {1.0F, 3.3333333F};
  std::vector<LayerSpec> specs(8, interleaved_layer());
  specs[0].rope.reset();
  specs[1].rope->base = 1.0e6F;
  specs[2].rope->scaling = HEED_ROPE_SCALING_LINEAR;
  specs[3].rope->scaling = HEED_ROPE_SCALING_NTK;
  specs[4].rope->scaling = HEED_ROPE_SCALING_YARN;
  specs[4].rope->no_rounding = 1;
  specs[5].rope->scaling = HEED_ROPE_SCALING_LLAMA3;
  for (size_t i = 2; i < 6; ++i) specs[i].rope->factor = 7.6999998F;
  for (size_t i = 4; i < 6; ++i) specs[i].rope->original_length = 8192;
  for (size_t i = 6; i < 8; ++i) {
    specs[i].rope->scaling = HEED_ROPE_SCALING_FACTORS;
    specs[i].rope->num_factors = 2;
    specs[i].rope->factors = kFactors;
    specs[i].rope->attention_factor = 1.1902381F;
  }
  specs[7].rope->short_factors = kShortFactors;
  specs[7].rope->original_length = 4096;
  return specs;
}

// Any other byte of the rotary positions is found when the file is loaded, not by the next step.
TEST(CacheFiles, WithRotaryPositionsThatNoLayerHasAreRefused) {
  for (const LayerSpec& spec : layers_of_each_scaling()) {
    const Held held(spec);
    const std::vector<uint8_t> whole = saved(held.cache(), 0);
    load_saved(held.cache(), 0, whole);
    const size_t begin = offset_in(whole, "rope");
    const size_t end =
        std::find(whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end(), spec.rope ? '}' : 'e') -
        whole.begin() + 1;
    const std::string text(whole.begin() + static_cast<std::ptrdiff_t>(begin),
                           whole.begin() + static_cast<std::ptrdiff_t>(end));
    for (size_t at = begin; at < end; ++at) {
      for (const uint8_t byte : {uint8_t{0}, uint8_t{0xFF}, uint8_t{' '}, uint8_t{'"'}, uint8_t{'x'}}) {
        if (whole[at] == byte) continue;
        std::vector<uint8_t> changed = whole;
        changed[at] = byte;
        expect_refused(held, changed, HEED_ERROR_CORRUPT_FILE, "\"rope\" of \"memory\"");
      }
    }
    ASSERT_GT(end - begin, 3u) << text;
  }
}

TEST(CacheFiles, NeedCapacityAndPages) {
  const CachedLayer layer(interleaved_layer());
  const std::vector<uint8_t> bytes = saved(Held(interleaved_layer()).cache(), 0);
  const Cache small = make_cache(layer, layer.contiguous(19));
  EXPECT_EQ(heed_cache_load_memory(small.get(), 0, bytes.data(), bytes.size()), HEED_ERROR_CACHE_FULL);
  EXPECT_NE(std::string(heed_last_error()).find("20 rows needed, 19 free"), std::string::npos) << heed_last_error();
  // Its own pages are free for it.
  const Cache paged = make_cache(layer, as_paged(layer.contiguous(32), 16, 2));
  forward_one(layer, paged.get(), {0, counting_from(0, 32)});
  load_saved(paged.get(), 0, bytes);
  EXPECT_EQ(saved(paged.get(), 0), bytes);
}

}  // namespace
}  // namespace heed::cache_test
