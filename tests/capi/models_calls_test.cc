// SPDX-License-Identifier: Apache-2.0
// Calls of whole models: ids and token types, packed batches and padding, threads, shared layers, files that heed writes, and
// caches of the encoder's output.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// ---- ids ------------------------------------------------------------------------------------------------------------

heed_tensor* changed_id(ModelCall& call, const heed_tensor* ids, int64_t element, int32_t value) {
  std::vector<int32_t> elements = read_elements<int32_t>(ids);
  elements[static_cast<size_t>(element)] = value;
  return call.keep(make_tensor_of(call.context.get(), dims_of(ids), elements));
}

TEST(ModelCalls, NameIdsThatAreOutOfRange) {
  for (const int32_t wrong : {-1, 40, INT32_MAX, INT32_MIN}) {
    const std::string is = " is " + std::to_string(wrong) + ", expected 0 to 39";
    ModelCall encoder(golden_model("bert"));
    encoder.make_output();
    const heed_tensor* const ids = encoder.inputs.queries;
    encoder.inputs.queries = changed_id(encoder, ids, 8, wrong);
    forget_last_error();
    EXPECT_TRUE(is_refused(encoder.forward(), invalid({"inputs->queries[1, 3]" + is})));
    encoder.inputs.queries = ids;
    encoder.inputs.token_types =
        changed_id(encoder, encoder.keep(make_tensor(encoder.context.get(), {2, 5}, HEED_I32)), 9, wrong);
    forget_last_error();
    EXPECT_TRUE(is_refused(encoder.forward(), invalid({"inputs->token_types[1, 4] is " + std::to_string(wrong),
                                                       "expected 0 to 1, a token type"})));

    ModelCall transformer(golden_model("bart"));
    transformer.make_output();
    const heed_tensor* const keys = transformer.inputs.keys;
    transformer.inputs.keys = changed_id(transformer, keys, 1, wrong);
    forget_last_error();
    EXPECT_TRUE(is_refused(transformer.forward(), invalid({"inputs->keys[0, 1]" + is})));
    transformer.inputs.keys = keys;
    transformer.inputs.queries = changed_id(transformer, transformer.inputs.queries, 5, wrong);
    forget_last_error();
    EXPECT_TRUE(is_refused(transformer.forward(), invalid({"inputs->queries[1, 2]" + is})));
  }
}

TEST(ModelCalls, ReadIdsOfI64AndOfAnyStrides) {
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const std::vector<uint8_t> expected = call.run();
    const heed_tensor* const ids = call.inputs.queries;
    heed_tensor* const wide = call.keep(make_tensor(call.context.get(), dims_of(ids), HEED_I64));
    check(heed_tensor_copy(wide, ids));
    call.inputs.queries = wide;
    EXPECT_EQ(call.run(), expected);
    const Dims dims = dims_of(ids);
    heed_tensor* const turned = call.keep(make_tensor(call.context.get(), {dims[1], dims[0]}, HEED_I32));
    heed_tensor* const columns = call.keep(make_transposed(turned, {1, 0}));
    check(heed_tensor_copy(turned, call.keep(make_transposed(wide, {1, 0}))));
    call.inputs.queries = columns;
    EXPECT_EQ(call.run(), expected);
  }
}

TEST(ModelCalls, WithoutTokenTypesAreThoseOfZeros) {
  for (const char* family : {"albert", "bert", "electra", "roberta"}) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const std::vector<uint8_t> expected = call.run();
    heed_tensor* const types = call.keep(make_tensor(call.context.get(), {2, 5}, HEED_I64));
    call.inputs.token_types = types;
    EXPECT_EQ(call.run(), expected);
    if (family == std::string("roberta")) continue;  // has one type
    check(heed_tensor_fill(types, 1.0));
    EXPECT_NE(call.run(), expected);
  }
}

// ---- packed batches and padding -------------------------------------------------------------------------------------

constexpr int64_t kLens[] = {3, 5};
constexpr int64_t kNumRows = 5;

// Rows [b, s] with s < kLens[b] of (2, 5, size), one after another.
std::vector<float> rows_within(const std::vector<float>& padded) {
  const size_t size = padded.size() / (2 * kNumRows);
  std::vector<float> rows;
  for (int64_t b = 0; b < 2; ++b) {
    const auto first = padded.begin() + static_cast<std::ptrdiff_t>(size) * b * kNumRows;
    rows.insert(rows.end(), first, first + static_cast<std::ptrdiff_t>(size) * kLens[b]);
  }
  return rows;
}

