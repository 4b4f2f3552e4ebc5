// SPDX-License-Identifier: Apache-2.0
// Bad inputs of the functions of caches: each gives its status and a sentence that names the argument, and leaves the
// cache as it was.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/rows.h"
#include "cache/support/step.h"
#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::cache_test {
namespace {

using capi_test::forget_last_error;
using capi_test::invalid;
using capi_test::is_refused;
using capi_test::Refusal;

constexpr int64_t kNumSequences = 3;

LayerSpec usual_layer() {
  LayerSpec spec = grouped_heads(2, 2, 4, 6);
  spec.rope = rope_of(HEED_ROPE_HALF);
  return spec;
}

// Two layers and four pages of 16 rows. Sequence 0 has 20 rows, sequence 1 has 5, sequence 2 none: a page is free.
class Scene {
 public:
  explicit Scene(heed_dtype dtype = HEED_F32) : layer(usual_layer()) {
    options = as_paged(with_sequences(layer.contiguous(60, dtype), kNumSequences), 16, 4);
    options.num_layers = 2;
    handle = make_cache(layer, options);
    append({{0, counting_from(0, 20)}, {1, counting_from(100, 5)}});
  }

  heed_cache* cache() const { return handle.get(); }
  CacheState state() const { return state_of(cache(), kNumSequences); }

  // To both layers.
  void append(const std::vector<Part>& parts) const {
    for (const int64_t number : {0, 1}) {
      Form form;
      form.layer = number;
      forward(layer, cache(), parts, form);
    }
  }

  // A call of three rows of sequence 0, with a change.
  heed_status call(const std::function<void(Step&)>& change) const {
    return call({{0, counting_from(20, 3)}}, {}, change);
  }
  heed_status call(
      const std::vector<Part>& parts, const Form& form = {},
      const std::function<void(Step&)>& change = [](Step&) {}) const {
    Step step(layer, cache(), parts, form);
    change(step);
    return step.run();
  }

