// SPDX-License-Identifier: Apache-2.0
// A valid call of a layer, of which a test changes one thing.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {

enum class Kind {
  MultiHead,
  DotProductRank3,
  DotProductRank4,
  MultiHeadAdditive,
  Additive,
  General,
  Linear,
  Dropout,
  Positions,
  Rotary,
  Packed,
  Norm,
  FeedForward,
  Embedding,
  EncoderLayer,
  Encoder,
  Decoder
};

// The kinds of attention.
inline constexpr Kind kKinds[] = {Kind::MultiHead,         Kind::DotProductRank3, Kind::DotProductRank4,
                                  Kind::MultiHeadAdditive, Kind::Additive,        Kind::General};

// The layers that read only queries and have one output.
inline constexpr Kind kKindsOfOneInput[] = {Kind::Linear, Kind::Dropout, Kind::Norm, Kind::FeedForward};

// The layers that are made of others.
inline constexpr Kind kBlocks[] = {Kind::EncoderLayer, Kind::Encoder, Kind::Decoder};

inline constexpr Kind kEveryKind[] = {Kind::MultiHead,
                                      Kind::DotProductRank3,
                                      Kind::DotProductRank4,
                                      Kind::Additive,
                                      Kind::MultiHeadAdditive,
                                      Kind::General,
                                      Kind::Linear,
                                      Kind::Dropout,
                                      Kind::Positions,
                                      Kind::Rotary,
                                      Kind::Packed,
                                      Kind::Norm,
                                      Kind::FeedForward,
                                      Kind::Embedding,
                                      Kind::EncoderLayer,
                                      Kind::Encoder,
                                      Kind::Decoder};

// The name of a kind without heads in messages.
const char* name_of(Kind kind);

// B, Q and K in heed.h.
struct Sizes {
  int64_t batch = 2;
  int64_t num_queries = 3;
  int64_t num_keys = 5;
};

class AttentionCall {
 public:
  // Multi-head, with either scoring: queries (B, Q, 6), keys (B, K, 7), values (B, K, 9), num_hiddens 8 in 2 heads,
  // initialized. Additive: the same inputs, num_hiddens 5, initialized.
  // Rank 3: (B, Q, 4), (B, K, 4), (B, K, 6). Rank 4: 4 query heads, 2 key heads, the same head sizes.
  // Linear: queries (B, Q, 6), output_size 5, initialized. Dropout: the same queries, probability 0.5, in training.
  // Positions: the same queries, learned positions. Rotary: multi-head with rotary_heads(), positions of queries and
  // lengths of queries. Packed: the same layer and packed batch elements, of which element i has i queries and i keys
  // fewer than Q and K, at least 0.
  // Norm and FeedForward: queries (B, Q, 6), initialized. Embedding: ids (B, Q) of I64, rows of 6 elements in F32.
  // EncoderLayer, Encoder, Decoder: queries (B, Q, 8), initialized, with the options of BlockOptions; the decoder has keys (B,
  // K, 7) and is in training.
  // All outputs of the kind are requested, in `dtype`.
  explicit AttentionCall(Kind kind, Sizes sizes = {}, heed_dtype dtype = HEED_F32);
  // The same, with all objects in this context.
  AttentionCall(Context given_context, Kind kind, Sizes sizes = {}, heed_dtype dtype = HEED_F32);

  heed_status forward(heed_workspace* workspace = nullptr) const {
    return heed_layer_forward(layer.get(), &inputs, workspace, &outputs);
  }
  size_t workspace_size() const;

  // The HEED_WANT_ flags of all outputs of the kind.
  int32_t every_output() const { return every_output_; }

  // The bytes of the requested outputs, one after the other.
  std::vector<uint8_t> read_outputs() const;

  // The tensor lives as long as the call.
  heed_tensor* keep(Tensor tensor);

  template <typename T>
  heed_tensor* tensor_of(const Dims& dims, const std::vector<T>& elements, heed_dtype dtype = kDTypeOf<T>) {
    return keep(make_tensor_of(context.get(), dims, elements, dtype));
  }
  heed_tensor* zeros(const Dims& dims, heed_dtype dtype = HEED_F32) {
    return keep(make_tensor(context.get(), dims, dtype));
  }
  heed_tensor* random(const Dims& dims, uint64_t seed, heed_dtype dtype = HEED_F32) {
    return keep(make_random(context.get(), dims, seed, dtype));
  }
  heed_tensor* shape_only(const Dims& dims, heed_dtype dtype = HEED_F32) {
    return keep(make_shape_only(context.get(), dims, dtype));
  }
  // The members of inputs.sequences, which is not NULL from then on.
  heed_sequence_inputs& sequences();

  // Replaces the layer by one with these options, which is not initialized.
  void replace_layer(const heed_multi_head_attention_options& options);

  Context context;
  Layer layer;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;

 private:
  void give_sequences(Kind kind, const Sizes& sizes);
  // Ids of ten_rows().
  heed_tensor* ids(const Dims& dims);

  int32_t every_output_;
  // At one address when the call moves.
  std::unique_ptr<heed_sequence_inputs> sequences_;
  std::vector<Tensor> tensors_;
};

// The options of AttentionCall's layers.
heed_multi_head_attention_options two_heads();
heed_additive_attention_options five_hiddens();
heed_general_attention_options six_in_queries();
heed_linear_options five_outputs();
heed_dropout_options one_half();
// Ten learned positions of 6 elements.
heed_positional_encoding_options ten_positions();
// Rotary positions of whole heads.
heed_rope_options whole_heads();
// two_heads() with everything that depends on positions: rotary positions, norms, relative bias, ALiBi, and sinks.
// `rope` must outlive the options.
heed_multi_head_attention_options rotary_heads(const heed_rope_options& rope);

heed_feed_forward_options ten_hidden();
// Ten rows of 6 elements; the last is padding.
heed_embedding_options ten_rows();

// Patches of 2 x 3 pixels of 3 channels, in rows of 8, after a class token.
heed_patch_embedding_options six_pixels();

// Rows of 8 from 4 features.
heed_audio_embedding_options four_mels();

// Options of layers that are made of others, which refer to each other: two_heads() with all biases, causal in decoders, and
// ten_hidden(). Stacks have 2 layers and a final norm; decoders have norms first and drop half of the elements. The
// transformer is made of both stacks. No layer has `output`, 5 logits.
struct BlockOptions {
  BlockOptions();
  BlockOptions(const BlockOptions&) = delete;
  BlockOptions& operator=(const BlockOptions&) = delete;

  heed_multi_head_attention_options attention = two_heads();
  heed_multi_head_attention_options causal = two_heads();
  heed_feed_forward_options feed_forward = ten_hidden();
  heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
  heed_encoder_layer_options encoder_layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  heed_decoder_layer_options decoder_layer = HEED_DECODER_LAYER_OPTIONS_INIT;
  heed_encoder_options encoder = HEED_ENCODER_OPTIONS_INIT;
  heed_decoder_options decoder = HEED_DECODER_OPTIONS_INIT;
  heed_transformer_options transformer = HEED_TRANSFORMER_OPTIONS_INIT;
  heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
};

}  // namespace heed::capi_test
