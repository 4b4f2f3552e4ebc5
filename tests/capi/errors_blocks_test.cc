// SPDX-License-Identifier: Apache-2.0
// Norms, feed-forward networks, embeddings, and layers that are made of others, with invalid options, inputs or names of
// children.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "capi/support/attention_call.h"
#include "capi/support/wrong_call.h"
#include "support/numbers.h"

namespace heed::capi_test {
namespace {

struct WrongBlock {
  const char* what;
  std::function<void(BlockOptions&)> change;
  std::string sentence;  // a part of it
};

// Each change is refused by `create`.
void expect_refused_options(const std::function<heed_status(heed_context*, const BlockOptions&, heed_layer**)>& create,
                            const std::vector<WrongBlock>& table) {
  const Context context = make_context();
  std::vector<RefusedCall> calls;
  for (const WrongBlock& row : table) {
    calls.push_back({row.what,
                     [&](OutParameters& out) {
                       BlockOptions blocks;
                       row.change(blocks);
                       return create(context.get(), blocks, &out.layer);
                     },
                     invalid({row.sentence})});
  }
  expect_refused(calls);
}

heed_status try_encoder_layer(heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
  return heed_encoder_layer_create(context, &blocks.encoder_layer, layer);
}

heed_status create_decoder_layer(heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
  return heed_decoder_layer_create(context, &blocks.decoder_layer, layer);
}

heed_status create_encoder(heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
  return heed_encoder_create(context, &blocks.encoder, layer);
}

TEST(BlockErrors, OptionsOfNorms) {
  expect_refused_options(
      [](heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
        return heed_layer_norm_create(context, &blocks.norm, layer);
      },
      {
          {"a negative epsilon", [](BlockOptions& o) { o.norm.epsilon = -1; },
           "options->epsilon is -1, expected a finite number above 0, or 0 for 1e-5"},
          {"NaN", [](BlockOptions& o) { o.norm.epsilon = kNaN; }, "options->epsilon is nan"},
          {"infinity", [](BlockOptions& o) { o.norm.epsilon = kInfinity; }, "options->epsilon is inf"},
          {"kind 2", [](BlockOptions& o) { o.norm.kind = 2; },
           "options->kind is 2, expected HEED_NORM_LAYER (0) or HEED_NORM_RMS (1)"},
          {"kind -1", [](BlockOptions& o) { o.norm.kind = -1; }, "options->kind is -1"},
          {"no_bias 2", [](BlockOptions& o) { o.norm.no_bias = 2; }, "options->no_bias is 2"},
          {"reserved", [](BlockOptions& o) { o.norm.reserved = 1; }, "options->reserved is 1"},
      });
}

TEST(BlockErrors, OptionsOfFeedForwardNetworks) {
  expect_refused_options(
      [](heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
        return heed_feed_forward_create(context, &blocks.feed_forward, layer);
      },
      {
          {"no size", [](BlockOptions& o) { o.feed_forward.hidden_size = 0; },
           "options->hidden_size is 0, expected at least 1"},
          {"a negative size", [](BlockOptions& o) { o.feed_forward.hidden_size = -3; }, "options->hidden_size is -3"},
          {"a negative output", [](BlockOptions& o) { o.feed_forward.output_size = -1; },
           "options->output_size is -1, expected at least 1, or 0 for the size of the input"},
          {"activation 5", [](BlockOptions& o) { o.feed_forward.activation = 5; },
           "options->activation is 5, expected HEED_ACTIVATION_RELU (0), "},
          {"activation -1", [](BlockOptions& o) { o.feed_forward.activation = -1; }, "options->activation is -1"},
          {"gated 2", [](BlockOptions& o) { o.feed_forward.gated = 2; }, "options->gated is 2"},
          {"no_bias -1", [](BlockOptions& o) { o.feed_forward.no_bias = -1; }, "options->no_bias is -1"},
          {"dropout 1", [](BlockOptions& o) { o.feed_forward.dropout = 1; }, "options->dropout is 1"},
          {"dropout NaN", [](BlockOptions& o) { o.feed_forward.dropout = kNaN; }, "options->dropout is nan"},
      });
}

TEST(BlockErrors, OptionsOfEmbeddings) {
  const Context context = make_context();
  struct Row {
    std::function<void(heed_embedding_options&)> change;
    const char* sentence;
  };
  const Row table[] = {
      {[](heed_embedding_options& o) { o.num_embeddings = 0; },
       "options->num_embeddings is 0, expected 1 to 2147483647"},
      {[](heed_embedding_options& o) { o.num_embeddings = int64_t{1} << 31; }, "options->num_embeddings is 2147483648"},
      {[](heed_embedding_options& o) { o.embedding_size = 0; }, "options->embedding_size is 0, expected at least 1"},
      {[](heed_embedding_options& o) { o.padding_index = 10; },
       "options->padding_index is 10, expected 0 to 9, or -1 for none"},
      {[](heed_embedding_options& o) { o.padding_index = -2; }, "options->padding_index is -2"},
      {[](heed_embedding_options& o) { o.scale = kNaN; }, "options->scale is nan, expected a finite number"},
      {[](heed_embedding_options& o) { o.scale = -kInfinity; }, "options->scale is -inf"},
      {[](heed_embedding_options& o) { o.reserved = 1; }, "options->reserved is 1"},
  };
  for (const Row& row : table) {
    heed_embedding_options options = ten_rows();
    row.change(options);
    expect_refused(
        {{row.sentence, [&](OutParameters& out) { return heed_embedding_create(context.get(), &options, &out.layer); },
          invalid({row.sentence})}});
  }
}

TEST(BlockErrors, OptionsOfEncoderLayers) {
  expect_refused_options(
      try_encoder_layer,
      {
          {"no attention", [](BlockOptions& o) { o.encoder_layer.attention = nullptr; },
           "options->attention is NULL, expected a pointer"},
          {"no network", [](BlockOptions& o) { o.encoder_layer.feed_forward = nullptr; },
           "options->feed_forward is NULL, expected a pointer"},
          {"heads", [](BlockOptions& o) { o.attention.num_heads = 0; },
           "options->attention->num_heads is 0, expected at least 1"},
          {"heads that do not divide", [](BlockOptions& o) { o.attention.num_hiddens = 9; },
           "options->attention->num_hiddens is 9"},
          {"no rows' size",
           [](BlockOptions& o) {
             o.attention.num_hiddens = 0;
             o.attention.head_size = 4;
             o.attention.output_size = 8;
           },
           "options->attention->num_hiddens is 0, expected at least 1, the size of the rows"},
          {"another output", [](BlockOptions& o) { o.attention.output_size = 9; },
           "options->attention->output_size is 9, expected 8 or 0: it is added to rows of num_hiddens"},
          {"no output projection",
           [](BlockOptions& o) {
             o.attention.no_output_projection = 1;
             o.attention.biases = 0;
           },
           "options->attention->no_output_projection is 1, expected 0: the output is added to rows of num_hiddens"},
          {"another output of the network", [](BlockOptions& o) { o.feed_forward.output_size = 7; },
           "options->feed_forward->output_size is 7, expected 8 or 0: it is added to rows of num_hiddens"},
          {"the network's size", [](BlockOptions& o) { o.feed_forward.hidden_size = 0; },
           "options->feed_forward->hidden_size is 0"},
          {"the norm's epsilon", [](BlockOptions& o) { o.norm.epsilon = -1; }, "options->norm->epsilon is -1"},
          {"the norm's kind", [](BlockOptions& o) { o.norm.kind = 9; }, "options->norm->kind is 9"},
          {"norm_first 2", [](BlockOptions& o) { o.encoder_layer.norm_first = 2; }, "options->norm_first is 2"},
          {"dropout 1", [](BlockOptions& o) { o.encoder_layer.dropout = 1; }, "options->dropout is 1"},
      });
}

TEST(BlockErrors, OptionsOfDecoderLayersAndStacks) {
  expect_refused_options(
      create_decoder_layer,
      {
          {"no attention", [](BlockOptions& o) { o.decoder_layer.self_attention = nullptr; },
           "options->self_attention is NULL, expected a pointer"},
          {"cross attention of another size", [](BlockOptions& o) { o.attention.num_hiddens = 4; },
           "options->cross_attention->num_hiddens is 4, expected 8, as self_attention has"},
          {"cross attention of another output", [](BlockOptions& o) { o.attention.output_size = 4; },
           "options->cross_attention->output_size is 4, expected 8 or 0"},
          {"scoring", [](BlockOptions& o) { o.causal.scoring = 7; }, "options->self_attention->scoring is 7"},
      });
  expect_refused_options(
      create_encoder,
      {
          {"no layer", [](BlockOptions& o) { o.encoder.layer = nullptr; },
           "options->layer is NULL, expected a pointer"},
          {"no layers", [](BlockOptions& o) { o.encoder.num_layers = 0; },
           "options->num_layers is 0, expected 1 to 4096"},
          {"many layers", [](BlockOptions& o) { o.encoder.num_layers = 4097; }, "options->num_layers is 4097"},
          {"final_norm 2", [](BlockOptions& o) { o.encoder.final_norm = 2; }, "options->final_norm is 2"},
          {"reserved", [](BlockOptions& o) { o.encoder.reserved = 1; }, "options->reserved is 1"},
          {"an option of the attention", [](BlockOptions& o) { o.attention.num_heads = 0; },
           "options->layer->attention->num_heads is 0"},
          {"an option of the layer", [](BlockOptions& o) { o.encoder_layer.dropout = -1; },
           "options->layer->dropout is -1"},
      });
}

TEST(BlockErrors, IdsOfEmbeddings) {
  expect_refused(Kind::Embedding, Reach::Inputs,
                 {
                     {"no ids", [](AttentionCall& c) { c.inputs.queries = nullptr; },
                      invalid({"inputs->queries is NULL, expected a tensor"})},
                     {"floats",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({2, 3});
                      },
                      invalid({"inputs->queries is F32, expected I32 or I64: the ids of an embedding"})},
                     {"rank 8",
                      [](AttentionCall& c) {
                        c.inputs.queries = c.zeros({1, 1, 1, 1, 1, 1, 2, 3}, HEED_I32);
                      },
                      invalid({"inputs->queries has dims (1, 1, 1, 1, 1, 1, 2, 3) of rank 8, expected rank 0 to 7"})},
                     {"keys", [](AttentionCall& c) { c.inputs.keys = c.inputs.queries; },
                      invalid({"inputs->keys is set, but an embedding layer reads inputs->queries alone"})},
                 });
  AttentionCall call(Kind::Embedding);
  call.inputs.queries = call.tensor_of<int64_t>({2, 3}, {0, 1, 2, 3, 10, 4});
  forget_last_error();
  EXPECT_TRUE(
      is_refused(call.forward(), invalid({"inputs->queries[1, 1] is 10, expected 0 to 9, an id of the embedding"})));
  call.inputs.queries = call.tensor_of<int32_t>({2, 3}, {-1, 1, 2, 3, 5, 4});
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->queries[0, 0] is -1"})));
  call.inputs.queries = call.tensor_of<int64_t>({}, {11});
  call.outputs.output = call.zeros({6});
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->queries is 11, expected 0 to 9"})));
}

TEST(BlockErrors, InputsOfEncoders) {
  for (const Kind kind : {Kind::EncoderLayer, Kind::Encoder}) {
    const std::string name = std::string("an ") + name_of(kind) + " layer";
    expect_refused(
        kind, Reach::Inputs,
        {
            {"no rows", [](AttentionCall& c) { c.inputs.queries = nullptr; },
             invalid({"inputs->queries is NULL, expected a tensor"})},
            {"rows of another size",
             [](AttentionCall& c) {
               c.inputs.queries = c.zeros({2, 3, 6});
             },
             invalid({"inputs->queries has dims (2, 3, 6), expected (B, S, 8)"})},
            {"rows of rank 2",
             [](AttentionCall& c) {
               c.inputs.queries = c.zeros({3, 8});
             },
             invalid({"inputs->queries has dims (3, 8), expected (B, S, 8)"})},
            {"packed rows of rank 3", [](AttentionCall& c) { c.sequences().query_offsets = c.zeros({3}, HEED_I32); },
             invalid({"inputs->queries has dims (2, 3, 8), expected (total, 8)"})},
            {"keys", [](AttentionCall& c) { c.inputs.keys = c.inputs.queries; },
             invalid({"inputs->keys is set, but " + name + " has self-attention alone: expected NULL"})},
            {"values", [](AttentionCall& c) { c.inputs.values = c.inputs.queries; },
             invalid({"inputs->values is set, but " + name})},
            {"a mask of another size",
             [](AttentionCall& c) {
               c.inputs.mask = c.zeros({3, 4}, HEED_BOOL);
             },
             invalid({"inputs->mask has dims (3, 4)"})},
        });
    expect_refused(kind, Reach::Lengths,
                   {{"a length above S",
                     [](AttentionCall& c) {
                       c.inputs.valid_lens = c.tensor_of<int32_t>({2}, {3, 4});
                     },
                     invalid({"inputs->valid_lens[1] is 4"})}});
    AttentionCall call(kind);
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    call.inputs.decoder = &decoder;
    EXPECT_EQ(call.forward(), HEED_OK) << "a struct without tensors: " << heed_last_error();
    decoder.self_bias = call.zeros({3, 3});
    forget_last_error();
    EXPECT_TRUE(is_refused(
        call.forward(), invalid({"inputs->decoder->self_bias is set, but " + name + " is no decoder: expected NULL"})));
  }
}

TEST(BlockErrors, InputsOfDecoders) {
  expect_refused(
      Kind::Decoder, Reach::Inputs,
      {
          {"no rows of the encoder", [](AttentionCall& c) { c.inputs.keys = nullptr; },
           invalid({"inputs->keys is NULL, expected a tensor: the encoder's output"})},
          {"rows of another dtype",
           [](AttentionCall& c) {
             c.inputs.keys = c.zeros({2, 5, 7}, HEED_F16);
           },
           invalid({"inputs->keys is F16, but inputs->queries is F32: expected the same dtype"})},
          {"values", [](AttentionCall& c) { c.inputs.values = c.inputs.keys; },
           invalid({"inputs->values is set, but a decoder layer has the values of inputs->keys: expected NULL"})},
          {"slopes", [](AttentionCall& c) { c.inputs.alibi_slopes = c.zeros({2}); },
           invalid({"inputs->alibi_slopes is set, but a decoder layer has slopes by the option alibi"})},
          {"sinks", [](AttentionCall& c) { c.inputs.sinks = c.zeros({2}); },
           invalid({"inputs->sinks is set, but a decoder layer has sinks by the option sinks"})},
          {"a batch of another size",
           [](AttentionCall& c) {
             c.inputs.keys = c.zeros({3, 5, 7});
           },
           invalid({"inputs->keys has dims (3, 5, 7)"})},
      });
  expect_refused(Kind::Decoder, Reach::Parameters,
                 {{"rows of the encoder of another size",
                   [](AttentionCall& c) {
                     c.inputs.keys = c.zeros({2, 5, 6});
                   },
                   invalid({"inputs->keys has dims (2, 5, 6), but layers.0.cross_attention.W_k.weight has (8, 7)"})}});
  AttentionCall call(Kind::Decoder);
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  call.inputs.decoder = &decoder;
  decoder.self_valid_lens = call.tensor_of<int32_t>({2}, {3, 5});
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->decoder->self_valid_lens[1] is 5"})));
  decoder.self_valid_lens = nullptr;
  decoder.self_mask = call.zeros({3, 5}, HEED_BOOL);
  forget_last_error();
  EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->decoder->self_mask has dims (3, 5)"})));
}

TEST(BlockErrors, InputsOfDecodersWithoutCrossAttention) {
  AttentionCall call(Kind::Decoder);
  BlockOptions blocks;
  blocks.decoder_layer.cross_attention = nullptr;
  call.layer = make_decoder(call.context.get(), blocks.decoder);
  heed_tensor* const keys = const_cast<heed_tensor*>(call.inputs.keys);
  call.inputs.keys = nullptr;
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  call.inputs.keys = keys;
  forget_last_error();
  EXPECT_TRUE(
      is_refused(call.forward(), invalid({"inputs->keys is set, but the decoder layer has no cross attention"})));
  call.inputs.keys = nullptr;
  call.inputs.mask = call.zeros({3, 3}, HEED_BOOL);
  forget_last_error();
  EXPECT_TRUE(
      is_refused(call.forward(), invalid({"inputs->mask is set, but the decoder layer has no cross attention"})));
}

// heed_layer_inputs->decoder is of decoders alone.
TEST(BlockErrors, InputsOfDecodersInOtherLayers) {
  for (const Kind kind : {Kind::MultiHead, Kind::DotProductRank3, Kind::Linear, Kind::Positions}) {
    AttentionCall call(kind);
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    decoder.self_mask = call.zeros({3, 3}, HEED_BOOL);
    call.inputs.decoder = &decoder;
    forget_last_error();
    EXPECT_TRUE(is_refused(call.forward(), invalid({"inputs->decoder->self_mask is set, but a"})));
  }
}

TEST(BlockErrors, NamesOfChildren) {
  const AttentionCall call(Kind::EncoderLayer);
  heed_layer* const layer = call.layer.get();
  for (const int64_t index : {int64_t{-1}, int64_t{6}, INT64_MAX, INT64_MIN}) {
    forget_last_error();
    EXPECT_EQ(heed_layer_child_name(layer, index), nullptr);
    EXPECT_TRUE(is_refused(heed_last_status(),
                           invalid({"index is " + std::to_string(index) + ", but the layer has 6 children"})));
  }
  for (const std::string name : {"norm_3", "", "norm", "norm_1.", "norm_1.weight", ".norm_1", "self_attention.W_q"}) {
    OutParameters out;
    forget_last_error();
    EXPECT_TRUE(is_refused(heed_layer_child(layer, name.c_str(), &out.layer), {HEED_ERROR_NOT_FOUND, {"name is \""}}));
    EXPECT_TRUE(out == OutParameters());
  }
  const AttentionCall linear(Kind::Linear);
  OutParameters out;
  EXPECT_TRUE(is_refused(heed_layer_child(linear.layer.get(), "weight", &out.layer),
                         {HEED_ERROR_NOT_FOUND, {"no child of a linear layer; it has none"}}));
}

// Which part of a stack has the wrong option, by the members that lead to it.
TEST(BlockErrors, OptionsOfStacksNameThePart) {
  expect_refused_options(
      [](heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
        return heed_encoder_create(context, &blocks.encoder, layer);
      },
      {{"all layers", [](BlockOptions& blocks) { blocks.encoder_layer.dropout = 2; }, "options->layer->dropout is 2"},
       {"their attention", [](BlockOptions& blocks) { blocks.attention.dropout = 2; },
        "options->layer->attention->dropout is 2"},
       {"their network", [](BlockOptions& blocks) { blocks.feed_forward.dropout = -1; },
        "options->layer->feed_forward->dropout is -1"},
       {"their norms", [](BlockOptions& blocks) { blocks.norm.epsilon = -1; }, "options->layer->norm->epsilon is -1"},
       {"a flag that is read before", [](BlockOptions& blocks) { blocks.attention.sinks = 2; },
        "options->layer->attention->sinks is 2"}});
  // The second layer has options of its own.
  expect_refused_options(
      [](heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
        heed_decoder_layer_options second = blocks.decoder_layer;
        heed_multi_head_attention_options attention = blocks.causal;
        attention.soft_cap = -1;
        second.self_attention = &attention;
        const heed_decoder_layer_options* const layers[] = {&blocks.decoder_layer, &second};
        heed_decoder_options decoder = blocks.decoder;
        decoder.layers = layers;
        decoder.layer = nullptr;
        decoder.num_layers = 2;
        heed_transformer_options transformer = blocks.transformer;
        transformer.decoder = &decoder;
        heed_layer* none = nullptr;
        EXPECT_TRUE(is_refused(heed_transformer_create(context, &transformer, &none),
                               invalid({"options->decoder->layers[1]->self_attention->soft_cap is -1"})));
        return heed_decoder_create(context, &decoder, layer);
      },
      {{"the second layer", [](BlockOptions&) {}, "options->layers[1]->self_attention->soft_cap is -1"}});
  // A Transformer's decoder needs cross attention in its first layer.
  expect_refused_options(
      [](heed_context* context, const BlockOptions& blocks, heed_layer** layer) {
        heed_decoder_layer_options without = blocks.decoder_layer;
        without.cross_attention = nullptr;
        const heed_decoder_layer_options* const layers[] = {&without, &without};
        heed_decoder_options decoder = blocks.decoder;
        decoder.layers = layers;
        decoder.layer = nullptr;
        decoder.num_layers = 2;
        heed_transformer_options transformer = blocks.transformer;
        transformer.decoder = &decoder;
        return heed_transformer_create(context, &transformer, layer);
      },
      {{"no cross attention", [](BlockOptions&) {}, "options->decoder->layers[0]->cross_attention is NULL, expected"}});
}

}  // namespace
}  // namespace heed::capi_test