  CachedLayer layer;
  heed_cache_options options;
  Cache handle;
};

struct RefusedOperation {
  const char* what;
  std::function<heed_status(const Scene& scene)> call;
  Refusal expected;
};

void expect_refused_on(const Scene& scene, const std::vector<RefusedOperation>& operations) {
  for (const RefusedOperation& operation : operations) {
    SCOPED_TRACE(operation.what);
    const CacheState before = scene.state();
    forget_last_error();
    EXPECT_TRUE(is_refused(operation.call(scene), operation.expected));
    EXPECT_TRUE(same_state(scene.state(), before));
  }
}

void expect_refused(const std::vector<RefusedOperation>& operations) { expect_refused_on(Scene(), operations); }

// ---- handles --------------------------------------------------------------------------------------------------------

TEST(CacheErrors, PointersThatAreNull) {
  const capi_test::Context context = capi_test::make_context();
  const heed_cache_options options = Scene().options;
  size_t num_bytes = 0;
  heed_cache* cache = nullptr;
  const std::vector<std::pair<std::function<heed_status()>, const char*>> calls = {
      {[&] { return heed_cache_size(nullptr, &num_bytes); }, "options"},
      {[&] { return heed_cache_size(&options, nullptr); }, "num_bytes"},
      {[&] { return heed_cache_create(nullptr, &options, &cache); }, "context"},
      {[&] { return heed_cache_create(context.get(), nullptr, &cache); }, "options"},
      {[&] { return heed_cache_create(context.get(), &options, nullptr); }, "cache"},
      {[] { return heed_cache_reserve(nullptr, 0, 1); }, "cache"},
      {[] { return heed_cache_rewind(nullptr, 0, 0); }, "cache"},
      {[] { return heed_cache_fork(nullptr, 0, 0, 1); }, "cache"},
      {[] { return heed_cache_reorder(nullptr, nullptr, 0); }, "cache"},
      {[] { return heed_cache_accept(nullptr, 0, 0, nullptr, 0); }, "cache"},
      {[] { return heed_cache_discard(nullptr, 0, 0, 0, 0); }, "cache"},
      {[] { return heed_cache_read(nullptr, 0, 0, nullptr, nullptr); }, "cache"},
      {[] { return heed_cache_save(nullptr, 0, "x"); }, "cache"},
      {[] { return heed_cache_load(nullptr, 0, "x"); }, "cache"},
      {[&] { return heed_cache_save_memory(nullptr, 0, nullptr, 0, &num_bytes); }, "cache"},
      {[] { return heed_cache_load_memory(nullptr, 0, "x", 1); }, "cache"},
  };
  for (const auto& [call, word] : calls) {
    forget_last_error();
    EXPECT_TRUE(is_refused(call(), invalid({word, "NULL"})) || is_refused(heed_last_status(), invalid({word})));
  }
  EXPECT_EQ(cache, nullptr);
  heed_cache_destroy(nullptr);
}

TEST(CacheErrors, GettersOfABadHandleOrSequence) {
  const Scene scene;
  EXPECT_EQ(heed_cache_length(nullptr, 0), -1);
  EXPECT_EQ(heed_cache_first(nullptr, 0), -1);
  EXPECT_EQ(heed_cache_free_pages(nullptr), -1);
  for (const int64_t sequence : {int64_t{-1}, kNumSequences, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(heed_cache_length(scene.cache(), sequence), -1) << sequence;
    EXPECT_EQ(heed_cache_first(scene.cache(), sequence), -1) << sequence;
    EXPECT_EQ(heed_cache_num_rows(scene.cache(), 0, sequence), -1) << sequence;
  }
  EXPECT_EQ(heed_cache_num_rows(nullptr, 0, 0), -1);
  EXPECT_EQ(heed_cache_num_rows(scene.cache(), -1, 0), -1);
  EXPECT_EQ(heed_cache_num_rows(scene.cache(), 0, 0), 20);
  EXPECT_EQ(heed_cache_length(scene.cache(), 0), 20);
  EXPECT_EQ(heed_cache_first(scene.cache(), 0), 0);
  EXPECT_EQ(heed_cache_free_pages(scene.cache()), 1);
}

// ---- operations on sequences ----------------------------------------------------------------------------------------

TEST(CacheErrors, SequencesAndLengthsThatACacheDoesNotHave) {
  expect_refused({
      {"reserve below", [](const Scene& s) { return heed_cache_reserve(s.cache(), -1, 1); },
       invalid({"sequence", "-1"})},
      {"reserve above", [](const Scene& s) { return heed_cache_reserve(s.cache(), 3, 1); }, invalid({"sequence", "3"})},
      {"reserve less than nothing", [](const Scene& s) { return heed_cache_reserve(s.cache(), 0, -1); },
       invalid({"length", "-1"})},
      {"reserve more than the capacity", [](const Scene& s) { return heed_cache_reserve(s.cache(), 0, 61); },
       Refusal{HEED_ERROR_CACHE_FULL, {"41 rows needed, 40 free"}}},
      {"rewind below", [](const Scene& s) { return heed_cache_rewind(s.cache(), -1, 0); }, invalid({"sequence", "-1"})},
      {"rewind above", [](const Scene& s) { return heed_cache_rewind(s.cache(), 3, 0); }, invalid({"sequence", "3"})},
      {"rewind to a negative length", [](const Scene& s) { return heed_cache_rewind(s.cache(), 0, -1); },
       invalid({"length", "-1"})},
      {"rewind forward", [](const Scene& s) { return heed_cache_rewind(s.cache(), 0, 21); },
       invalid({"length", "21", "20"})},
      {"fork from none", [](const Scene& s) { return heed_cache_fork(s.cache(), 3, 0, 1); }, invalid({"from", "3"})},
      {"fork to none", [](const Scene& s) { return heed_cache_fork(s.cache(), 0, 5, -1); }, invalid({"to", "-1"})},
      {"fork too many rows", [](const Scene& s) { return heed_cache_fork(s.cache(), 1, 6, 2); },
       invalid({"length", "6", "5"})},
      {"fork a negative number", [](const Scene& s) { return heed_cache_fork(s.cache(), 1, -1, 2); },
       invalid({"length", "-1"})},
  });
}

TEST(CacheErrors, SourcesThatACacheDoesNotHave) {
  static constexpr int64_t kSources[] = {0, 3, 1, 0};
  static constexpr int64_t kNegative[] = {-1};
  expect_refused({
      {"a negative number of sources", [](const Scene& s) { return heed_cache_reorder(s.cache(), kSources, -1); },
       invalid({"num_sources", "-1"})},
      {"more sources than sequences", [](const Scene& s) { return heed_cache_reorder(s.cache(), kSources, 4); },
       invalid({"num_sources", "4"})},
      {"a source above", [](const Scene& s) { return heed_cache_reorder(s.cache(), kSources, 2); },
       invalid({"sources", "3"})},
      {"a source below", [](const Scene& s) { return heed_cache_reorder(s.cache(), kNegative, 1); },
       invalid({"sources", "-1"})},
      {"no sources", [](const Scene& s) { return heed_cache_reorder(s.cache(), nullptr, 1); }, invalid({"sources"})},
  });
}

TEST(CacheErrors, RowsThatCannotBeAccepted) {
  const auto accept = [](int64_t sequence, int64_t from, std::vector<int64_t> kept) {
    return [=](const Scene& s) {
      return heed_cache_accept(s.cache(), sequence, from, kept.data(), static_cast<int64_t>(kept.size()));
    };
  };
  expect_refused({
      {"sequence", accept(3, 0, {0}), invalid({"sequence", "3"})},
      {"from below", accept(0, -1, {0}), invalid({"from", "-1"})},
      {"from above", accept(0, 21, {0}), invalid({"from", "21"})},
      {"a row twice", accept(0, 5, {1, 1}), invalid({"kept"})},
      {"falling", accept(0, 5, {2, 0}), invalid({"kept"})},
      {"negative", accept(0, 5, {-1}), invalid({"kept", "-1"})},
      {"beyond the last row", accept(0, 5, {0, 15}), invalid({"kept[1] is 15", "0 to 14", "row 5"})},
      {"a negative number", [](const Scene& s) { return heed_cache_accept(s.cache(), 0, 5, nullptr, -1); },
       invalid({"num_kept", "-1"})},
      {"no list", [](const Scene& s) { return heed_cache_accept(s.cache(), 0, 5, nullptr, 1); }, invalid({"kept"})},
  });
}

TEST(CacheErrors, RowsThatCannotBeDiscarded) {
  const auto discard = [](int64_t sequence, int64_t first, int64_t num_rows, int32_t renumber) {
    return [=](const Scene& s) { return heed_cache_discard(s.cache(), sequence, first, num_rows, renumber); };
  };
  expect_refused({
      {"sequence", discard(-1, 0, 1, 0), invalid({"sequence", "-1"})},
      {"first below", discard(0, -1, 1, 0), invalid({"first", "-1"})},
      {"a negative number", discard(0, 0, -1, 0), invalid({"num_rows", "-1"})},
      {"beyond the last row", discard(0, 15, 6, 0), invalid({"20"})},
      {"far beyond", discard(0, 1, INT64_MAX, 0), invalid({"20"})},
      {"renumber", discard(0, 0, 1, 2), invalid({"renumber", "2"})},
  });
  const Scene scene;
  scene.append({{2, counting_from(0, 3), {0, 1, 2}}});
  scene.append({{2, counting_from(3, 2), {0, 1}}});
  expect_refused_on(scene, {{"positions below 0", discard(2, 0, 3, 1), invalid({"position"})}});
}

TEST(CacheErrors, PositionsThatFall) {
  const auto append = [](std::vector<int64_t> positions) {
    return [=](const Scene& s) { s.append({{0, counting_from(0, 6), positions}}); };
  };
  const Scene scene;
  const std::string before = "expected positions that never fall among the rows of a text";
  EXPECT_THROW(append({0, 1, 2, 0, 1, 2})(scene), std::exception);
  EXPECT_NE(std::string(heed_last_error()).find("positions[0, 3] is 0, below 2"), std::string::npos)
      << heed_last_error();
  EXPECT_NE(std::string(heed_last_error()).find(before), std::string::npos) << heed_last_error();
  EXPECT_NO_THROW(append({0, 1, 2, 2, 5, 6})(scene));
}

// A step that has reached the first layer alone.
TEST(CacheErrors, LayersThatHaveOtherRows) {
  const Scene scene;
  forward_one(scene.layer, scene.cache(), {0, counting_from(20, 2)});
  static constexpr int64_t kKept[] = {0};
  expect_refused_on(
      scene,
      {
          {"accept", [](const Scene& s) { return heed_cache_accept(s.cache(), 0, 3, kKept, 1); }, invalid({"layer"})},
          {"discard", [](const Scene& s) { return heed_cache_discard(s.cache(), 0, 3, 1, 0); }, invalid({"layer"})},
      });
  EXPECT_EQ(heed_cache_length(scene.cache(), 0), 20);
  // The rows of the first layer are there, and can be dropped.
  EXPECT_EQ(heed_cache_rewind(scene.cache(), 0, 22), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_cache_rewind(scene.cache(), 0, 20), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_cache_accept(scene.cache(), 0, 3, kKept, 1), HEED_OK) << heed_last_error();
}

// The sentence names the oldest row.
TEST(CacheErrors, RowsThatARingHasDropped) {
  const CachedLayer layer(usual_layer());
  const Cache cache = make_cache(layer, with_sequences(as_ring(layer.contiguous(16), 2), 2));
  forward_one(layer, cache.get(), {0, counting_from(0, 300)});
  const int64_t first = heed_cache_first(cache.get(), 0);
  EXPECT_GE(first, 300 - 16 - 79);
  EXPECT_LE(first, 300 - 16);
  const CacheState before = state_of(cache.get(), 2);
  static constexpr int64_t kKept[] = {0, 1};
  const std::string oldest = std::to_string(first);
  const std::vector<std::pair<heed_status, const char*>> refused = {
      {heed_cache_rewind(cache.get(), 0, first + 14), "rewind"},
      {heed_cache_rewind(cache.get(), 0, 100), "rewind far"},
      {heed_cache_fork(cache.get(), 0, first + 14, 1), "fork"},
  };
  for (const auto& [status, what] : refused) EXPECT_EQ(status, HEED_ERROR_INVALID_ARGUMENT) << what;
  EXPECT_TRUE(is_refused(heed_cache_rewind(cache.get(), 0, first + 14), invalid({oldest})));
  EXPECT_TRUE(is_refused(heed_cache_fork(cache.get(), 0, 100, 1), invalid({oldest})));
  EXPECT_TRUE(is_refused(heed_cache_accept(cache.get(), 0, 100, kKept, 2), invalid({"from"})));
  EXPECT_TRUE(is_refused(heed_cache_discard(cache.get(), 0, 100, 2, 0), invalid({oldest})));
  EXPECT_TRUE(same_state(state_of(cache.get(), 2), before));
  EXPECT_EQ(heed_cache_rewind(cache.get(), 0, first + 15), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_cache_rewind(cache.get(), 0, 0), HEED_OK) << heed_last_error();
}

TEST(CacheErrors, RenumberingThatIsNotPossible) {
  const auto renumber = [](const Scene& s) { return heed_cache_discard(s.cache(), 0, 2, 3, 1); };
  expect_refused_on(Scene(HEED_I8), {{"rotated keys of I8", renumber, {HEED_ERROR_UNSUPPORTED, {"I8"}}}});
  const Scene scene;
  const Cache loaded = make_cache(scene.layer, scene.options);
  load_saved(loaded.get(), 0, saved(scene.cache(), 0));
  const CacheState before = state_of(loaded.get(), kNumSequences);
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_cache_discard(loaded.get(), 0, 2, 3, 1), {HEED_ERROR_UNSUPPORTED, {}}));
  EXPECT_TRUE(same_state(state_of(loaded.get(), kNumSequences), before));
  EXPECT_EQ(heed_cache_discard(loaded.get(), 0, 2, 3, 0), HEED_OK) << heed_last_error();
  for (const int64_t number : {0, 1}) {
    Form form;
    form.layer = number;
    forward_one(scene.layer, loaded.get(), {0, counting_from(20, 1)}, form);
  }
  EXPECT_EQ(heed_cache_discard(loaded.get(), 0, 2, 3, 1), HEED_OK) << heed_last_error();
}

