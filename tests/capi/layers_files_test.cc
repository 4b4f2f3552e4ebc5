// SPDX-License-Identifier: Apache-2.0
// Saving parameters to files and loading them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "support/activations.h"

namespace heed::capi_test {
namespace {

class LayerFiles : public testing::Test {
 protected:
  const TemporaryFolder folder_;
};

// Replaces the layer by one with all biases, and gives them values other than 0.
void give_biases(AttentionCall& call) {
  heed_multi_head_attention_options options = two_heads();
  options.biases = HEED_BIAS_ALL;
  call.replace_layer(options);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 11));
  for (const char* name : {"W_q.bias", "W_k.bias", "W_v.bias", "W_o.bias"})
    check(heed_layer_set_parameter(call.layer.get(), name, call.random({8}, 12)));
}

TEST_F(LayerFiles, SaveAndLoadKeepEveryBit) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    AttentionCall call(Kind::MultiHead, {}, dtype);
    give_biases(call);
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const std::vector<uint8_t> expected = call.read_outputs();
    const std::string path = folder_.path("layer.safetensors");
    ASSERT_EQ(heed_layer_save(call.layer.get(), path.c_str()), HEED_OK) << heed_last_error();

    heed_multi_head_attention_options options = two_heads();
    options.biases = HEED_BIAS_ALL;
    call.replace_layer(options);
    for (const char* no_prefix : {static_cast<const char*>(nullptr), ""}) {
      ASSERT_EQ(heed_layer_load(call.layer.get(), path.c_str(), no_prefix), HEED_OK) << heed_last_error();
      EXPECT_EQ(heed_layer_is_initialized(call.layer.get()), 1);
      EXPECT_EQ(heed_tensor_dtype(snapshot(call.layer.get(), "W_v.bias").get()), dtype);
      check(heed_tensor_fill(call.outputs.output, 0.0));
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
}

// The texts of a saved file's __metadata__.
nlohmann::json texts_of(const heed_layer* layer) {
  size_t num_bytes = 0;
  check(heed_layer_save_memory(layer, nullptr, 0, &num_bytes));
  std::vector<char> bytes(num_bytes);
  check(heed_layer_save_memory(layer, bytes.data(), bytes.size(), nullptr));
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  nlohmann::json texts = nlohmann::json::parse(bytes.data() + 8, bytes.data() + 8 + size).at("__metadata__");
  EXPECT_EQ(texts.at("heed.kind"), heed_layer_kind(layer));
  std::string options(4096, '#');
  EXPECT_EQ(heed_layer_options(layer, options.data(), options.size(), nullptr), HEED_OK) << heed_last_error();
  const auto parsed = [](const std::string& text) { return nlohmann::ordered_json::parse(text.c_str()); };
  EXPECT_EQ(parsed(options), parsed(texts.at("heed.options").get<std::string>()));
  return texts;
}

TEST_F(LayerFiles, SayTheKindAndTheOptions) {
  const std::string attention =
      R"("scale":0,"soft_cap":0,"dropout":0,"causal":"none","window":"none","window_left":0,"window_right":0,)"
      R"("empty_rows":"zero"})";
  const std::string heads = R"({"num_hiddens":8,"num_heads":2,"num_kv_heads":2,"head_size":4,"value_head_size":4,)"
                            R"("output_size":8,"no_output_projection":false,"biases":[],"scoring":)";
  for (const auto& [kind, name, options] :
       {std::tuple<Kind, const char*, std::string>{Kind::MultiHead, "multi_head_attention",
                                                   heads + R"("dot_product",)" + attention},
        {Kind::MultiHeadAdditive, "multi_head_attention", heads + R"("additive",)" + attention},
        {Kind::Additive, "additive_attention", R"({"num_hiddens":5,"scale":1)" + attention.substr(attention.find(','))},
        {Kind::General, "general_attention", R"({"query_size":6,"scale":1)" + attention.substr(attention.find(','))},
        {Kind::DotProductRank3, "dot_product_attention", "{" + attention},
        {Kind::Linear, "linear", R"({"output_size":5,"no_bias":false})"},
        {Kind::Dropout, "dropout", R"({"dropout":0.5})"},
        {Kind::Positions, "positional_encoding",
         R"({"kind":"learned","max_positions":3,"size":6,"first_row":0,"dropout":0})"},
        {Kind::Rotary, "multi_head_attention",
         heads + R"("dot_product",)" + attention.substr(0, attention.size() - 1) +
             R"(,"qk_norm":"rms","qk_norm_epsilon":1e-06,"rope":{"layout":"half","rotary_size":4,"rotary_offset":0,)"
             R"("base":10000,"attention_factor":1,"scaling":"none"},"relative_bias":"both_ways",)"
             R"("relative_bias_buckets":32,"relative_bias_max_distance":128,"sinks":true,"alibi":"added"})"}}) {
    const AttentionCall call(kind);
    const nlohmann::json texts = texts_of(call.layer.get());
    EXPECT_EQ(texts.size(), 3U);
    EXPECT_EQ(texts.at("format"), "pt");
    EXPECT_EQ(texts.at("heed.kind"), name);
    EXPECT_EQ(texts.at("heed.options"), options);
  }
}