bool has_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// They are those of the ids of the encoder.
TEST(ModelCalls, OfTransformersTakeTokenTypes) {
  BlockOptions options;
  heed_embedding_options embedding = ten_rows();
  options.encoder.embedding = options.decoder.embedding = &embedding;
  options.encoder.num_token_types = 2;
  const Context context = make_context();
  const Layer transformer = make_transformer(context.get(), options.transformer);
  const Tensor ids = make_tensor(context.get(), {2, 3}, HEED_I32);
  const Tensor keys = make_tensor(context.get(), {2, 5}, HEED_I32);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = ids.get();
  inputs.keys = keys.get();
  check(heed_layer_initialize(transformer.get(), &inputs, 8));
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(transformer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  const auto run_with = [&](const heed_tensor* token_types) {
    inputs.token_types = token_types;
    check(heed_layer_forward(transformer.get(), &inputs, nullptr, &outputs));
    return read_bytes(output.get());
  };
  const Tensor zeros = make_tensor(context.get(), {2, 5}, HEED_I32);
  const Tensor types = make_tensor_of<int32_t>(context.get(), {2, 5}, {0, 0, 1, 1, 1, 0, 1, 1, 1, 1});
  const std::vector<uint8_t> untyped = run_with(nullptr);
  EXPECT_EQ(run_with(zeros.get()), untyped);
  EXPECT_NE(run_with(types.get()), untyped);
  const Tensor numbers = make_tensor(context.get(), {2, 5});
  inputs.token_types = numbers.get();
  EXPECT_TRUE(is_refused(heed_layer_forward(transformer.get(), &inputs, nullptr, &outputs),
                         invalid({"inputs->token_types", "F32", "I32", "the token types"})));
}

TEST(ModelCalls, OfPackedIdsGiveTheRowsOfPaddedOnes) {
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    if (call.is_transformer) continue;
    heed_tensor* const lens = call.keep(make_tensor_of<int32_t>(call.context.get(), {2}, {3, 5}));
    heed_tensor* const offsets = call.keep(make_tensor_of<int32_t>(call.context.get(), {3}, {0, 3, 8}));
    call.sequences.query_lens = lens;
    const std::vector<float> padded = call.run_for_floats();
    const std::vector<int32_t> ids = read_elements<int32_t>(call.inputs.queries);
    std::vector<int32_t> packed(ids.begin(), ids.begin() + 3);
    packed.insert(packed.end(), ids.begin() + kNumRows, ids.end());
    call.inputs.queries = call.keep(make_tensor_of(call.context.get(), {8}, packed));
    call.sequences.query_lens = nullptr;
    call.sequences.query_offsets = offsets;
    EXPECT_TRUE(has_same_bits(call.run_for_floats(), rows_within(padded)));
    EXPECT_EQ(heed_tensor_rank(call.outputs.output), 2);
  }
}

TEST(ModelCalls, OfPackedIdsOfTransformersGiveTheRowsOfPaddedOnes) {
  for (const char* family : kTransformerModels) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    heed_context* const context = call.context.get();
    call.inputs.valid_lens = call.keep(make_tensor_of<int32_t>(context, {2}, {3, 5}));
    call.sequences.query_lens = call.keep(make_tensor_of<int32_t>(context, {2}, {1, 3}));
    const std::vector<float> padded = call.run_for_floats();
    const std::vector<int32_t> keys = read_elements<int32_t>(call.inputs.keys);
    const std::vector<int32_t> queries = read_elements<int32_t>(call.inputs.queries);
    std::vector<int32_t> packed_keys(keys.begin(), keys.begin() + 3);
    packed_keys.insert(packed_keys.end(), keys.begin() + 5, keys.end());
    std::vector<int32_t> packed_queries(queries.begin(), queries.begin() + 1);
    packed_queries.insert(packed_queries.end(), queries.begin() + 3, queries.end());
    call.inputs.keys = call.keep(make_tensor_of(context, {8}, packed_keys));
    call.inputs.queries = call.keep(make_tensor_of(context, {4}, packed_queries));
    call.inputs.valid_lens = nullptr;
    call.sequences.query_lens = nullptr;
    call.sequences.query_offsets = call.keep(make_tensor_of<int32_t>(context, {3}, {0, 1, 4}));
    call.sequences.key_offsets = call.keep(make_tensor_of<int32_t>(context, {3}, {0, 3, 8}));
    const std::vector<float> packed = call.run_for_floats();
    const size_t size = packed.size() / 4;
    std::vector<float> expected(padded.begin(), padded.begin() + static_cast<std::ptrdiff_t>(size));
    expected.insert(expected.end(), padded.begin() + static_cast<std::ptrdiff_t>(3 * size), padded.end());
    EXPECT_TRUE(has_same_bits(packed, expected));
  }
}