// ---- reading and saving ---------------------------------------------------------------------------------------------

TEST(CacheErrors, TensorsThatCannotBeRead) {
  const Scene scene;
  heed_context* const context = scene.layer.context();
  const capi_test::Tensor keys = capi_test::make_tensor(context, {2, 5, 4});
  const capi_test::Tensor values = capi_test::make_tensor(context, {2, 5, 6});
  const capi_test::Tensor integers = capi_test::make_tensor(context, {2, 5, 4}, HEED_I32);
  const capi_test::Tensor both = capi_test::make_tensor(context, {60});
  const capi_test::Tensor keys_in_both = capi_test::make_view(both.get(), {2, 5, 4}, {});
  const capi_test::Tensor values_in_both = capi_test::make_view(both.get(), {2, 5, 6}, {});
  const capi_test::Tensor weight = capi_test::snapshot(scene.layer.layer(), "W_q.weight");
  const capi_test::Tensor read_only = capi_test::make_view(weight.get(), {2, 5, 4}, {});
  const auto read = [](int64_t layer, int64_t sequence, heed_tensor* of_keys, heed_tensor* of_values) {
    return [=](const Scene& s) { return heed_cache_read(s.cache(), layer, sequence, of_keys, of_values); };
  };
  expect_refused_on(scene,
                    {
                        {"layer below", read(-1, 1, keys.get(), nullptr), invalid({"layer", "-1"})},
                        {"layer above", read(2, 1, keys.get(), nullptr), invalid({"layer", "2"})},
                        {"sequence", read(0, 3, keys.get(), nullptr), invalid({"sequence", "3"})},
                        {"rows of another sequence", read(0, 0, keys.get(), nullptr), invalid({"keys", "(2, 5, 4)"})},
                        {"values as keys", read(0, 1, values.get(), nullptr), invalid({"keys", "(2, 5, 6)"})},
                        {"keys as values", read(0, 1, nullptr, keys.get()), invalid({"values", "(2, 5, 4)"})},
                        {"integers", read(0, 1, integers.get(), nullptr), invalid({"keys", "I32"})},
                        {"nothing wanted", read(0, 1, nullptr, nullptr), invalid({"NULL"})},
                        {"overlapping", read(0, 1, keys_in_both.get(), values_in_both.get()), invalid({"memory"})},
                        {"read-only", read(0, 1, read_only.get(), nullptr), invalid({"keys", "read-only"})},
                    });
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16, HEED_F64}) {
    const capi_test::Tensor of_dtype = capi_test::make_tensor(context, {2, 5, 4}, dtype);
    EXPECT_EQ(heed_cache_read(scene.cache(), 1, 1, of_dtype.get(), nullptr), HEED_OK) << heed_last_error();
  }
}