TEST_F(LayerFiles, SayOptionsOfEveryValue) {
  AttentionCall call(Kind::MultiHead);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 6;
  options.num_kv_heads = 3;
  options.head_size = 4;
  options.value_head_size = 5;
  options.no_output_projection = 1;
  options.biases = HEED_BIAS_Q | HEED_BIAS_V;
  options.scale = 0.1F;
  options.soft_cap = 50;
  options.dropout = 0.25F;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  options.window = HEED_WINDOW_BOTTOM_RIGHT;
  options.window_left = 3;
  options.window_right = -1;
  options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  call.replace_layer(options);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  EXPECT_EQ(texts_of(call.layer.get()).at("heed.options"),
            R"({"num_hiddens":0,"num_heads":6,"num_kv_heads":3,"head_size":4,"value_head_size":5,"output_size":0,)"
            R"("no_output_projection":true,"biases":["q","v"],"scoring":"dot_product","scale":0.1,"soft_cap":50,)"
            R"("dropout":0.25,"causal":"top_left","window":"bottom_right","window_left":3,"window_right":-1,)"
            R"("empty_rows":"mean"})");
}

// Options of positions with other values than Kind::Rotary has.
TEST_F(LayerFiles, SayOptionsOfPositions) {
  AttentionCall call(Kind::MultiHead);
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_INTERLEAVED;
  rope.rotary_size = 2;
  rope.rotary_offset = 1;
  rope.base = 500000;
  rope.scaling = HEED_ROPE_SCALING_YARN;
  rope.factor = 32;
  rope.original_length = 4096;
  rope.attention_factor = 1.5F;
  rope.no_rounding = 1;
  heed_multi_head_attention_options options = two_heads();
  options.rope = &rope;
  options.qk_norm_epsilon = 0.5F;
  options.qk_norm = HEED_QK_NORM_LAYER;
  options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
  options.relative_bias_buckets = 16;
  options.relative_bias_max_distance = 64;
  options.alibi = HEED_ALIBI_SCALED;
  call.replace_layer(options);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  const nlohmann::json written =
      nlohmann::json::parse(texts_of(call.layer.get()).at("heed.options").get<std::string>());
  EXPECT_EQ(written.at("rope"), nlohmann::json::parse(R"({"layout":"interleaved","rotary_size":2,"rotary_offset":1,
      "base":500000,"attention_factor":1.5,"scaling":"yarn","factor":32,"original_length":4096,"beta_fast":32,
      "beta_slow":1,"no_rounding":true,"low_freq_factor":0,"high_freq_factor":0})"));
  EXPECT_EQ(written.at("qk_norm"), "layer");
  EXPECT_EQ(written.at("qk_norm_epsilon"), 0.5);
  EXPECT_EQ(written.at("relative_bias"), "one_way");
  EXPECT_EQ(written.at("relative_bias_buckets"), 16);
  EXPECT_EQ(written.at("relative_bias_max_distance"), 64);
  EXPECT_EQ(written.at("alibi"), "scaled");
  EXPECT_FALSE(written.contains("sinks"));
}

