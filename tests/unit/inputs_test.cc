// SPDX-License-Identifier: Apache-2.0
// Each input of a call is read or refused by each kind of layer: no parent drops one that its children should read.
#include "layers/inputs.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/context.h"
#include "base/error.h"
#include "cache/cache.h"
#include "layers/kinds/additive_attention.h"
#include "layers/kinds/audio_embedding.h"
#include "layers/kinds/dot_product_attention.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/embedding.h"
#include "layers/kinds/feed_forward.h"
#include "layers/kinds/general_attention.h"
#include "layers/kinds/layer_norm.h"
#include "layers/kinds/linear.h"
#include "layers/kinds/multi_head_attention.h"
#include "layers/kinds/patch_embedding.h"
#include "layers/kinds/positional_encoding.h"
#include "layers/kinds/transformer.h"
#include "layers/kinds/transformer_layer.h"
#include "layers/kinds/transformer_stack.h"
#include "layers/layer.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

constexpr int64_t kSize = 8;

// A layer and a call that it accepts.
struct Scene {
  std::string name;
  std::shared_ptr<const Layer> layer;
  LayerInputs inputs;
  // What the layer reads in other calls.
  InputSet of_other_calls = {};
};

class Inputs : public testing::Test {
 protected:
  template <typename Kind, typename Options>
  std::shared_ptr<const Layer> make(const Options& options) const {
    return std::make_shared<Kind>(context_, options);
  }
  static LayerInputs inputs_of(const Tensor* queries, const Tensor* keys = nullptr) {
    LayerInputs inputs;
    inputs.queries = queries;
    inputs.keys = keys;
    return inputs;
  }
  static MultiHeadAttentionOptions attention() {
    MultiHeadAttentionOptions options;
    options.num_hiddens = kSize;
    options.num_heads = 2;
    return options;
  }
  static EncoderLayerOptions encoder_layer() {
    EncoderLayerOptions options;
    options.attention = attention();
    options.feed_forward.hidden_size = kSize;
    return options;
  }
  static DecoderLayerOptions decoder_layer(bool has_cross_attention) {
    DecoderLayerOptions options;
    options.self_attention = attention();
    if (has_cross_attention) options.cross_attention = attention();
    options.feed_forward.hidden_size = kSize;
    return options;
  }
  template <typename LayerOptions>
  static StackOptions<LayerOptions> stack_of(const LayerOptions& layer) {
    StackOptions<LayerOptions> options;
    options.layers = {layer};
    options.num_layers = 2;
    return options;
  }
  // With ids, token types and positions before the first layer.
  template <typename LayerOptions>
  static StackOptions<LayerOptions> stack_of_ids(const LayerOptions& layer) {
    StackOptions<LayerOptions> options = stack_of(layer);
    options.embedding = EmbeddingOptions{.num_embeddings = 10};
    options.num_token_types = 2;
    options.positions = PositionalEncodingOptions{.max_positions = 20};
    return options;
  }

  std::vector<Scene> scenes() const {
    std::vector<Scene> all = {
        {"linear", make<Linear>(LinearOptions{.output_size = 3}), inputs_of(&rows_)},
        {"layer norm", make<LayerNorm>(LayerNormOptions{}), inputs_of(&rows_)},
        {"dropout", make<Dropout>(DropoutOptions{.dropout = 0.5f}), inputs_of(&rows_)},
        {"feed-forward", make<FeedForward>(FeedForwardOptions{.hidden_size = 3}), inputs_of(&rows_)},
        {"embedding", make<Embedding>(EmbeddingOptions{.num_embeddings = 10, .embedding_size = kSize}),
         inputs_of(&ids_)},
        {"patches",
         make<PatchEmbedding>(
             PatchEmbeddingOptions{.patch_height = 2, .patch_width = 2, .num_channels = 3, .size = kSize}),
         inputs_of(&images_)},
        {"audio", make<AudioEmbedding>(AudioEmbeddingOptions{.num_mels = 5, .size = kSize}), inputs_of(&rows_)},
        {"positions", make<PositionalEncoding>(PositionalEncodingOptions{.max_positions = 20, .size = kSize}),
         inputs_of(&rows_)},
        {"dot-product attention", make<DotProductAttention>(AttentionOptions{}), inputs_of(&rows_, &memory_)},
        {"additive attention", make<AdditiveAttention>(AdditiveAttentionOptions{.num_hiddens = 3, .attention = {}}),
         inputs_of(&rows_, &memory_)},
        {"general attention", make<GeneralAttention>(GeneralAttentionOptions{.query_size = kSize, .attention = {}}),
         inputs_of(&rows_, &memory_)},
        {"multi-head attention", make<MultiHeadAttention>(attention()), inputs_of(&rows_, &memory_)},
        {"encoder layer", make<EncoderLayer>(encoder_layer()), inputs_of(&rows_)},
        {"decoder layer", make<DecoderLayer>(decoder_layer(false)), inputs_of(&rows_)},
        {"decoder layer with cross attention", make<DecoderLayer>(decoder_layer(true)), inputs_of(&rows_, &memory_)},
        {"encoder", make<Encoder>(stack_of(encoder_layer())), inputs_of(&rows_)},
        {"encoder of ids", make<Encoder>(stack_of_ids(encoder_layer())), inputs_of(&ids_)},
        {"decoder", make<Decoder>(stack_of(decoder_layer(false))), inputs_of(&rows_)},
        {"decoder of ids", make<Decoder>(stack_of_ids(decoder_layer(false))), inputs_of(&ids_)},
        {"decoder with cross attention", make<Decoder>(stack_of(decoder_layer(true))), inputs_of(&rows_, &memory_)},
    };
    TransformerOptions options;
    options.encoder = stack_of_ids(encoder_layer());
    options.decoder = stack_of(decoder_layer(true));
    const auto transformer = make<Transformer>(options);
    const InputSet of_decoder = kDecoderInputs.with(kSequenceInputs.without({Input::KeyOffsets, Input::KeyPositions}))
                                    .with(kCacheInputs)
                                    .with({Input::Queries});
    all.push_back({"Transformer", transformer, inputs_of(&rows_, &ids_)});
    all.push_back({"encoder of a Transformer", transformer, inputs_of(nullptr, &ids_), of_decoder});
    LayerInputs decoding = inputs_of(&rows_);
    decoding.decoder.memory = &memory_;
    all.push_back({"decoder of a Transformer", transformer, decoding, {Input::TokenTypes}});
    return all;
  }

