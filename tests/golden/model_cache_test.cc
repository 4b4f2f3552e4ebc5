// SPDX-License-Identifier: Apache-2.0
// Attention with a cache of keys and values against Hugging Face transformers: the output of every piece, and what is
// in the cache at the end. deepseek-v3 is left out, since it keeps what its keys and values are projected from, and
// falcon-alibi, since its ALiBi is rounded to bfloat16.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/model_attentions.h"
#include "golden/support/model_pieces.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using cache_test::Cache;
using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

// The batch of every file. Batch element b is sequence b.
constexpr int64_t kNumSequences = 2;
constexpr int64_t kPageSize = 16;

bool has_window(const ModelAttention& attention) { return attention.options().of_layer.window != HEED_WINDOW_NONE; }

// The rows of the window, the query's own among them.
int64_t window_of(const ModelAttention& attention) { return attention.options().of_layer.window_left + 1; }

// A cache of F32 for this attention, in which a sequence has up to num_rows rows.
heed_cache_options contiguous_for(const ModelAttention& attention, int64_t num_rows) {
  const heed_multi_head_attention_options layer = attention.options().of_layer;
  heed_cache_options contiguous = HEED_CACHE_OPTIONS_INIT;
  contiguous.max_sequences = kNumSequences;
  contiguous.num_kv_heads = layer.num_kv_heads != 0 ? layer.num_kv_heads : layer.num_heads;
  contiguous.head_size = layer.head_size != 0 ? layer.head_size : layer.num_hiddens / layer.num_heads;
  contiguous.capacity = num_rows;
  return contiguous;
}

heed_cache_options ring_for(const ModelAttention& attention) {
  return cache_test::as_ring(contiguous_for(attention, window_of(attention)), 0);
}

// That cache, one with pages, and for an attention with a window also a ring that has as many rows as the window.
std::vector<heed_cache_options> layouts_for(const ModelAttention& attention, int64_t num_rows) {
  const heed_cache_options contiguous = contiguous_for(attention, num_rows);
  const int64_t num_pages = kNumSequences * ((num_rows + kPageSize - 1) / kPageSize);
  std::vector<heed_cache_options> layouts = {contiguous, cache_test::as_paged(contiguous, kPageSize, num_pages)};
  if (has_window(attention)) layouts.push_back(ring_for(attention));
  return layouts;
}

// The output of a call whose rows are appended to the cache, or read it.
Tensor attend(const Layer& layer, int32_t use, const Cache& cache, const heed_tensor* rows,
              const heed_sequence_inputs& sequences = HEED_SEQUENCE_INPUTS_INIT) {
  heed_cache_inputs of_cache = HEED_CACHE_INPUTS_INIT;
  of_cache.cache = cache.get();
  of_cache.use = use;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = rows;
  inputs.sequences = &sequences;
  inputs.cache = &of_cache;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  property::check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  Tensor output(outputs.output);
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  return output;
}

void expect_the_models(const heed_tensor* is, const heed_tensor* expected) {
  ASSERT_NE(expected, nullptr) << "the file has no such tensor";
  ASSERT_EQ(capi_test::dims_of(is), capi_test::dims_of(expected));
  expect_numbers_of_model(numbers_of(is), numbers_of(expected), nullptr);
}

// The inputs of all pieces one after another.
Tensor rows_of_all_pieces(const Context& context, const ModelAttention& attention) {
  Tensor rows;
  int64_t end = 0;
  for (const char* name : kPieces) {
    const Tensor piece = load_case(context, attention.family, name_in_file(name, attention, "input"));
    const Dims dims = capi_test::dims_of(piece.get());
    if (!rows) rows = capi_test::make_tensor(context.get(), {dims[0], kRowsOfPieces, dims[2]});
    property::check(heed_tensor_copy(capi_test::make_slice(rows.get(), 1, end, dims[1]).get(), piece.get()));
    end += dims[1];
  }
  EXPECT_EQ(end, kRowsOfPieces);
  return rows;
}

// The last num_rows of the rows (key heads, rows, size), each key head num_repeats times.
std::vector<double> last_rows(heed_tensor* heads, int64_t num_rows, int64_t num_repeats) {
  const Dims dims = capi_test::dims_of(heads);
  const Tensor view = capi_test::make_view(heads, {dims[0], num_repeats, num_rows, dims[2]},
                                           {dims[1] * dims[2], 0, dims[2], 1}, (dims[1] - num_rows) * dims[2]);
  return numbers_of(view.get());
}