TEST(ModelCalls, GiveZerosForRowsThatPad) {
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const int64_t num_rows = call.is_transformer ? 3 : kNumRows;
    call.sequences.query_lens = call.keep(make_tensor_of<int32_t>(call.context.get(), {2}, {0, 2}));
    call.make_output();
    // What the output has before does not matter.
    check(heed_tensor_fill(call.outputs.output, NAN));
    check(call.forward());
    const std::vector<float> output = read_floats(call.context.get(), call.outputs.output);
    const size_t size = output.size() / static_cast<size_t>(2 * num_rows);
    for (size_t row = 0; row < static_cast<size_t>(2 * num_rows); ++row) {
      const auto first = output.begin() + static_cast<std::ptrdiff_t>(row * size);
      const auto last = first + static_cast<std::ptrdiff_t>(size);
      const bool pads = row < static_cast<size_t>(num_rows) || row >= static_cast<size_t>(num_rows) + 2;
      EXPECT_EQ(std::all_of(first, last, [](float number) { return number == 0; }), pads) << "row " << row;
      EXPECT_TRUE(std::all_of(first, last, [](float number) { return std::isfinite(number); })) << "row " << row;
    }
  }
}

// A stack that reads rows, and normalizes them before its first layer.
Layer encoder_with_norm_of_rows(heed_context* context) {
  BlockOptions options;
  options.encoder.num_layers = 1;
  options.encoder.embedding_norm = 1;
  heed_layer* made = nullptr;
  check(heed_encoder_create(context, &options.encoder, &made));
  return Layer(made);
}

std::vector<uint8_t> output_of(const heed_layer* layer, const heed_layer_inputs& inputs) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
  return read_bytes(output.get());
}

TEST(ModelCalls, NormalizeTheVisibleRowsOfAMaskAsTheseRowsAlone) {
  const Context context = make_context();
  const Layer layer = encoder_with_norm_of_rows(context.get());
  const Tensor mask = make_tensor_of<int32_t>(context.get(), {1, 4}, {0, 1, 1, 1});
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    const Tensor rows = make_random(context.get(), {1, 4, 8}, 5, dtype);
    const Tensor visible = make_slice(rows.get(), 1, 1, 3);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = visible.get();
    if (heed_layer_is_initialized(layer.get()) == 0) check(heed_layer_initialize(layer.get(), &inputs, 7));
    const std::vector<uint8_t> alone = output_of(layer.get(), inputs);
    inputs.queries = rows.get();
    inputs.attention_mask = mask.get();
    const std::vector<uint8_t> masked = output_of(layer.get(), inputs);
    EXPECT_EQ(std::vector<uint8_t>(masked.end() - static_cast<std::ptrdiff_t>(alone.size()), masked.end()), alone)
        << dtype;
  }
}

TEST(ModelCalls, OfWantedRowsGiveZerosForATextWithoutRows) {
  const Context context = make_context();
  const Layer layer = encoder_with_norm_of_rows(context.get());
  const Tensor rows = make_random(context.get(), {2, 3, 8}, 5);
  const Tensor numbers = make_tensor_of<int32_t>(context.get(), {2, 2}, {2, 1, 2, -7});
  const std::vector<int32_t> masks[] = {{1, 1, 1, 0, 0, 0}, {0, 1, 1, 0, 0, 0}};
  for (const std::vector<int32_t>& elements : masks) {
    const Tensor mask = make_tensor_of(context.get(), {2, 3}, elements);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows.get();
    check(heed_layer_initialize(layer.get(), &inputs, 7));
    inputs.attention_mask = mask.get();
    const std::vector<uint8_t> all = output_of(layer.get(), inputs);
    inputs.output_rows = numbers.get();
    const std::vector<uint8_t> wanted = output_of(layer.get(), inputs);
    constexpr std::ptrdiff_t kRow = 8 * sizeof(float);
    std::vector<uint8_t> expected(all.begin() + 2 * kRow, all.begin() + 3 * kRow);
    expected.insert(expected.end(), all.begin() + kRow, all.begin() + 2 * kRow);
    expected.resize(4 * kRow);
    EXPECT_EQ(wanted, expected);
  }
}