TEST(CacheErrors, SavingWhereItIsNotPossible) {
  const capi_test::TemporaryFolder folder;
  const std::string missing = folder.path("missing/cache.safetensors");
  const std::vector<uint8_t> bytes = saved(Scene().cache(), 0);
  std::vector<uint8_t> small(bytes.size() - 1, 7);
  size_t num_bytes = 3;
  expect_refused({
      {"sequence", [&](const Scene& s) { return heed_cache_save(s.cache(), 3, missing.c_str()); },
       invalid({"sequence", "3"})},
      {"no path", [](const Scene& s) { return heed_cache_save(s.cache(), 0, nullptr); }, invalid({"path"})},
      {"no folder",
       [&](const Scene& s) { return heed_cache_save(s.cache(), 0, missing.c_str()); },
       {HEED_ERROR_IO, {"missing/cache.safetensors"}}},
      {"sequence in memory",
       [&](const Scene& s) { return heed_cache_save_memory(s.cache(), -1, nullptr, 0, &num_bytes); },
       invalid({"sequence", "-1"})},
      {"too little memory",
       [&](const Scene& s) { return heed_cache_save_memory(s.cache(), 0, small.data(), small.size(), &num_bytes); },
       invalid({std::to_string(small.size()), std::to_string(bytes.size())})},
      {"nowhere", [](const Scene& s) { return heed_cache_save_memory(s.cache(), 0, nullptr, 0, nullptr); },
       invalid({"num_bytes"})},
  });
  EXPECT_EQ(num_bytes, 3U);
  EXPECT_EQ(small, std::vector<uint8_t>(bytes.size() - 1, 7)) << "too little memory was written";
  EXPECT_TRUE(folder.file_names().empty());
}