  // Adds one input that no layer accepts: a tensor of a wrong shape, or a cache of other sizes than the layer. Its dtype and
  // rank are right if a parent checks these, so that its reader complains.
  void give_wrong(Input input, const Layer& layer, LayerInputs& inputs) {
    switch (input) {
      case Input::Queries: inputs.queries = &wrong_mask_; return;
      case Input::Keys: inputs.keys = &wrong_rows_; return;
      case Input::Values: inputs.values = &wrong_rows_; return;
      case Input::Positions: inputs.sequences.positions = &wrong_numbers_; return;
      case Input::QueryLens: inputs.sequences.query_lens = &wrong_numbers_; return;
      case Input::QueryOffsets: inputs.sequences.query_offsets = &wrong_numbers_; return;
      case Input::KeyOffsets: inputs.sequences.key_offsets = &wrong_numbers_; return;
      case Input::KeyPositions: inputs.sequences.key_positions = &wrong_numbers_; return;
      case Input::ValidLens: inputs.visibility.valid_lens = &wrong_numbers_; return;
      case Input::Mask: inputs.visibility.mask = &wrong_mask_; return;
      case Input::Bias: inputs.visibility.bias = &wrong_rows_; return;
      case Input::AlibiSlopes: inputs.visibility.alibi_slopes = &wrong_rows_; return;
      case Input::Sinks: inputs.visibility.sinks = &wrong_rows_; return;
      case Input::AttentionMask: inputs.attention_mask = &wrong_numbers_; return;
      case Input::SelfAttentionMask: inputs.decoder.self_attention_mask = &wrong_numbers_; return;
      case Input::SelfValidLens: inputs.decoder.self_valid_lens = &wrong_numbers_; return;
      case Input::SelfMask: inputs.decoder.self_mask = &wrong_mask_; return;
      case Input::SelfBias: inputs.decoder.self_bias = &wrong_rows_; return;
      case Input::Memory:
        inputs.decoder.memory = &wrong_rows_;
        inputs.keys = nullptr;
        return;
      case Input::OutputRows: inputs.wanted_output.rows = &wrong_numbers_; return;
      case Input::TokenTypes: inputs.token_types = &wrong_numbers_; return;
      case Input::Cache: inputs.cache = &new_cache(CacheUse::Append, 3); return;
      case Input::CacheSequences:
        inputs.cache = &new_cache(CacheUse::Append, num_kv_heads(layer));
        cache_.sequences = &wrong_numbers_;
        return;
      case Input::MemoryCache:
        inputs.decoder.memory_cache = &new_cache(CacheUse::Read, 3);
        inputs.decoder.memory = inputs.keys = nullptr;
        return;
      case Input::MemoryCacheSequences:
        inputs.decoder.memory_cache = &new_cache(CacheUse::Read, num_kv_heads(layer));
        inputs.decoder.memory = inputs.keys = nullptr;
        cache_.sequences = &wrong_numbers_;
        return;
    }
  }
  static int64_t num_kv_heads(const Layer& layer) {
    const std::optional<Layer::CacheShape> shape = layer.cache_shape();
    return shape ? shape->num_kv_heads : 1;
  }
  const CacheInputs& new_cache(CacheUse use, int64_t num_kv_heads) {
    const CacheOptions options = {.num_layers = 2,
                                  .max_sequences = 2,
                                  .num_kv_heads = num_kv_heads,
                                  .head_size = kSize / 2,
                                  .value_head_size = kSize / 2,
                                  .capacity = 20};
    cache_ = {.cache = std::make_shared<Cache>(context_, options), .use = use};
    if (use == CacheUse::Read) cache_.path = "decoder->memory_cache";
    return cache_;
  }