// A mask that hides nothing moves no rows, and takes other memory than one that moves them.
TEST(ModelCalls, OfMasksNeedNoMoreThanTheWorkspaceThatIsAskedFor) {
  const Context context = make_context();
  BlockOptions options;
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  positions.max_positions = 6;
  options.encoder.positions = options.decoder.positions = &positions;
  options.encoder.embedding_norm = options.decoder.embedding_norm = 1;
  options.encoder.num_layers = options.decoder.num_layers = 1;
  options.encoder.final_norm = options.decoder.final_norm = 0;
  options.encoder_layer.norm_first = 1;
  options.decoder_layer.dropout = 0;
  options.attention.num_kv_heads = 1;
  options.feed_forward.hidden_size = 8;
  heed_layer* made = nullptr;
  check(heed_transformer_create(context.get(), &options.transformer, &made));
  const Layer layer(made);
  const auto mask_of = [&](int64_t num_rows, bool has_hole) {
    std::vector<int32_t> elements(static_cast<size_t>(num_rows), 1);
    if (has_hole) elements.front() = 0;
    return make_tensor_of(context.get(), {1, num_rows}, elements);
  };
  for (int64_t num_rows = 2; num_rows <= 6; ++num_rows) {
    for (int64_t num_keys = 2; num_keys <= 6; ++num_keys) {
      for (const bool hides_rows : {false, true}) {
        for (const bool hides_keys : {false, true}) {
          const Tensor rows = make_random(context.get(), {1, num_rows, 8}, 5, HEED_F16);
          const Tensor keys = make_random(context.get(), {1, num_keys, 8}, 6, HEED_F16);
          const Tensor rows_mask = mask_of(num_rows, hides_rows);
          const Tensor keys_mask = mask_of(num_keys, hides_keys);
          heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
          decoder.self_attention_mask = rows_mask.get();
          heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
          inputs.queries = rows.get();
          inputs.keys = keys.get();
          inputs.attention_mask = keys_mask.get();
          inputs.decoder = &decoder;
          if (heed_layer_is_initialized(layer.get()) == 0) check(heed_layer_initialize(layer.get(), &inputs, 7));
          heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
          check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
          const Tensor output(outputs.output);
          size_t num_bytes = 0;
          check(heed_layer_workspace_size(layer.get(), &inputs, &outputs, &num_bytes));
          heed_workspace* workspace = nullptr;
          check(heed_workspace_create(context.get(), num_bytes, &workspace));
          const Workspace exact(workspace);
          EXPECT_EQ(heed_layer_forward(layer.get(), &inputs, exact.get(), &outputs), HEED_OK)
              << heed_last_error() << ", " << num_rows << " rows and " << num_keys << " keys";
        }
      }
    }
  }
}

TEST(ModelCalls, OfNoRowsAtAllAreEmpty) {
  for (const std::string& family : every_model()) {
    for (const Dims& dims : {Dims{0, 5}, Dims{2, 0}}) {
      SCOPED_TRACE(family);
      ModelCall call(golden_model(family));
      call.inputs.queries = call.ids(dims, 0);
      if (call.is_transformer) call.inputs.keys = call.ids({dims[0], 5}, 0);
      EXPECT_TRUE(call.run().empty());
    }
  }
}

// ---- threads --------------------------------------------------------------------------------------------------------

TEST(ModelCalls, GiveTheSameBitsOnEachNumberOfThreads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    const auto run_on = [&](int32_t num_threads) {
      options.num_threads = num_threads;
      ModelCall call(golden_model(family), &options);
      // Enough for more than one thread; some models have 32 positions.
      call.inputs.queries = call.ids({9, 30}, 3);
      if (call.is_transformer) call.inputs.keys = call.ids({9, 31}, 5);
      return call.run();
    };
    const std::vector<uint8_t> expected = run_on(1);
    EXPECT_EQ(run_on(2), expected);
    EXPECT_EQ(run_on(3), expected);
  }
}

// ---- layers that share parameters -----------------------------------------------------------------------------------