// Expects the last rows of a sequence to be the keys and values of the model's own cache. A model with a window keeps
// only the rows that the next token sees besides itself. Falcon's newer decoder keeps each key head once for every
// query head.
void expect_the_models_rows(const Context& context, const ModelAttention& attention, const heed_cache_options& options,
                            const Cache& cache, int64_t sequence) {
  const int64_t num_kept = heed_cache_num_rows(cache.get(), 0, sequence);
  const Dims dims = {options.num_kv_heads, num_kept, options.head_size};
  const Tensor keys = capi_test::make_tensor(context.get(), dims);
  const Tensor values = capi_test::make_tensor(context.get(), dims);
  property::check(heed_cache_read(cache.get(), 0, sequence, keys.get(), values.get()));

  const int64_t num_stored = has_window(attention) ? window_of(attention) - 1 : kRowsOfPieces;
  ASSERT_GE(num_kept, num_stored);
  for (const auto& [name, is] : {std::pair{"keys", keys.get()}, {"values", values.get()}}) {
    SCOPED_TRACE(name);
    const Tensor stored = load_case(context, attention.family, std::string("decode.layer0.cache.") + name);
    ASSERT_TRUE(stored);
    const Dims stored_dims = capi_test::dims_of(stored.get());
    ASSERT_EQ(stored_dims[1] % options.num_kv_heads, 0);
    ASSERT_EQ(stored_dims[2], num_stored);
    ASSERT_EQ(stored_dims[3], options.head_size);
    const std::vector<double> expected = numbers_of(capi_test::make_slice(stored.get(), 0, sequence, 1).get());
    expect_numbers_of_model(last_rows(is, num_stored, stored_dims[1] / options.num_kv_heads), expected, nullptr);
  }
}

// Expects the outputs of all pieces, and then the keys and values in the cache, to be the model's.
void expect_the_models_pieces(const Context& context, const ModelAttention& attention, const Layer& layer,
                              const heed_cache_options& options) {
  const Cache cache = cache_test::make_cache(context.get(), options);
  for (const char* piece : kPieces) {
    SCOPED_TRACE(piece);
    const Tensor rows = load_case(context, attention.family, name_in_file(piece, attention, "input"));
    const Tensor expected = load_case(context, attention.family, name_in_file(piece, attention, "output"));
    expect_the_models(attend(layer, HEED_CACHE_APPEND, cache, rows.get()).get(), expected.get());
  }
  for (int64_t sequence = 0; sequence < kNumSequences; ++sequence) {
    EXPECT_EQ(heed_cache_length(cache.get(), sequence), kRowsOfPieces);
    expect_the_models_rows(context, attention, options, cache, sequence);
  }
}

class ModelCache : public testing::TestWithParam<ModelAttention> {};

TEST_P(ModelCache, StepsAndChunksWithEitherAlignmentAreThoseOfTheModel) {
  HEED_SKIP_ON_ASCEND(kNoBounds);
  const ModelAttention& attention = GetParam();
  const Context context = capi_test::make_context();
  const Layer top_left = load_layer(context, attention, attention.options());
  const Layer bottom_right_layer = load_layer(context, attention, bottom_right(attention));
  for (const heed_cache_options& options : layouts_for(attention, kRowsOfPieces)) {
    SCOPED_TRACE(cache_test::name_of_layout(options));
    for (const auto& [alignment, layer] : {std::pair{"top left", &top_left}, {"bottom right", &bottom_right_layer}}) {
      SCOPED_TRACE(alignment);
      expect_the_models_pieces(context, attention, *layer, options);
    }
  }
}