TEST_F(LayerFiles, SayEveryScaling) {
  constexpr float kFactors[] = {1.0F, 2.0F};
  const std::pair<int32_t, const char*> scalings[] = {
      {HEED_ROPE_SCALING_NONE, "none"}, {HEED_ROPE_SCALING_LINEAR, "linear"}, {HEED_ROPE_SCALING_NTK, "ntk"},
      {HEED_ROPE_SCALING_YARN, "yarn"}, {HEED_ROPE_SCALING_LLAMA3, "llama3"}, {HEED_ROPE_SCALING_FACTORS, "factors"}};
  for (const auto& [scaling, name] : scalings) {
    AttentionCall call(Kind::MultiHead);
    heed_rope_options rope = whole_heads();
    rope.scaling = scaling;
    if (scaling != HEED_ROPE_SCALING_NONE) rope.factor = 8;
    if (scaling >= HEED_ROPE_SCALING_YARN) rope.original_length = 64;
    if (scaling == HEED_ROPE_SCALING_FACTORS) {
      rope.factors = kFactors;
      rope.num_factors = 2;
    }
    heed_multi_head_attention_options options = two_heads();
    options.rope = &rope;
    call.replace_layer(options);
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
    const nlohmann::json written =
        nlohmann::json::parse(texts_of(call.layer.get()).at("heed.options").get<std::string>());
    EXPECT_EQ(written.at("rope").at("scaling"), name);
  }
}

TEST_F(LayerFiles, SayEveryKindOfPositions) {
  const std::pair<int32_t, const char*> kinds[] = {{HEED_POSITIONS_SINUSOIDAL, "sinusoidal"},
                                                   {HEED_POSITIONS_SINUSOIDAL_HALVES, "sinusoidal_halves"},
                                                   {HEED_POSITIONS_SINUSOIDAL_HALVES_2I, "sinusoidal_halves_2i"}};
  for (const auto& [kind, name] : kinds) {
    const AttentionCall call(Kind::Positions);
    heed_positional_encoding_options options = ten_positions();
    options.kind = kind;
    const Layer layer = make_positional_encoding(call.context.get(), options);
    const nlohmann::json written = nlohmann::json::parse(texts_of(layer.get()).at("heed.options").get<std::string>());
    EXPECT_EQ(written.at("kind"), name);
  }
}

TEST_F(LayerFiles, SayEveryActivation) {
  const std::pair<int32_t, const char*> activations[] = {{HEED_ACTIVATION_RELU, "relu"},
                                                         {HEED_ACTIVATION_GELU, "gelu"},
                                                         {HEED_ACTIVATION_GELU_TANH, "gelu_tanh"},
                                                         {HEED_ACTIVATION_GELU_QUICK, "gelu_quick"},
                                                         {HEED_ACTIVATION_SILU, "silu"}};
  static_assert(std::size(activations) == kNumActivationsOfC);
  const AttentionCall call(Kind::FeedForward);
  for (const auto& [activation, name] : activations) {
    heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
    options.hidden_size = 5;
    options.activation = activation;
    const Layer layer = make_feed_forward(call.context.get(), options);
    check(heed_layer_initialize(layer.get(), &call.inputs, 4));
    const nlohmann::json written = nlohmann::json::parse(texts_of(layer.get()).at("heed.options").get<std::string>());
    EXPECT_EQ(written.at("activation"), name);
  }
}

TEST_F(LayerFiles, SayTheOptionsOfEmbeddings) {
  const AttentionCall call(Kind::Embedding);
  heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
  options.num_embeddings = 7;
  options.embedding_size = 3;
  options.padding_index = 1;
  options.scale = 0.5F;
  const Layer layer = make_embedding(call.context.get(), options);
  check(heed_layer_initialize(layer.get(), &call.inputs, 4));
  EXPECT_EQ(texts_of(layer.get()).at("heed.options"),
            R"({"num_embeddings":7,"embedding_size":3,"padding_index":1,"scale":0.5})");
}