TEST(ModelCalls, OfSharedLayersCountTheirParametersOnce) {
  ModelCopy copy("albert");
  const ModelCall two(copy.write());
  copy.set("num_hidden_layers", "5");
  ModelCall five(copy.write());
  heed_layer* const layer = five.layer.get();
  EXPECT_EQ(heed_layer_parameter_count(layer), heed_layer_parameter_count(two.layer.get()));
  // All tensors of the file but the pooler's.
  EXPECT_EQ(heed_layer_parameter_count(layer), static_cast<int64_t>(copy.tensors.size()) - 2);
  std::set<std::string> names;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) names.insert(heed_layer_parameter_name(layer, i));
  EXPECT_EQ(names.size(), static_cast<size_t>(heed_layer_parameter_count(layer)));
  EXPECT_TRUE(names.contains("layers.0.self_attention.W_q.weight"));
  EXPECT_FALSE(names.contains("layers.1.self_attention.W_q.weight"));

  // A change of one is a change of all.
  const std::vector<uint8_t> before = five.run();
  const Layer first = make_child(layer, "layers.0");
  const Layer fourth = make_child(layer, "layers.3");
  EXPECT_EQ(heed_layer_parameter_count(fourth.get()), heed_layer_parameter_count(first.get()));
  const auto weight_of = [](const Layer& of) {
    return read_bytes(snapshot(of.get(), "feed_forward.W_1.weight").get());
  };
  EXPECT_EQ(weight_of(fourth), weight_of(first));
  const Tensor other = make_random(five.context.get(), {24, 32}, 3);
  check(heed_layer_set_parameter(layer, "layers.0.feed_forward.W_1.weight", other.get()));
  EXPECT_EQ(weight_of(first), read_bytes(other.get()));
  EXPECT_EQ(weight_of(fourth), read_bytes(other.get()));
  EXPECT_NE(five.run(), before);
  heed_tensor* none = nullptr;
  EXPECT_EQ(heed_layer_parameter(layer, "layers.3.feed_forward.W_1.weight", &none), HEED_ERROR_NOT_FOUND);
}

TEST(ModelCalls, OfTiedHeadsReadTheTableOfTheEmbedding) {
  ModelCall call(golden_model("gpt2"));
  const std::vector<uint8_t> before = call.run();
  const Layer head = make_child(call.layer.get(), "output");
  EXPECT_EQ(heed_layer_parameter_count(head.get()), 0);
  const Tensor other = make_random(call.context.get(), {40, 32}, 3);
  check(heed_layer_set_parameter(call.layer.get(), "embedding.weight", other.get()));
  EXPECT_NE(call.run(), before);
}

// ---- files that heed writes -----------------------------------------------------------------------------------------

TEST(ModelCalls, GiveTheSameBitsAfterTheirFileIsLoaded) {
  const TemporaryFolder folder;
  const std::string path = folder.path("saved.safetensors");
  for (const std::string& family : every_model()) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    const std::vector<uint8_t> expected = call.run();
    heed_layer* const layer = call.layer.get();
    check(heed_layer_save(layer, path.c_str()));
    for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
      const char* const name = heed_layer_parameter_name(layer, i);
      const Tensor zeros = make_tensor(call.context.get(), dims_of(snapshot(layer, name).get()));
      check(heed_layer_set_parameter(layer, name, zeros.get()));
    }
    EXPECT_NE(call.run(), expected);
    ASSERT_EQ(heed_layer_load(layer, path.c_str(), nullptr), HEED_OK) << heed_last_error();
    EXPECT_EQ(call.run(), expected);
  }
}

TEST(ModelCalls, ContinueThePositionsOfTheSequencesThatTheyName) {
  for (const char* const family : {"gpt2", "opt"}) {
    SCOPED_TRACE(family);
    ModelCall call(golden_model(family));
    heed_tensor* const begin = call.ids({1, 5}, 3);
    heed_tensor* const next = call.ids({1, 2}, 4);
    heed_tensor* const second = call.keep(make_tensor_of<int32_t>(call.context.get(), {1}, {1}));
    const auto run_next = [&](const heed_tensor* of_begin, const heed_tensor* of_next) {
      const Cache cache = make_cache_of(call.context.get(), call.layer.get(), 2, 16);
      heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
      cached.cache = cache.get();
      cached.sequences = of_begin;
      call.inputs.cache = &cached;
      call.inputs.queries = begin;
      call.run();
      cached.sequences = of_next;
      call.inputs.queries = next;
      return call.run();
    };
    const std::vector<uint8_t> expected = run_next(nullptr, nullptr);
    EXPECT_EQ(run_next(second, second), expected);
    EXPECT_NE(run_next(second, nullptr), expected);
  }
}

