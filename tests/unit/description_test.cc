// SPDX-License-Identifier: Apache-2.0
// What layers say of themselves to those who read files.
#include "layers/description.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/sentence.h"
#include "layers/child_role.h"
#include "layers/kinds/layer_norm.h"
#include "layers/kinds/linear.h"
#include "layers/kinds/multi_head_attention.h"
#include "layers/kinds/patch_embedding.h"
#include "layers/kinds/positional_encoding.h"
#include "layers/kinds/transformer.h"
#include "layers/kinds/transformer_stack.h"
#include "layers/layer.h"

namespace heed {
namespace {

using Strings = std::vector<std::string>;

MultiHeadAttentionOptions attention_options() {
  MultiHeadAttentionOptions options;
  options.num_hiddens = 8;
  options.num_heads = 4;
  options.num_kv_heads = 2;
  return options;
}

EncoderLayerOptions layer_options() {
  EncoderLayerOptions options;
  options.attention = attention_options();
  options.feed_forward.hidden_size = 16;
  options.feed_forward.activation = Activation::Silu;
  options.norm.kind = NormKind::Rms;
  options.norm.epsilon = 0.25f;
  options.norm_first = true;
  return options;
}

Strings options_of_children(const Layer& layer) {
  Strings members;
  for (const ChildDescription& child : layer.describe().children) members.push_back(child.options);
  return members;
}

// The options that give children a bias, by the children's names.
Strings bias_options_of_children(const Layer& layer) {
  Strings all;
  const LayerDescription description = layer.describe();
  for (size_t i = 0; i < description.children.size(); ++i) {
    const char* option = description.children[i].bias_option;
    if (option != nullptr) all.push_back(std::string(layer.child_name(i)) + ": " + said_in_c(option));
  }
  return all;
}

class Description : public testing::Test {
 protected:
  std::shared_ptr<Context> context_ = Context::open({});
};

TEST_F(Description, OfAnAttentionHasItsOptionsWithDefaults) {
  MultiHeadAttentionOptions options = attention_options();
  options.sinks = true;
  options.qk_norm_epsilon = 0.5f;
  options.qk_norm = QkNorm::Layer;
  options.attention.soft_cap = 30;
  const LayerDescription description = MultiHeadAttention(context_, options).describe();
  EXPECT_TRUE(description.reads_whole_module);
  EXPECT_TRUE(description.attention.is_multi_head);
  EXPECT_EQ(description.attention.num_heads, 4);
  EXPECT_EQ(description.attention.num_kv_heads, 2);
  EXPECT_EQ(description.attention.head_size, 2);
  EXPECT_EQ(description.attention.options.soft_cap, 30);
  EXPECT_EQ(description.attention.qk_norm_epsilon, 0.5f);
  EXPECT_EQ(description.attention.qk_norm, QkNorm::Layer);
  EXPECT_TRUE(description.attention.sinks);
  EXPECT_FALSE(description.attention.rope.has_value());
  EXPECT_FALSE(description.block.has_value());

  options = attention_options();
  options.scoring = Scoring::Additive;
  EXPECT_FALSE(MultiHeadAttention(context_, options).describe().attention.is_multi_head);
}

TEST_F(Description, OfSmallLayersSaysWhatTheirParametersAre) {
  const LayerDescription linear = Linear(context_, {.output_size = 3}).describe();
  EXPECT_TRUE(linear.is_linear);
  EXPECT_FALSE(linear.is_norm);
  EXPECT_FALSE(linear.reads_whole_module);
  const LayerDescription norm = LayerNorm(context_, {}).describe();
  EXPECT_TRUE(norm.is_norm);
  EXPECT_FALSE(norm.is_linear);

  PositionalEncodingOptions positions;
  positions.max_positions = 4;
  positions.size = 8;
  EXPECT_EQ(PositionalEncoding(context_, positions).describe().first_row, std::nullopt);
  positions.kind = PositionKind::Learned;
  positions.first_row = 2;
  EXPECT_EQ(PositionalEncoding(context_, positions).describe().first_row, 2);

  PatchEmbeddingOptions patches;
  patches.patch_height = 2;
  patches.patch_width = 3;
  patches.num_channels = 5;
  patches.size = 8;
  EXPECT_EQ(PatchEmbedding(context_, patches).describe().patch, (Shape{5, 2, 3}));
}

TEST_F(Description, OfALayerOfATransformerHasItsNormsAndTheOptionsOfItsChildren) {
  const EncoderLayer layer(context_, layer_options());
  const LayerDescription description = layer.describe();
  ASSERT_TRUE(description.block.has_value());
  EXPECT_EQ(description.block->norm, NormKind::Rms);
  EXPECT_EQ(description.block->epsilon, 0.25);
  EXPECT_TRUE(description.block->norm_first);
  EXPECT_EQ(description.block->residual_scale, 1);
  EXPECT_EQ(description.block->activation, Activation::Silu);
  EXPECT_EQ(options_of_children(layer), (Strings{"attention", "feed_forward", "norm", "norm", "norm", "norm"}));
  EXPECT_EQ(layer.child_role(0), ChildRole::SelfAttention);
  EXPECT_EQ(layer.child_role(2), ChildRole::Norm1);
  EXPECT_STREQ(layer.child_name(2), "norm_1");
  EXPECT_EQ(layer.child_role(4), ChildRole::Other);  // a dropout
}

TEST_F(Description, OfAStackNamesTheOptionsOfEachLayer) {
  EncoderOptions options;
  options.layers = {layer_options(), layer_options()};
  options.num_layers = 2;
  options.final_norm = true;
  options.embedding = EmbeddingOptions{.num_embeddings = 10, .embedding_size = 4};
  options.output = OutputOptions{.size = 10};
  const Encoder encoder(context_, options);
  EXPECT_EQ(options_of_children(encoder),
            (Strings{"embedding", "", "", "layers[0]", "layers[1]", "layers[0]->norm", "output"}));
  EXPECT_EQ(bias_options_of_children(encoder),
            (Strings{"embedding_projection: options->no_projection_bias 0", "output: options->bias 1"}));
  EXPECT_EQ(encoder.child_role(4), ChildRole::Layers);
  EXPECT_STREQ(encoder.child_name(4), "layers.1");

  options.layers.pop_back();
  EXPECT_EQ(options_of_children(Encoder(context_, options)),
            (Strings{"embedding", "", "", "layer", "layer", "layer->norm", "output"}));
}

TEST_F(Description, OfATransformerNamesOneEmbeddingForBothSides) {
  TransformerOptions options;
  options.encoder.layers = {layer_options()};
  options.encoder.num_layers = 1;
  DecoderLayerOptions of_decoder;
  static_cast<TransformerLayerOptions&>(of_decoder) = layer_options();
  of_decoder.self_attention = attention_options();
  of_decoder.cross_attention = attention_options();
  options.decoder.layers = {of_decoder};
  options.decoder.num_layers = 1;
  options.embedding = EmbeddingOptions{.num_embeddings = 10};
  options.output = OutputOptions{.is_tied = true};
  const Transformer transformer(context_, options);
  EXPECT_EQ(options_of_children(transformer), (Strings{"embedding", "embedding", "encoder", "decoder", "output"}));
  EXPECT_EQ(bias_options_of_children(transformer), (Strings{"output: options->bias 1"}));
  EXPECT_TRUE(transformer.is_repeated(1));
}

TEST(ChildRoles, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (auto role = static_cast<int32_t>(ChildRole::Other) + 1; role <= static_cast<int32_t>(ChildRole::Decoder);
       ++role) {
    const char* name = name_of(static_cast<ChildRole>(role));
    ASSERT_NE(name, nullptr) << role;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(name_of(ChildRole::Other), nullptr);
  EXPECT_EQ(numbered(name_of(ChildRole::Layers), 12), "layers.12");
  EXPECT_EQ(numbered(name_of(ChildRole::Norm), 12), "norm");
}

TEST(ParameterTables, HaveEachNameOnceAndOneOptionForIt) {
  const std::shared_ptr<Context> context = Context::open({});
  const MultiHeadAttention attention(context, attention_options());
  std::set<std::string> names;
  int32_t bits = 0;
  for (const PossibleParameter& row : attention.possible_parameters()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.option != nullptr && row.bias_bit.bit != 0) << row.name;
    EXPECT_EQ(row.bias_bit.bit != 0, row.bias_bit.constant != nullptr) << row.name;
    EXPECT_EQ(bits & row.bias_bit.bit, 0) << row.name;
    bits |= row.bias_bit.bit;
  }
  EXPECT_EQ(bits, attention.describe().biases.all_bits);
  for (const Parameter& parameter : attention.parameters()) {
    EXPECT_EQ(parameter.name(), std::string(parameter.possible().name));
    EXPECT_TRUE(names.contains(parameter.name()));
  }
}

}  // namespace
}  // namespace heed
