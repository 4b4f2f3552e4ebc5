// SPDX-License-Identifier: Apache-2.0
// The parts of layers that are made of others: their names, their lives, and the parameters that they share with the whole.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "capi/support/attention_call.h"

namespace heed::capi_test {
namespace {

std::vector<std::string> child_names(const heed_layer* layer) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < heed_layer_child_count(layer); ++i) names.emplace_back(heed_layer_child_name(layer, i));
  return names;
}

std::vector<std::string> parameter_names(const heed_layer* layer) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i)
    names.emplace_back(heed_layer_parameter_name(layer, i));
  return names;
}

using Names = std::vector<std::string>;

TEST(Children, HaveTheNamesOfTheHeader) {
  const AttentionCall encoder(Kind::Encoder);
  EXPECT_EQ(child_names(encoder.layer.get()), (Names{"layers.0", "layers.1", "norm"}));
  const Layer layer = make_child(encoder.layer.get(), "layers.1");
  EXPECT_EQ(child_names(layer.get()),
            (Names{"self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1", "dropout_2"}));
  EXPECT_EQ(parameter_names(layer.get()),
            (Names{"self_attention.W_q.weight", "self_attention.W_q.bias", "self_attention.W_k.weight",
                   "self_attention.W_k.bias", "self_attention.W_v.weight", "self_attention.W_v.bias",
                   "self_attention.W_o.weight", "self_attention.W_o.bias", "feed_forward.W_1.weight",
                   "feed_forward.W_1.bias", "feed_forward.W_2.weight", "feed_forward.W_2.bias", "norm_1.weight",
                   "norm_1.bias", "norm_2.weight", "norm_2.bias"}));
  const AttentionCall decoder(Kind::Decoder);
  EXPECT_EQ(child_names(make_child(decoder.layer.get(), "layers.0").get()),
            (Names{"self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3", "dropout_1",
                   "dropout_2", "dropout_3"}));
  BlockOptions blocks;
  blocks.decoder_layer.cross_attention = nullptr;
  EXPECT_EQ(child_names(make_decoder_layer(decoder.context.get(), blocks.decoder_layer).get()),
            (Names{"self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1", "dropout_2"}));
  EXPECT_EQ(heed_layer_child_count(AttentionCall(Kind::MultiHead).layer.get()), 0);
}

TEST(Children, SayWhatTheyAre) {
  BlockOptions blocks;
  const Context context = make_context();
  const Layer whole = make_transformer(context.get(), blocks.transformer);
  EXPECT_STREQ(heed_layer_kind(whole.get()), "transformer");
  for (const auto& [name, kind] : {std::pair{"encoder", "encoder"},
                                   {"decoder", "decoder"},
                                   {"encoder.layers.1", "encoder_layer"},
                                   {"decoder.layers.1", "decoder_layer"},
                                   {"decoder.layers.0.cross_attention", "multi_head_attention"},
                                   {"encoder.layers.0.feed_forward", "feed_forward"},
                                   {"encoder.norm", "layer_norm"},
                                   {"decoder.layers.0.dropout_1", "dropout"}}) {
    EXPECT_STREQ(heed_layer_kind(make_child(whole.get(), name).get()), kind) << name;
  }
}

// "layers.1" is no part of "layers.10".
TEST(Children, OfManyLayersAreFoundByTheirWholeName) {
  BlockOptions blocks;
  blocks.encoder.num_layers = 12;
  const Context context = make_context();
  const Layer encoder = make_encoder(context.get(), blocks.encoder);
  const Tensor value = make_random(context.get(), {8}, 3);
  for (const char* name : {"layers.1", "layers.10", "layers.11"}) {
    check(heed_layer_set_parameter(encoder.get(), (std::string(name) + ".norm_1.weight").c_str(), value.get()));
    const Layer norm = make_child(encoder.get(), (std::string(name) + ".norm_1").c_str());
    EXPECT_EQ(read_bytes(snapshot(norm.get(), "weight").get()), read_bytes(value.get()));
  }
  const Layer untouched = make_child(encoder.get(), "layers.0.norm_1");
  heed_tensor* none = nullptr;
  EXPECT_EQ(heed_layer_parameter(untouched.get(), "weight", &none), HEED_ERROR_NOT_INITIALIZED);
}

TEST(Children, ShareTheirParametersWithTheWhole) {
  AttentionCall call(Kind::Encoder);
  const Layer attention = make_child(call.layer.get(), "layers.1.self_attention");
  const auto bytes_of = [](const heed_layer* layer, const char* name) {
    return read_bytes(snapshot(layer, name).get());
  };
  const char* const whole_name = "layers.1.self_attention.W_q.weight";
  EXPECT_EQ(bytes_of(attention.get(), "W_q.weight"), bytes_of(call.layer.get(), whole_name));
  check(call.forward());
  const std::vector<uint8_t> before = call.read_outputs();

  const Tensor value = make_random(call.context.get(), {8, 8}, 77);
  check(heed_layer_set_parameter(attention.get(), "W_q.weight", value.get()));
  EXPECT_EQ(bytes_of(call.layer.get(), whole_name), read_bytes(value.get()));
  check(call.forward());
  EXPECT_NE(call.read_outputs(), before) << "the whole computes with the part's parameter";

  const Tensor other = make_random(call.context.get(), {8, 8}, 78);
  check(heed_layer_set_parameter(call.layer.get(), whole_name, other.get()));
  EXPECT_EQ(bytes_of(attention.get(), "W_q.weight"), read_bytes(other.get()));
}