// Ids of a shape alone may be more than there is memory for: a call refuses them before it takes any, also for the token types
// that are not given.
TEST(ModelCalls, OfShapesAloneTakeNoMemoryForTheirIds) {
  CountingAllocator allocator;
  const heed_allocator functions = allocator.as_struct();
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.allocator = &functions;
  ModelCall call(golden_model("bert"), &options);
  call.run();
  constexpr int64_t kBatch = int64_t{1} << 31;
  const Tensor ids = make_shape_only(call.context.get(), {kBatch, 1}, HEED_I32);
  const Tensor output = make_shape_only(call.context.get(), {kBatch, 1, 32});
  call.inputs.queries = ids.get();
  call.inputs.token_types = nullptr;
  const heed_layer_outputs own = call.outputs;
  call.outputs.output = output.get();
  allocator.limit_allocations(size_t{1} << 20);
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->queries is a shape-only tensor (2147483648, 1)"})));
  allocator.limit_allocations(SIZE_MAX);
  call.outputs = own;
}

// ---- what the caller of a folder knows ---------------------------------------------------------------------------------

// Of two sounds.
heed_tensor* features(ModelCall& whisper, int64_t num_frames) {
  constexpr int64_t kNumMels = 8;
  return whisper.keep(make_tensor(whisper.context.get(), {2, kNumMels, num_frames}));
}

// The caller has set no options: sentences name the setting of config.json.
TEST(ModelCalls, OfTooManyRowsNameTheSettingThatLimitsThem) {
  struct Limited {
    const char* family;
    const char* words;
  };
  for (const Limited& limited :
       {Limited{"bert", "at most 32, the positions of the model, by \"max_position_embeddings\" in config.json"},
        {"roberta", "at most 32, the positions of the model, by \"max_position_embeddings\" in config.json"},
        {"opt", "at most 32, the positions of the model, by \"max_position_embeddings\" in config.json"},
        {"gpt2", "at most 32, the positions of the model, by \"n_positions\" in config.json"},
        {"marian", "at most 32, the positions of the model, by \"max_position_embeddings\" in config.json"},
        {"whisper", "at most 32, the positions of the model, by \"max_target_positions\" in config.json"}}) {
    SCOPED_TRACE(limited.family);
    ModelCall call(golden_model(limited.family));
    if (limited.family == std::string("whisper")) call.inputs.keys = features(call, 24);
    call.make_output();
    call.inputs.queries = call.ids({2, 33}, 1);
    forget_last_error();
    EXPECT_TRUE(is_refused(call.forward(), invalid({"33 rows", limited.words})));
  }
  ModelCall whisper(golden_model("whisper"));
  whisper.inputs.keys = features(whisper, 24);
  whisper.make_output();
  whisper.inputs.keys = features(whisper, 26);
  forget_last_error();
  EXPECT_TRUE(is_refused(
      whisper.forward(),
      invalid({"13 rows", "at most 12, the positions of the model, by \"max_source_positions\" in config.json"})));
  ModelCopy copy("gpt2");
  copy.remove_setting("n_positions");
  ModelCall without(copy.write());
  without.make_output();
  without.inputs.queries = without.ids({2, 33}, 1);
  forget_last_error();
  EXPECT_TRUE(is_refused(without.forward(), invalid({"expected at most 32, the positions of the model"})));
}

// A sequence that a cache has continues beyond the last position.
TEST(ModelCalls, OfStepsBeyondTheLastPositionNameTheSetting) {
  ModelCall call(golden_model("gpt2"));
  const Cache cache = make_cache_of(call.context.get(), call.layer.get(), 2, 64);
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  call.inputs.cache = &cached;
  call.inputs.queries = call.ids({2, 32}, 1);
  call.run();
  call.inputs.queries = call.ids({2, 1}, 1);
  call.make_output();
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"continues at position 32",
                                                  "positions below 32, the positions of the "
                                                  "model, by \"n_positions\" in config.json"})));
}