// An encoder of images: their options, and the parameters by heed's own names.
TEST_F(LayerFiles, SayTheOptionsOfPatches) {
  const Context context = make_context();
  BlockOptions blocks;
  heed_patch_embedding_options patches = six_pixels();
  patches.image_height = 4;
  patches.image_width = 6;
  blocks.encoder.patches = &patches;
  const Tensor images = make_random(context.get(), {2, 3, 4, 6}, 1);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = images.get();
  const auto run = [&](const Layer& layer) {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    return read_bytes(output.get());
  };
  const Layer layer = make_encoder(context.get(), blocks.encoder);
  check(heed_layer_initialize(layer.get(), &inputs, 4));
  const nlohmann::json written = nlohmann::json::parse(texts_of(layer.get()).at("heed.options").get<std::string>());
  EXPECT_EQ(written.at("patches").dump(),
            R"({"class_token":true,"image_height":4,"image_width":6,"no_bias":false,"num_channels":3,)"
            R"("patch_height":2,"patch_width":3,"size":8})");
  const std::string path = folder_.path("encoder.safetensors");
  check(heed_layer_save(layer.get(), path.c_str()));
  const Layer loaded = make_encoder(context.get(), blocks.encoder);
  check(heed_layer_load(loaded.get(), path.c_str(), nullptr));
  EXPECT_EQ(run(loaded), run(layer));
}

TEST_F(LayerFiles, SayTheOptionsOfAudio) {
  const Context context = make_context();
  const heed_audio_embedding_options options = four_mels();
  heed_layer* made = nullptr;
  check(heed_audio_embedding_create(context.get(), &options, &made));
  const Layer layer(made);
  const Tensor features = make_tensor(context.get(), {1, 4, 6});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = features.get();
  check(heed_layer_initialize(layer.get(), &inputs, 4));
  EXPECT_EQ(texts_of(layer.get()).at("heed.options"), R"({"num_mels":4,"size":8})");
}

// The parameters that begin with ones and zeros get other values first.
TEST_F(LayerFiles, SaveAndLoadKeepEveryBitOfNormsSinksAndTables) {
  for (const Kind kind : {Kind::Rotary, Kind::Packed, Kind::Positions}) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      AttentionCall call(kind, {}, dtype);
      std::vector<std::string> names;
      for (int64_t i = 0; i < heed_layer_parameter_count(call.layer.get()); ++i) {
        const char* name = heed_layer_parameter_name(call.layer.get(), i);
        names.emplace_back(name);
        const Dims dims = dims_of(snapshot(call.layer.get(), name).get());
        check(heed_layer_set_parameter(call.layer.get(), name, call.random(dims, 20 + static_cast<uint64_t>(i))));
      }
      if (kind == Kind::Positions) {
        EXPECT_EQ(names, std::vector<std::string>{"weight"});
      } else {
        EXPECT_EQ(names, (std::vector<std::string>{"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight",
                                                   "q_norm.weight", "k_norm.weight", "sinks", "relative_bias.weight"}));
      }
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      const std::vector<uint8_t> expected = call.read_outputs();
      const std::string path = folder_.path("layer.safetensors");
      ASSERT_EQ(heed_layer_save(call.layer.get(), path.c_str()), HEED_OK) << heed_last_error();
      check(heed_layer_initialize(call.layer.get(), &call.inputs, 99));
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_NE(call.read_outputs(), expected);
      ASSERT_EQ(heed_layer_load(call.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
      for (const std::string& name : names)
        EXPECT_EQ(heed_tensor_dtype(snapshot(call.layer.get(), name.c_str()).get()), dtype) << name;
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
}

TEST_F(LayerFiles, SaveAndLoadKeepEveryBitOfAdditiveScoring) {
  for (const Kind kind : {Kind::Additive, Kind::MultiHeadAdditive}) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      const AttentionCall call(kind, {}, dtype);
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      const std::vector<uint8_t> expected = call.read_outputs();
      const std::string path = folder_.path("layer.safetensors");
      ASSERT_EQ(heed_layer_save(call.layer.get(), path.c_str()), HEED_OK) << heed_last_error();
      check(heed_layer_initialize(call.layer.get(), &call.inputs, 99));
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_NE(call.read_outputs(), expected);
      ASSERT_EQ(heed_layer_load(call.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
}

TEST_F(LayerFiles, SavingTwiceGivesTheSameBytesAndNothingElse) {
  const AttentionCall call(Kind::MultiHead);
  const std::string path = folder_.path("a");
  check(heed_layer_save(call.layer.get(), path.c_str()));
  const std::string first = read_file(path);
  check(heed_layer_save(call.layer.get(), path.c_str()));
  EXPECT_EQ(read_file(path), first);
  EXPECT_EQ(folder_.file_names(), std::vector<std::string>{"a"});
}

// The bytes that heed_layer_save_memory writes.
std::vector<uint8_t> saved_to_memory(const heed_layer* layer) {
  size_t num_bytes = 0;
  check(heed_layer_save_memory(layer, nullptr, 0, &num_bytes));
  std::vector<uint8_t> bytes(num_bytes);
  check(heed_layer_save_memory(layer, bytes.data(), bytes.size(), nullptr));
  return bytes;
}

TEST_F(LayerFiles, MemoryGetsTheBytesOfTheFile) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    AttentionCall call(Kind::MultiHead, {}, dtype);
    give_biases(call);
    const std::string path = folder_.path("layer");
    check(heed_layer_save(call.layer.get(), path.c_str()));
    const std::string file = read_file(path);

    size_t num_bytes = 0;
    ASSERT_EQ(heed_layer_save_memory(call.layer.get(), nullptr, 77, &num_bytes), HEED_OK) << heed_last_error();
    EXPECT_EQ(num_bytes, file.size());
    // Bytes beyond the needed size are not written.
    std::string memory(file.size() + 3, '~');
    num_bytes = 0;
    ASSERT_EQ(heed_layer_save_memory(call.layer.get(), memory.data(), memory.size(), &num_bytes), HEED_OK);
    EXPECT_EQ(num_bytes, file.size());
    EXPECT_TRUE(memory == file + "~~~");
    ASSERT_EQ(heed_layer_save_memory(call.layer.get(), memory.data(), file.size(), nullptr), HEED_OK);
  }
}

TEST_F(LayerFiles, LoadingFromMemoryIsLoadingFromTheFile) {
  AttentionCall call(Kind::MultiHead);
  give_biases(call);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = call.read_outputs();
  // At an odd address. The bytes are overwritten after loading, since the layer must not keep a pointer to them.
  std::vector<uint8_t> bytes = saved_to_memory(call.layer.get());
  bytes.insert(bytes.begin(), 0);
  heed_multi_head_attention_options options = two_heads();
  options.biases = HEED_BIAS_ALL;
  call.replace_layer(options);
  ASSERT_EQ(heed_layer_load_memory(call.layer.get(), bytes.data() + 1, bytes.size() - 1, nullptr), HEED_OK)
      << heed_last_error();
  std::fill(bytes.begin(), bytes.end(), uint8_t{0xFF});
  check(heed_tensor_fill(call.outputs.output, 0.0));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), expected);
}