TEST_P(ModelCache, TheWholeSequenceAtOnceHasTheBitsOfItsPieces) {
  HEED_SKIP_ON_ASCEND("the same bits are promised on the CPU alone");
  const ModelAttention& attention = GetParam();
  const Context context = capi_test::make_context();
  const Layer layer = load_layer(context, attention, bottom_right(attention));
  const Tensor rows = rows_of_all_pieces(context, attention);
  std::vector<uint8_t> of_first_layout;
  for (const heed_cache_options& options : layouts_for(attention, kRowsOfPieces)) {
    SCOPED_TRACE(cache_test::name_of_layout(options));
    const Cache at_once = cache_test::make_cache(context.get(), options);
    const Tensor whole = attend(layer, HEED_CACHE_APPEND, at_once, rows.get());
    const std::vector<uint8_t> bytes = capi_test::read_bytes(whole.get());
    if (of_first_layout.empty()) of_first_layout = bytes;
    EXPECT_EQ(bytes, of_first_layout);

    const Cache in_pieces = cache_test::make_cache(context.get(), options);
    for (const char* name : kPieces) {
      SCOPED_TRACE(name);
      const int64_t begin = heed_cache_length(in_pieces.get(), 0);
      const Tensor piece = load_case(context, attention.family, name_in_file(name, attention, "input"));
      const Tensor output = attend(layer, HEED_CACHE_APPEND, in_pieces, piece.get());
      const Tensor of_whole = capi_test::make_slice(whole.get(), 1, begin, capi_test::dims_of(piece.get())[1]);
      EXPECT_EQ(capi_test::read_bytes(output.get()), capi_test::read_bytes(of_whole.get()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ModelCache, testing::ValuesIn(attentions_with_pieces()),
                         [](const auto& test) { return name_of(test.param); });

std::vector<ModelAttention> attentions_with_windows() {
  std::vector<ModelAttention> result;
  for (const ModelAttention& attention : attentions_with_pieces()) {
    if (has_window(attention)) result.push_back(attention);
  }
  return result;
}

// The model's layer without its window.
Layer load_without_window(const Context& context, const ModelAttention& attention) {
  Options options = bottom_right(attention);
  options.of_layer.window = HEED_WINDOW_NONE;
  options.of_layer.window_left = 0;
  options.of_layer.window_right = 0;
  Layer layer = capi_test::make_multi_head(context.get(), options.bound());
  property::check(load_accepting(layer.get(), attention.family, attention.prefix, "window"));
  return layer;
}

class ModelRing : public testing::TestWithParam<ModelAttention> {};

// The ring gets the same rows again and again, each time at positions from 0. The first rows of a round see some of the
// round before; the others see rows of their own round only, as in the model.
TEST_P(ModelRing, ReplacesTheModelsWindowAlsoAfterItHasDroppedRows) {
  HEED_SKIP_ON_ASCEND(kNoBounds);
  constexpr int64_t kNumRounds = 12;
  const ModelAttention& attention = GetParam();
  const Context context = capi_test::make_context();
  const Layer layer = load_without_window(context, attention);
  const heed_cache_options options = ring_for(attention);
  const Cache cache = cache_test::make_cache(context.get(), options);
  for (int64_t round = 0; round < kNumRounds; ++round) {
    SCOPED_TRACE(round);
    int32_t begin = 0;
    for (const char* piece : kPieces) {
      SCOPED_TRACE(piece);
      const Tensor rows = load_case(context, attention.family, name_in_file(piece, attention, "input"));
      const Tensor expected = load_case(context, attention.family, name_in_file(piece, attention, "output"));
      ASSERT_TRUE(expected);
      const int64_t count = capi_test::dims_of(rows.get())[1];
      std::vector<int32_t> numbers(static_cast<size_t>(count));
      std::iota(numbers.begin(), numbers.end(), begin);
      const Tensor of_one = capi_test::make_tensor_of(context.get(), {1, count}, numbers);
      const Tensor positions = capi_test::make_view(of_one.get(), {kNumSequences, count}, {0, 1}, 0);
      heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
      sequences.positions = positions.get();
      const Tensor output = attend(layer, HEED_CACHE_APPEND, cache, rows.get(), sequences);
      const int64_t num_others = round == 0 ? 0 : std::clamp<int64_t>(window_of(attention) - 1 - begin, 0, count);
      if (num_others < count) {
        expect_the_models(capi_test::make_slice(output.get(), 1, num_others, count - num_others).get(),
                          capi_test::make_slice(expected.get(), 1, num_others, count - num_others).get());
      }
      begin += static_cast<int32_t>(count);
    }
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence)
      expect_the_models_rows(context, attention, options, cache, sequence);
  }
  EXPECT_GT(heed_cache_first(cache.get(), 0), 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, ModelRing, testing::ValuesIn(attentions_with_windows()),
                         [](const auto& test) { return name_of(test.param); });

// The files have no pieces of second attentions. They have padded sequences, which are cut here.
std::vector<ModelAttention> second_attentions() {
  std::vector<ModelAttention> result;
  for (const ModelAttention& attention : model_attentions()) {
    if (attention.causal && attention.cases == std::string("layer1.attention")) result.push_back(attention);
  }
  return result;
}

class SecondModelCache : public testing::TestWithParam<ModelAttention> {};

TEST_P(SecondModelCache, PiecesOfSequencesOfDifferentLengthsAreThoseOfTheModel) {
  HEED_SKIP_ON_ASCEND(kNoBounds);
  const ModelAttention& attention = GetParam();
  const Context context = capi_test::make_context();
  const Layer layer = load_layer(context, attention, bottom_right(attention));
  const Tensor rows = load_case(context, attention.family, std::string(attention.cases) + ".input");
  const Tensor expected = load_case(context, attention.family, std::string(attention.cases) + ".output");
  ASSERT_TRUE(rows && expected);
  const std::vector<int32_t> lengths = lengths_of(context, attention.family);
  ASSERT_EQ(lengths, (std::vector<int32_t>{11, 7}));
  for (const heed_cache_options& options : layouts_for(attention, lengths[0])) {
    SCOPED_TRACE(cache_test::name_of_layout(options));
    const Cache cache = cache_test::make_cache(context.get(), options);
    int32_t begin = 0;
    // The last piece has no rows of the second sequence.
    for (const int32_t count : {5, 1, 2, 3}) {
      SCOPED_TRACE(begin);
      std::vector<int32_t> counts;
      for (const int32_t length : lengths) counts.push_back(std::clamp(length - begin, 0, count));
      const Tensor query_lens = capi_test::make_tensor_of(context.get(), {kNumSequences}, counts);
      heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
      sequences.query_lens = query_lens.get();
      const Tensor piece = capi_test::make_slice(rows.get(), 1, begin, count);
      const Tensor output = attend(layer, HEED_CACHE_APPEND, cache, piece.get(), sequences);
      // Padding is 0 in both.
      expect_the_models(output.get(), capi_test::make_slice(expected.get(), 1, begin, count).get());
      begin += count;
    }
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence)
      EXPECT_EQ(heed_cache_length(cache.get(), sequence), lengths[static_cast<size_t>(sequence)]);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, SecondModelCache, testing::ValuesIn(second_attentions()),
                         [](const auto& test) { return name_of(test.param); });

std::vector<ModelAttention> cross_attentions() {
  std::vector<ModelAttention> result;
  for (const ModelAttention& attention : model_attentions()) {
    if (attention.is_cross()) result.push_back(attention);
  }
  return result;
}

class CrossModelCache : public testing::TestWithParam<ModelAttention> {};

TEST_P(CrossModelCache, FilledOnceWithTheMemoryItGivesTheModelsNumbers) {
  HEED_SKIP_ON_ASCEND(kNoBounds);
  const ModelAttention& attention = GetParam();
  const Context context = capi_test::make_context();
  const Layer layer = load_layer(context, attention, attention.options());
  const Tensor memory = load_case(context, attention.family, std::string(attention.cases) + ".memory");
  ASSERT_TRUE(memory);
  const int64_t num_rows = capi_test::dims_of(memory.get())[1];
  // Whisper's memory has no padding.
  std::vector<int32_t> lengths = lengths_of(context, attention.family);
  if (lengths.empty()) lengths.assign(kNumSequences, static_cast<int32_t>(num_rows));
  const Tensor query_lens = capi_test::make_tensor_of(context.get(), {kNumSequences}, lengths);
  for (const heed_cache_options& options : layouts_for(attention, num_rows)) {
    SCOPED_TRACE(cache_test::name_of_layout(options));
    const Cache cache = cache_test::make_cache(context.get(), options);
    heed_cache_inputs of_cache = HEED_CACHE_INPUTS_INIT;
    of_cache.cache = cache.get();
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    sequences.query_lens = query_lens.get();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.keys = memory.get();
    inputs.sequences = &sequences;
    inputs.cache = &of_cache;
    property::check(heed_layer_fill_cache(layer.get(), &inputs, nullptr));
    for (int64_t sequence = 0; sequence < kNumSequences; ++sequence)
      EXPECT_EQ(heed_cache_length(cache.get(), sequence), lengths[static_cast<size_t>(sequence)]);

    std::vector<std::string> calls = {attention.cases};
    for (const char* piece : kPieces) calls.push_back(std::string(piece) + "." + attention.cases);
    for (const std::string& call : calls) {
      SCOPED_TRACE(call);
      const Tensor queries = load_case(context, attention.family, call + ".input");
      const Tensor expected = load_case(context, attention.family, call + ".output");
      ASSERT_TRUE(queries);
      expect_the_models(attend(layer, HEED_CACHE_READ, cache, queries.get()).get(), expected.get());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, CrossModelCache, testing::ValuesIn(cross_attentions()),
                         [](const auto& test) { return name_of(test.param); });

std::set<std::string> families_of(const std::vector<ModelAttention>& attentions) {
  std::set<std::string> families;
  for (const ModelAttention& attention : attentions) families.insert(attention.family);
  return families;
}

// FilesWithPieces counts the first attentions.
TEST(FilesWithCaches, AreThoseOfTheseFamilies) {
  EXPECT_EQ(families_of(attentions_with_windows()), (std::set<std::string>{"gemma2", "gemma3", "gpt-oss", "mistral"}));
  EXPECT_EQ(families_of(second_attentions()), (std::set<std::string>{"gemma2", "gemma3", "gpt-oss", "qwen2", "qwen3"}));
  EXPECT_EQ(families_of(cross_attentions()), (std::set<std::string>{"bart", "marian", "mbart", "t5", "whisper"}));
}

}  // namespace
}  // namespace heed::golden