TEST(ModelCalls, OfIdsWhereTheModelReadsSignalsSayWhatItReads) {
  ModelCall whisper(golden_model("whisper"));
  whisper.inputs.keys = features(whisper, 24);
  whisper.make_output();
  whisper.inputs.keys = whisper.ids({2, 5}, 1);
  forget_last_error();
  EXPECT_TRUE(
      is_refused(whisper.forward(), invalid({"inputs->keys is I32, expected F32, F16 or BF16: features of audio"})));
  whisper.inputs.keys = nullptr;
  forget_last_error();
  EXPECT_TRUE(is_refused(whisper.forward(), invalid({"expected the features of audio of the encoder, or its output"})));
  const Context context = make_context();
  const Layer vit = make_model(context.get(), golden_model("vit"));
  const Tensor ids = make_tensor(context.get(), {2, 5}, HEED_I32);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = ids.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_layer_create_outputs(vit.get(), &inputs, HEED_WANT_OUTPUT, &outputs),
                         invalid({"inputs->queries is I32, expected F32, F16 or BF16: images"})));
}

// The caller gave layer 0, and the cache has it.
TEST(ModelCalls, OfCachesWithTooFewLayersNameWhatSetsThem) {
  for (const char* const family : {"gpt2", "llama"}) {
    ModelCall call(golden_model(family));
    heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
    check(heed_layer_cache_options(call.layer.get(), &options));
    options.num_layers = 1;
    options.max_sequences = 2;
    options.capacity = 16;
    heed_cache* made = nullptr;
    check(heed_cache_create(call.context.get(), &options, &made));
    const Cache cache(made);
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = cache.get();
    call.inputs.cache = &cached;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs),
                           invalid({"inputs->cache->cache has too few layers, 1: ",
                                    "layer 1 of this one uses layer 1 of it", "as heed_layer_cache_options says"})));
    cached.layer = 1;
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_layer_create_outputs(call.layer.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs),
                           invalid({"inputs->cache->layer is 1, expected 0 to 0"})));
  }
}

// A configuration whose numbers no layer takes.
TEST(ModelCalls, OfFoldersWithOptionsThatNoLayerTakesNameTheFileAndThePart) {
  ModelCopy copy("llama");
  copy.set("num_key_value_heads", "3");
  heed_layer* layer = nullptr;
  const Context context = make_context();
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_layer_create_from_folder(context.get(), copy.write().c_str(), &layer),
                         invalid({"config.json\" makes no model: layers[0]->self_attention->num_heads is 4, which"})));
}

// ---- the encoder's output -------------------------------------------------------------------------------------------

// A Transformer, its encoder's output, and a cache that is filled with it.
class WithMemory : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    heed_layer_inputs source = HEED_LAYER_INPUTS_INIT;
    source.keys = call_.inputs.keys;
    source.valid_lens = lens_.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer(), &source, HEED_WANT_OUTPUT, &outputs));
    memory_ = Tensor(outputs.output);
    check(heed_layer_forward(layer(), &source, nullptr, &outputs));
    heed_cache_inputs filled = HEED_CACHE_INPUTS_INIT;
    filled.cache = cache_.get();
    source.cache = &filled;
    check(heed_layer_fill_cache(layer(), &source, nullptr));
    read_.cache = cache_.get();
    read_.use = HEED_CACHE_READ;
    call_.inputs.keys = nullptr;
    call_.inputs.decoder = &call_.decoder;
    call_.decoder.memory_cache = &read_;
    call_.make_output();
    call_.decoder.memory_cache = nullptr;
  }

  heed_layer* layer() const { return call_.layer.get(); }

  void expect_refused_as(const Refusal& refusal) {
    forget_last_error();
    EXPECT_TRUE(is_refused(call_.forward(), refusal));
  }

  ModelCall call_{golden_model(GetParam())};
  const Tensor lens_ = make_tensor_of<int32_t>(call_.context.get(), {2}, {4, 5});
  Tensor memory_;
  const Cache cache_ = make_cache_of(call_.context.get(), layer(), 2, 5);
  heed_cache_inputs read_ = HEED_CACHE_INPUTS_INIT;
};

// A cache has its keys in tiles, whose sums have another order: the bound is that of whole models against their framework.
void expect_nearly_the_same(const std::vector<float>& is, const std::vector<float>& expected) {
  ASSERT_EQ(is.size(), expected.size());
  float largest = 0;
  for (const float number : expected) largest = std::max(largest, std::abs(number));
  for (size_t i = 0; i < is.size(); ++i) ASSERT_LE(std::abs(is[i] - expected[i]), 1e-5f * largest) << "element " << i;
}