TEST_F(LayerFiles, EachTensorOfTheFileCanBeReadByName) {
  const AttentionCall call(Kind::MultiHead);
  const std::string path = folder_.path("layer");
  check(heed_layer_save(call.layer.get(), path.c_str()));
  for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}) {
    heed_tensor* handle = nullptr;
    ASSERT_EQ(heed_tensor_load_safetensors(call.context.get(), path.c_str(), name, &handle), HEED_OK)
        << heed_last_error();
    const Tensor tensor(handle);
    const Tensor weight = snapshot(call.layer.get(), name);
    EXPECT_EQ(dims_of(handle), dims_of(weight.get()));
    EXPECT_EQ(read_bytes(handle), read_bytes(weight.get()));
    EXPECT_EQ(heed_tensor_fill(handle, 0.0), HEED_OK) << "a loaded tensor is the caller's own";
  }
}

TEST_F(LayerFiles, ALayerIsFoundInAWholeModelByItsPrefix) {
  // A file with two layers, whose W_q.weight is (2, 1) and so on, and with other tensors.
  std::string header = R"({"__metadata__":{"format":"pt"},"embedding":{"dtype":"I8","shape":[5],"data_offsets":[0,5]})";
  size_t offset = 5;
  for (const char* prefix : {"decoder.0.attention", "decoder.1.attention"}) {
    for (const char* name : {"W_q.weight", "W_k.weight", "W_v.weight"}) {
      header += ",\"" + std::string(prefix) + "." + name + R"(":{"dtype":"F32","shape":[2,1],"data_offsets":[)" +
                std::to_string(offset) + "," + std::to_string(offset + 8) + "]}";
      offset += 8;
    }
  }
  std::string file = safetensors(header + "}", offset);
  // W_v.weight of the last layer is (1, 2).
  const float values[2] = {1.0f, 2.0f};
  file.replace(file.size() - sizeof values, sizeof values, reinterpret_cast<const char*>(values), sizeof values);
  const std::string path = folder_.write("model", file);

  const Context context = make_context();
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 1;
  options.head_size = 2;
  options.no_output_projection = 1;
  const Layer layer = make_multi_head(context.get(), options);
  ASSERT_EQ(heed_layer_load(layer.get(), path.c_str(), "decoder.1.attention"), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(snapshot(layer.get(), "W_v.weight").get()), (std::vector<float>{1, 2}));
  ASSERT_EQ(heed_layer_load(layer.get(), path.c_str(), "decoder.0.attention"), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(snapshot(layer.get(), "W_v.weight").get()), (std::vector<float>{0, 0}));
}

TEST_F(LayerFiles, LoadingIntoAnInitializedLayerKeepsItsDType) {
  const AttentionCall singles(Kind::MultiHead);
  const AttentionCall halves(Kind::MultiHead, {}, HEED_F16);
  const std::string path = folder_.path("layer");
  check(heed_layer_save(singles.layer.get(), path.c_str()));
  ASSERT_EQ(heed_layer_load(halves.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
  const Tensor stored = snapshot(halves.layer.get(), "W_q.weight");
  EXPECT_EQ(heed_tensor_dtype(stored.get()), HEED_F16);
  const Tensor expected = make_tensor(halves.context.get(), {8, 6}, HEED_F16);
  check(heed_tensor_copy(expected.get(), snapshot(singles.layer.get(), "W_q.weight").get()));
  EXPECT_EQ(read_bytes(stored.get()), read_bytes(expected.get()));
}

TEST_F(LayerFiles, DoublesAreLoadedAsSingles) {
  const std::string header = R"({"W_q.weight":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},)"
                             R"("W_k.weight":{"dtype":"F64","shape":[1,1],"data_offsets":[8,16]},)"
                             R"("W_v.weight":{"dtype":"F16","shape":[1,1],"data_offsets":[16,18]}})";
  const std::string path = folder_.write("doubles", safetensors(header, 18));
  const Context context = make_context();
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 1;
  options.head_size = 1;
  options.no_output_projection = 1;
  const Layer layer = make_multi_head(context.get(), options);
  ASSERT_EQ(heed_layer_load(layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_tensor_dtype(snapshot(layer.get(), "W_q.weight").get()), HEED_F32);
  EXPECT_EQ(heed_tensor_dtype(snapshot(layer.get(), "W_v.weight").get()), HEED_F16);
}

TEST_F(LayerFiles, TensorsOfEveryDTypeAndShapeAreLoaded) {
  const std::string header = R"({"scalar":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                             R"("empty":{"dtype":"I64","shape":[0,1099511627776],"data_offsets":[8,8]},)"
                             R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]}})";
  const Context context = make_context();
  const std::string path = folder_.write("tensors", safetensors(header, 11));
  const auto load = [&](const char* name) {
    heed_tensor* tensor = nullptr;
    check(heed_tensor_load_safetensors(context.get(), path.c_str(), name, &tensor));
    return Tensor(tensor);
  };
  EXPECT_EQ(dims_of(load("scalar").get()), Dims{});
  EXPECT_EQ(heed_tensor_dtype(load("scalar").get()), HEED_F64);
  EXPECT_EQ(dims_of(load("empty").get()), (Dims{0, int64_t{1} << 40}));
  EXPECT_EQ(heed_tensor_dtype(load("flags").get()), HEED_BOOL);
  EXPECT_EQ(heed_tensor_num_elements(load("flags").get()), 3);
}

TEST_F(LayerFiles, ALayerWithoutParametersSavesAndLoadsNone) {
  const AttentionCall call(Kind::DotProductRank3);
  const std::string path = folder_.path("none");
  EXPECT_EQ(heed_layer_save(call.layer.get(), path.c_str()), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_load(call.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> bytes = saved_to_memory(call.layer.get());
  EXPECT_EQ(heed_layer_load_memory(call.layer.get(), bytes.data(), bytes.size(), nullptr), HEED_OK)
      << heed_last_error();
}

}  // namespace
}  // namespace heed::capi_test