  static std::string error_of(const Layer& layer, const LayerInputs& inputs) {
    try {
      layer.output_shapes(inputs);
    } catch (const Error& error) {
      return error.text;
    }
    return "";
  }

  std::shared_ptr<Context> context_ = Context::open({});
  Tensor rows_ = Tensor::zeros(context_, DType::F32, {2, 5, kSize});
  Tensor memory_ = Tensor::zeros(context_, DType::F32, {2, 5, kSize});
  Tensor ids_ = Tensor::zeros(context_, DType::I32, {2, 5});
  Tensor images_ = Tensor::zeros(context_, DType::F32, {2, 3, 4, 6});
  Tensor wrong_rows_ = Tensor::zeros(context_, DType::F32, {7, 1, 3});
  Tensor wrong_numbers_ = Tensor::zeros(context_, DType::I32, {7, 1, 3});
  Tensor wrong_mask_ = Tensor::zeros(context_, DType::Bool, {7, 1, 1, 3});
  CacheInputs cache_;
};

TEST_F(Inputs, AreReadOrRefusedByEachKind) {
  for (const Scene& scene : scenes()) {
    SCOPED_TRACE(scene.name);
    ASSERT_EQ(error_of(*scene.layer, scene.inputs), "");
    const InputRules rules = scene.layer->input_rules(scene.inputs);
    EXPECT_TRUE(covers_all_inputs({rules.reads, rules.refusals}));
    kAllInputs.without(scene.of_other_calls).for_each([&](Input input) {
      LayerInputs inputs = scene.inputs;
      give_wrong(input, *scene.layer, inputs);
      std::string name;
      for (const GivenInput& given : GivenInputs(inputs)) {
        if (given.input == input) name = said_in_c(given.name);
      }
      ASSERT_NE(name, "") << "GivenInputs lacks input " << static_cast<int>(input);
      const std::string error = error_of(*scene.layer, inputs);
      EXPECT_NE(error, "") << name << " is neither read nor refused";
      if (rules.reads.has(input)) return;
      // Sequences of a cache are refused with it.
      const std::string refused = name.substr(0, name.rfind("->sequences"));
      EXPECT_TRUE(error.starts_with((refused == "inputs" ? name : refused) + " is set, but ")) << error;
    });
  }
}

// The rules of each kind are compared with what its calls do above, and here the list of inputs with the enumerators.
TEST_F(Inputs, AreListedInTheOrderOfTheirNumbers) {
  LayerInputs inputs;
  CacheInputs memory_cache;
  kAllInputs.without(kCacheInputs.with(kMemoryCacheInputs)).for_each([&](Input input) {
    const Tensor* const keys = inputs.keys;
    give_wrong(input, Linear(context_, LinearOptions{.output_size = 1}), inputs);
    if (input == Input::Memory) inputs.keys = keys;
  });
  cache_.sequences = memory_cache.sequences = &wrong_numbers_;
  inputs.cache = &cache_;
  inputs.decoder.memory_cache = &memory_cache;
  size_t number = 0;
  for (const GivenInput& given : GivenInputs(inputs)) EXPECT_EQ(static_cast<size_t>(given.input), number++);
  EXPECT_EQ(number, kNumInputs);
}

// A refusal is one of the kind that is called, and the first one that has the input.
TEST(InputRules, SayWhyAnInputIsRefused) {
  const auto error_of = [](const char* words, const char* kind) {
    const Refusal refusals[] = {{{Input::Keys}, words}, {kAllInputs, "never said"}};
    const Tensor tensor = Tensor::zeros(Context::open({}), DType::F32, {1});
    LayerInputs inputs;
    inputs.queries = inputs.keys = &tensor;
    try {
      refuse_unread(GivenInputs(inputs), {{Input::Queries}, refusals}, kind);
    } catch (const Error& error) {
      return std::string(error.text);
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of("%s %s layer has none", "encoder"), "inputs->keys is set, but an encoder layer has none");
  EXPECT_EQ(error_of("the %s has none", "linear"), "inputs->keys is set, but the linear has none");
  EXPECT_EQ(error_of("there are none", "linear"), "inputs->keys is set, but there are none");
}

}  // namespace
}  // namespace heed