TEST(Children, AreInitializedWithTheWhole) {
  BlockOptions blocks;
  AttentionCall call(Kind::Encoder);
  call.layer = make_encoder(call.context.get(), blocks.encoder);
  const Layer part = make_child(call.layer.get(), "layers.0");
  EXPECT_EQ(heed_layer_is_initialized(part.get()), 0);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 9));
  EXPECT_EQ(heed_layer_is_initialized(part.get()), 1);
  // A part alone: the whole has others yet.
  const Layer second = make_encoder(call.context.get(), blocks.encoder);
  check(heed_layer_initialize(make_child(second.get(), "layers.1").get(), &call.inputs, 9));
  EXPECT_EQ(heed_layer_is_initialized(second.get()), 0);
  check(heed_layer_initialize(make_child(second.get(), "layers.0").get(), &call.inputs, 8));
  check(heed_layer_initialize(make_child(second.get(), "norm").get(), &call.inputs, 7));
  EXPECT_EQ(heed_layer_is_initialized(second.get()), 1);
}

TEST(Children, LiveWithoutTheWhole) {
  AttentionCall call(Kind::Encoder);
  Layer layer = make_child(call.layer.get(), "layers.0");
  const Layer again = make_child(call.layer.get(), "layers.0");
  call.layer.reset();
  const Layer attention = make_child(layer.get(), "self_attention");
  layer.reset();
  const auto can_forward = [&](const heed_layer* part) {
    return heed_layer_forward(part, &call.inputs, nullptr, &call.outputs);
  };
  EXPECT_EQ(can_forward(attention.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(can_forward(again.get()), HEED_OK) << heed_last_error();
}

// The weights of a part's attention, for rows that the caller knows.
TEST(Children, AttentionGivesItsWeights) {
  AttentionCall call(Kind::EncoderLayer);
  const Layer attention = make_child(call.layer.get(), "self_attention");
  call.outputs.weights = call.zeros({2, 2, 3, 3});
  EXPECT_EQ(heed_layer_forward(attention.get(), &call.inputs, nullptr, &call.outputs), HEED_OK) << heed_last_error();
  for (const float weight : read_elements<float>(call.outputs.weights)) EXPECT_GT(weight, 0.0f);
}

TEST(Initialize, GivesNormsOnesAndBiasesZeros) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    const AttentionCall call(Kind::Decoder, {}, dtype);
    std::set<std::vector<float>> weights;
    for (const std::string& name : parameter_names(call.layer.get())) {
      SCOPED_TRACE(name);
      const Tensor parameter = snapshot(call.layer.get(), name.c_str());
      EXPECT_EQ(heed_tensor_dtype(parameter.get()), dtype);
      const std::vector<float> values = read_floats(call.context.get(), parameter.get());
      const bool is_norm = name.find("norm") != std::string::npos;
      if (name.ends_with(".bias")) {
        EXPECT_EQ(values, std::vector<float>(values.size(), 0.0f));
      } else if (is_norm) {
        EXPECT_EQ(values, std::vector<float>(values.size(), 1.0f));
      } else {
        EXPECT_TRUE(weights.insert(values).second) << "another weight has the same numbers";
      }
    }
  }
}

TEST(Initialize, GivesEmbeddingsNormalNumbersAndZerosForPadding) {
  const AttentionCall call(Kind::Embedding);
  const std::vector<float> table = read_elements<float>(snapshot(call.layer.get(), "weight").get());
  for (size_t i = 0; i < 54; ++i) EXPECT_NE(table[i], 0.0f);
  EXPECT_EQ(std::vector<float>(table.begin() + 54, table.end()), std::vector<float>(6, 0.0f));
}

TEST(ExplainBlocks, NamesEachStepByTheDottedNameOfItsLayer) {
  const AttentionCall call(Kind::Decoder);
  size_t num_bytes = 0;
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &num_bytes));
  std::string text(num_bytes, '\0');
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, text.data(), text.size(), nullptr));
  for (const char* name : {"layers.0.self_attention", "layers.1.cross_attention", "layers.0.feed_forward",
                           "layers.1.norm_3", "layers.0.dropout_2", "\"norm"})
    EXPECT_NE(text.find(name), std::string::npos) << name << " is not in " << text.c_str();
  const auto explained = nlohmann::json::parse(text.c_str());
  EXPECT_TRUE(explained.is_object());
}

}  // namespace
}  // namespace heed::capi_test