TEST(CacheErrors, LoadingFromNothing) {
  const capi_test::TemporaryFolder folder;
  const std::string missing = folder.path("missing.safetensors");
  const std::vector<uint8_t> bytes = saved(Scene().cache(), 0);
  expect_refused({
      {"sequence", [&](const Scene& s) { return heed_cache_load_memory(s.cache(), 3, bytes.data(), bytes.size()); },
       invalid({"sequence", "3"})},
      {"no path", [](const Scene& s) { return heed_cache_load(s.cache(), 0, nullptr); }, invalid({"path"})},
      {"no file",
       [&](const Scene& s) { return heed_cache_load(s.cache(), 0, missing.c_str()); },
       {HEED_ERROR_IO, {"missing.safetensors"}}},
      {"no data", [](const Scene& s) { return heed_cache_load_memory(s.cache(), 0, nullptr, 5); }, invalid({"data"})},
  });
}

// ---- calls ----------------------------------------------------------------------------------------------------------

heed_tensor* zeros(Step& step, const property::Dims& dims, heed_dtype dtype = HEED_F32) {
  return step.input(property::make_input(property::filled(dims, 0.0), dtype));
}

heed_tensor* numbers(Step& step, const std::vector<double>& values, heed_dtype dtype = HEED_I64) {
  return step.input(property::make_input({{static_cast<int64_t>(values.size())}, values}, dtype));
}

TEST(CacheErrors, MembersOfTheCachesInputs) {
  const auto with = [](const std::function<void(Step&)>& change) {
    return [=](const Scene& s) { return s.call(change); };
  };
  expect_refused({
      {"no cache", with([](Step& step) { step.cache.cache = nullptr; }), invalid({"inputs->cache->cache"})},
      {"struct_size", with([](Step& step) { step.cache.struct_size = 0; }), invalid({"inputs->cache", "struct_size"})},
      {"reserved", with([](Step& step) { step.cache.reserved = 1; }), invalid({"inputs->cache->reserved"})},
      {"use", with([](Step& step) { step.cache.use = 2; }), invalid({"inputs->cache->use", "2"})},
      {"negative use", with([](Step& step) { step.cache.use = -1; }), invalid({"inputs->cache->use", "-1"})},
      {"layer", with([](Step& step) { step.cache.layer = 2; }), invalid({"inputs->cache->layer", "2"})},
      {"negative layer", with([](Step& step) { step.cache.layer = -1; }), invalid({"inputs->cache->layer", "-1"})},
      {"sequences of F32", with([](Step& step) { step.cache.sequences = numbers(step, {0}, HEED_F32); }),
       invalid({"inputs->cache->sequences", "F32"})},
      {"two sequences for one element", with([](Step& step) {
         step.cache.sequences = numbers(step, {0, 1});
       }),
       invalid({"inputs->cache->sequences", "(2)"})},
      {"sequences of rank 2", with([](Step& step) {
         step.cache.sequences = zeros(step, {1, 1}, HEED_I32);
       }),
       invalid({"inputs->cache->sequences", "(1, 1)"})},
      {"sequence above", with([](Step& step) { step.cache.sequences = numbers(step, {3}); }),
       invalid({"inputs->cache->sequences", "3"})},
      {"sequence below", with([](Step& step) { step.cache.sequences = numbers(step, {-1}, HEED_I32); }),
       invalid({"inputs->cache->sequences", "-1"})},
      {"one sequence twice",
       [](const Scene& s) {
         return s.call({{1, counting_from(0, 1)}, {1, counting_from(1, 1)}});
       },
       invalid({"inputs->cache->sequences", "1"})},
      {"more elements than sequences",
       [](const Scene& s) {
         Form form;
         form.names_sequences = false;
         return s.call({{0, {1}}, {1, {2}}, {2, {3}}, {3, {4}}}, form);
       },
       invalid({"cache", "4", "3"})},
  });
}