TEST_P(WithMemory, InACacheGivesTheNumbersOfTheTensor) {
  call_.decoder.memory = memory_.get();
  call_.inputs.valid_lens = lens_.get();
  const std::vector<float> expected = call_.run_for_floats();
  call_.decoder.memory = nullptr;
  call_.inputs.valid_lens = nullptr;
  call_.decoder.memory_cache = &read_;
  const std::vector<float> cached = call_.run_for_floats();
  expect_nearly_the_same(cached, expected);
  // Reading changes nothing.
  EXPECT_TRUE(has_same_bits(call_.run_for_floats(), cached));
  EXPECT_EQ(heed_cache_length(cache_.get(), 0), 4);
  EXPECT_EQ(heed_cache_length(cache_.get(), 1), 5);
  // The whole model in one call has them, too.
  call_.decoder.memory_cache = nullptr;
  call_.inputs.keys = call_.ids({2, 5}, 11);
  call_.inputs.valid_lens = lens_.get();
  EXPECT_TRUE(has_same_bits(call_.run_for_floats(), expected));
}

TEST_P(WithMemory, InACacheReadsTheSequencesThatTheCallNames) {
  call_.decoder.memory_cache = &read_;
  const std::vector<uint8_t> expected = call_.run();
  const std::vector<int32_t> ids = read_elements<int32_t>(call_.inputs.queries);
  std::vector<int32_t> turned(ids.begin() + 3, ids.end());
  turned.insert(turned.end(), ids.begin(), ids.begin() + 3);
  call_.inputs.queries = call_.keep(make_tensor_of(call_.context.get(), {2, 3}, turned));
  read_.sequences = call_.keep(make_tensor_of<int32_t>(call_.context.get(), {2}, {1, 0}));
  std::vector<uint8_t> is = call_.run();
  std::rotate(is.begin(), is.begin() + static_cast<std::ptrdiff_t>(is.size() / 2), is.end());
  EXPECT_EQ(is, expected);
}

TEST_P(WithMemory, InACacheIsRefusedTogetherWithOtherMemory) {
  call_.decoder.memory_cache = &read_;
  read_.use = HEED_CACHE_APPEND;
  expect_refused_as(invalid({"inputs->decoder->memory_cache->use is HEED_CACHE_APPEND, expected HEED_CACHE_READ"}));
  read_.use = HEED_CACHE_READ;
  call_.inputs.keys = call_.ids({2, 5}, 11);
  expect_refused_as(invalid({"inputs->keys is set, but so is inputs->decoder->memory_cache"}));
  call_.inputs.keys = nullptr;
  call_.decoder.memory = memory_.get();
  expect_refused_as(invalid({"inputs->decoder->memory is set, but so is inputs->decoder->memory_cache"}));
  call_.decoder.memory = nullptr;
  call_.inputs.valid_lens = lens_.get();
  expect_refused_as(invalid({"inputs->valid_lens is set, but so is inputs->decoder->memory_cache"}));
  call_.inputs.valid_lens = nullptr;
  read_.layer = 1;
  expect_refused_as(invalid({"inputs->decoder->memory_cache->layer"}));
  read_.layer = 0;
  heed_cache_inputs own = HEED_CACHE_INPUTS_INIT;
  own.cache = cache_.get();
  call_.inputs.cache = &own;
  expect_refused_as(invalid({"inputs->decoder->memory_cache->cache is that of inputs->cache"}));
  call_.inputs.cache = nullptr;
  call_.inputs.training = 1;
  expect_refused_as({HEED_ERROR_UNSUPPORTED, {"training"}});
  call_.inputs.training = 0;
  call_.inputs.queries = call_.ids({3, 3}, 1);
  forget_last_error();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  EXPECT_TRUE(
      is_refused(heed_layer_create_outputs(layer(), &call_.inputs, HEED_WANT_OUTPUT, &outputs), invalid({"3", "2"})));
  // The cache is as before.
  EXPECT_EQ(heed_cache_length(cache_.get(), 0), 4);
}

INSTANTIATE_TEST_SUITE_P(Transformers, WithMemory, testing::ValuesIn(kTransformerModels));

}  // namespace
}  // namespace heed::capi_test