TEST(CacheErrors, InputsThatDoNotGoWithACache) {
  Form reads;
  reads.use = HEED_CACHE_READ;
  Form packed;
  packed.is_packed = true;
  const std::vector<Part> three = {{0, counting_from(20, 3)}};
  const auto with = [](const std::function<void(Step&)>& change) {
    return [=](const Scene& s) { return s.call(change); };
  };
  expect_refused({
      {"valid_lens", with([](Step& step) { step.inputs.valid_lens = numbers(step, {3}, HEED_I32); }),
       invalid({"inputs->valid_lens"})},
      {"training", with([](Step& step) { step.inputs.training = 1; }), {HEED_ERROR_UNSUPPORTED, {"training"}}},
      {"key_offsets",
       [&](const Scene& s) {
         return s.call(three, packed, [](Step& step) { step.sequences.key_offsets = numbers(step, {0, 3}); });
       },
       invalid({"key_offsets"})},
      {"weights of a packed batch",
       [&](const Scene& s) {
         return s.call(three, packed, [](Step& step) { step.outputs.weights = zeros(step, {1, 4, 3, 23}); });
       },
       {HEED_ERROR_UNSUPPORTED, {"weights"}}},
      {"keys of other rows", with([](Step& step) {
         step.inputs.keys = zeros(step, {1, 4, 6});
       }),
       invalid({"inputs->keys"})},
      {"values of other rows", with([](Step& step) {
         step.inputs.keys = step.inputs.queries;
         step.inputs.values = zeros(step, {1, 4, 6});
       }),
       invalid({"inputs->values"})},
      {"keys where rows only read",
       [&](const Scene& s) { return s.call(three, reads, [](Step& step) { step.inputs.keys = step.inputs.queries; }); },
       invalid({"inputs->keys"})},
      {"values where rows only read",
       [&](const Scene& s) {
         return s.call(three, reads, [](Step& step) { step.inputs.values = step.inputs.queries; });
       },
       invalid({"inputs->values"})},
      {"a mask of other keys", with([](Step& step) {
         step.inputs.mask = zeros(step, {3, 7}, HEED_BOOL);
       }),
       invalid({"inputs->mask", "(3, 7)"})},
      {"a bias of other keys", with([](Step& step) {
         step.inputs.bias = zeros(step, {1, 1, 3, 22});
       }),
       invalid({"inputs->bias", "(1, 1, 3, 22)"})},
      {"a negative position",
       [](const Scene& s) {
         return s.call({{0, {20, 21}, {20, -1}}});
       },
       invalid({"inputs->sequences->positions", "-1"})},
      {"a position that is too large",
       [](const Scene& s) {
         return s.call({{0, {20}, {int64_t{1} << 31}}});
       },
       invalid({"inputs->sequences->positions", "2147483648"})},
      {"no outputs", with([](Step& step) { step.outputs.output = step.outputs.log_sum_exp = nullptr; }),
       invalid({"outputs"})},
      {"an output of other rows", with([](Step& step) {
         step.outputs.output = zeros(step, {1, 2, 5});
       }),
       invalid({"outputs->output"})},
  });
}

// A row after the largest position has none.
TEST(CacheErrors, PositionsThatDoNotContinue) {
  const Scene scene;
  scene.append({{2, {0}, {2147483647}}});
  expect_refused_on(scene, {{"the next position",
                             [](const Scene& s) {
                               return s.call({{2, {1}}});
                             },
                             invalid({"2147483648"})}});
}

TEST(CacheErrors, AWorkspaceThatIsTooSmallLeavesTheCacheAsItWas) {
  expect_refused({{"workspace",
                   [](const Scene& s) {
                     const capi_test::Workspace small = capi_test::make_workspace(s.layer.context(), 1);
                     return Step(s.layer, s.cache(), {{0, counting_from(20, 3)}}).run_with(small.get());
                   },
                   {HEED_ERROR_WORKSPACE_TOO_SMALL, {}}}});
}

TEST(CacheErrors, CachesOfAnotherGeometry) {
  const Scene scene;
  const auto call_with = [](const LayerSpec& spec) {
    return [=](const Scene& s) {
      const CachedLayer other(spec);
      return Step(other, s.cache(), {{0, counting_from(20, 3)}}).run();
    };
  };
  const auto with_heads = [](int64_t num_kv_heads, int64_t group, int64_t head_size, int64_t value_head_size) {
    LayerSpec spec = grouped_heads(num_kv_heads, group, head_size, value_head_size);
    spec.rope = rope_of(HEED_ROPE_HALF);
    return spec;
  };
  expect_refused_on(scene, {
                               {"key heads", call_with(with_heads(1, 2, 4, 6)), invalid({"inputs->cache"})},
                               {"head size", call_with(with_heads(2, 2, 8, 6)), invalid({"inputs->cache"})},
                               {"head size of values", call_with(with_heads(2, 2, 4, 4)), invalid({"inputs->cache"})},
                           });
}

TEST(CacheErrors, RowsWithOtherRotaryPositions) {
  const Scene scene;
  LayerSpec without = usual_layer();
  without.rope.reset();
  LayerSpec interleaved = usual_layer();
  interleaved.rope = rope_of(HEED_ROPE_INTERLEAVED);
  LayerSpec other_base = usual_layer();
  other_base.rope->base = 500000.0F;
  const auto call_with = [](const LayerSpec& spec) {
    return [=](const Scene& s) {
      const CachedLayer other(spec);
      return Step(other, s.cache(), {{0, counting_from(20, 3)}}).run();
    };
  };
  expect_refused_on(scene, {
                               {"no rotary positions", call_with(without), invalid({"rotary"})},
                               {"the other pairing", call_with(interleaved), invalid({"rotary"})},
                               {"another base", call_with(other_base), invalid({"rotary"})},
                           });
  // An empty cache takes any layer of its geometry.
  for (const int64_t sequence : {0, 1}) property::check(heed_cache_rewind(scene.cache(), sequence, 0));
  const CachedLayer other(interleaved);
  EXPECT_EQ(Step(other, scene.cache(), {{0, counting_from(0, 3)}}).run(), HEED_OK) << heed_last_error();
}

TEST(CacheErrors, LayersThatTakeNoCache) {
  const Scene scene;
  LayerSpec additive = usual_layer();
  additive.rope.reset();
  additive.options.scoring = HEED_SCORING_ADDITIVE;
  const auto dot_product = [](const Scene& s, bool in_one_call) {
    heed_context* const context = s.layer.context();
    const capi_test::Tensor rows = capi_test::make_random(context, {1, 3, 4}, 1);
    const capi_test::Tensor output = capi_test::make_tensor(context, {1, 3, 4});
    heed_cache_inputs cache_inputs = HEED_CACHE_INPUTS_INIT;
    cache_inputs.cache = s.cache();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows.get();
    inputs.cache = &cache_inputs;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.get();
    if (in_one_call) return heed_scaled_dot_product_attention(context, nullptr, &inputs, &outputs);
    const capi_test::Layer layer = capi_test::make_dot_product(context, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
    return heed_layer_forward(layer.get(), &inputs, nullptr, &outputs);
  };
  expect_refused_on(scene, {
                               {"additive scores",
                                [&](const Scene& s) {
                                  const CachedLayer other(additive);
                                  return Step(other, s.cache(), {{0, counting_from(20, 3)}}).run();
                                },
                                {HEED_ERROR_UNSUPPORTED, {"cache"}}},
                               {"a dot-product layer",
                                [&](const Scene& s) { return dot_product(s, false); },
                                {HEED_ERROR_UNSUPPORTED, {"cache"}}},
                               {"dot-product attention in one call",
                                [&](const Scene& s) { return dot_product(s, true); },
                                {HEED_ERROR_UNSUPPORTED, {"cache"}}},
                           });
}

TEST(CacheErrors, FillingThatIsNotPossible) {
  const auto fill_with = [](const std::function<void(Step&)>& change) {
    return [=](const Scene& s) {
      Step step(s.layer, s.cache(), {{0, counting_from(20, 3)}});
      change(step);
      return step.fill();
    };
  };
  expect_refused({
      {"no cache at all", fill_with([](Step& step) { step.inputs.cache = nullptr; }), invalid({"inputs->cache"})},
      {"reading", fill_with([](Step& step) { step.cache.use = HEED_CACHE_READ; }), invalid({"inputs->cache->use"})},
      {"no rows", fill_with([](Step& step) { step.inputs.queries = nullptr; }), invalid({"inputs->"})},
      {"training", fill_with([](Step& step) { step.inputs.training = 1; }), {HEED_ERROR_UNSUPPORTED, {"training"}}},
      {"layer", fill_with([](Step& step) { step.cache.layer = 2; }), invalid({"inputs->cache->layer", "2"})},
  });
}

// ---- no room --------------------------------------------------------------------------------------------------------

TEST(CacheErrors, MoreRowsThanTheCapacity) {
  expect_refused({
      {"of an empty sequence",
       [](const Scene& s) {
         return s.call({{2, counting_from(0, 61)}});
       },
       Refusal{HEED_ERROR_CACHE_FULL, {"61 rows needed, 60 free"}}},
      {"of one among several",
       [](const Scene& s) {
         return s.call({{2, counting_from(0, 1)}, {0, counting_from(20, 41)}});
       },
       Refusal{HEED_ERROR_CACHE_FULL, {"41 rows needed, 40 free"}}},
  });
}

TEST(CacheErrors, NoFreePages) {
  const auto full = [](const char* words) { return Refusal{HEED_ERROR_CACHE_FULL, {words}}; };
  expect_refused({
      {"one sequence",
       [](const Scene& s) {
         return s.call({{2, counting_from(0, 40)}});
       },
       full("3 pages needed, 1 free")},
      {"two sequences of one call",
       [](const Scene& s) {
         return s.call({{0, counting_from(20, 20)}, {2, counting_from(0, 20)}});
       },
       full("3 pages needed, 1 free")},
      {"packed",
       [](const Scene& s) {
         Form form;
         form.is_packed = true;
         return s.call({{0, counting_from(20, 20)}, {1, {}}, {2, counting_from(0, 20)}}, form);
       },
       full("3 pages needed, 1 free")},
      {"filling",
       [](const Scene& s) {
         return Step(s.layer, s.cache(), {{2, counting_from(0, 40)}}).fill();
       },
       full("3 pages needed, 1 free")},
      {"reserving", [](const Scene& s) { return heed_cache_reserve(s.cache(), 2, 60); },
       full("4 pages needed, 1 free")},
      {"loading",
       [](const Scene& s) {
         const std::vector<uint8_t> bytes = saved(s.cache(), 0);
         return heed_cache_load_memory(s.cache(), 2, bytes.data(), bytes.size());
       },
       full("2 pages needed, 1 free")},
  });
}

// Sequences 0 and 2 share two pages, one is sequence 1's, and one is free.
TEST(CacheErrors, NoFreePagesForCopies) {
  const Scene scene;
  property::check(heed_cache_fork(scene.cache(), 0, 20, 2));
  ASSERT_EQ(heed_cache_free_pages(scene.cache()), 1);
  const std::vector<int64_t> kept = counting_from(1, 19);
  const Scene other;
  other.append({{0, counting_from(20, 28)}});
  const std::vector<uint8_t> longer = saved(other.cache(), 0);
  const auto full = [](const char* words) { return Refusal{HEED_ERROR_CACHE_FULL, {words}}; };
  expect_refused_on(
      scene, {
                 {"accept",
                  [&](const Scene& s) {
                    return heed_cache_accept(s.cache(), 0, 0, kept.data(), static_cast<int64_t>(kept.size()));
                  },
                  full("2 pages needed, 1 free")},
                 {"discard", [](const Scene& s) { return heed_cache_discard(s.cache(), 2, 0, 1, 0); },
                  full("2 pages needed, 1 free")},
                 {"discard and renumber", [](const Scene& s) { return heed_cache_discard(s.cache(), 2, 0, 1, 1); },
                  full("2 pages needed, 1 free")},
                 {"loading, where the pages of the sequence are also another one's",
                  [&](const Scene& s) { return heed_cache_load_memory(s.cache(), 2, longer.data(), longer.size()); },
                  full("3 pages needed, 1 free")},
             });
  property::check(heed_cache_reserve(scene.cache(), 1, 20));
  ASSERT_EQ(heed_cache_free_pages(scene.cache()), 0);
  expect_refused_on(scene, {{"append to a shared page",
                             [](const Scene& s) {
                               return s.call({{2, {50}}});
                             },
                             full("0 free")}});
  // So it is if a sequence before it in the batch writes to a page of its own.
  expect_refused_on(scene, {{"append to a page of its own and to a shared one",
                             [](const Scene& s) {
                               return s.call({{1, {50}}, {2, {50}}});
                             },
                             full("1 pages needed, 0 free")}});
  // Once the other sequence is gone, the page is its own.
  property::check(heed_cache_rewind(scene.cache(), 0, 0));
  EXPECT_EQ(scene.call({{2, {50}}}), HEED_OK) << heed_last_error();
}

TEST(Cache, ReservedPagesSuffice) {
  const Scene scene;
  property::check(heed_cache_reserve(scene.cache(), 0, 48));
  EXPECT_EQ(heed_cache_free_pages(scene.cache()), 0);
  EXPECT_EQ(heed_cache_length(scene.cache(), 0), 20);
  property::check(heed_cache_reserve(scene.cache(), 0, 10));
  property::check(heed_cache_reserve(scene.cache(), 2, 0));
  EXPECT_EQ(scene.call({{2, {0}}}), HEED_ERROR_CACHE_FULL);
  scene.append({{0, counting_from(20, 28)}});
  EXPECT_EQ(heed_cache_length(scene.cache(), 0), 48);
  EXPECT_EQ(scene.call({{0, counting_from(48, 1)}}), HEED_ERROR_CACHE_FULL);
  property::check(heed_cache_rewind(scene.cache(), 0, 32));
  EXPECT_EQ(heed_cache_free_pages(scene.cache()), 1);
}

}  // namespace
}  // namespace heed::cache_test
