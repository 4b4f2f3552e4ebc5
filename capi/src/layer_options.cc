// SPDX-License-Identifier: Apache-2.0
#include "layer_options.h"

#include <heed/heed.h>

#include <cinttypes>
#include <cstddef>
#include <string>
#include <vector>

#include "arguments.h"
#include "base/error.h"
#include "layers/errors_of_member.h"

namespace heed::capi {
namespace {

static_assert(HEED_CAUSAL_TOP_LEFT == static_cast<int>(Alignment::TopLeft) &&
              HEED_WINDOW_TOP_LEFT == static_cast<int>(Alignment::TopLeft));
static_assert(HEED_CAUSAL_BOTTOM_RIGHT == static_cast<int>(Alignment::BottomRight) &&
              HEED_WINDOW_BOTTOM_RIGHT == static_cast<int>(Alignment::BottomRight));
static_assert(HEED_EMPTY_ROWS_MEAN == static_cast<int>(EmptyRows::Mean));
static_assert(HEED_SCORING_ADDITIVE == static_cast<int>(Scoring::Additive));
static_assert(HEED_BIAS_Q == static_cast<int>(kBiasQ) && HEED_BIAS_K == static_cast<int>(kBiasK) &&
              HEED_BIAS_V == static_cast<int>(kBiasV) && HEED_BIAS_O == static_cast<int>(kBiasO) &&
              HEED_BIAS_ALL == static_cast<int>(kBiasAll));

static_assert(HEED_ROPE_SCALING_LINEAR == static_cast<int>(RopeScaling::Linear) &&
              HEED_ROPE_SCALING_NTK == static_cast<int>(RopeScaling::Ntk) &&
              HEED_ROPE_SCALING_YARN == static_cast<int>(RopeScaling::Yarn) &&
              HEED_ROPE_SCALING_LLAMA3 == static_cast<int>(RopeScaling::Llama3) &&
              HEED_ROPE_SCALING_FACTORS == static_cast<int>(RopeScaling::Factors));
static_assert(HEED_QK_NORM_LAYER == static_cast<int>(QkNorm::Layer));
static_assert(HEED_RELATIVE_BIAS_BOTH_WAYS == static_cast<int>(RelativeBias::BothWays) &&
              HEED_RELATIVE_BIAS_ONE_WAY == static_cast<int>(RelativeBias::OneWay));
static_assert(HEED_ALIBI_ADDED == static_cast<int>(AlibiUse::Added) &&
              HEED_ALIBI_SCALED == static_cast<int>(AlibiUse::Scaled));
static_assert(HEED_POSITIONS_SINUSOIDAL == static_cast<int>(PositionKind::Sinusoidal) &&
              HEED_POSITIONS_SINUSOIDAL_HALVES == static_cast<int>(PositionKind::SinusoidalHalves) &&
              HEED_POSITIONS_LEARNED == static_cast<int>(PositionKind::Learned) &&
              HEED_POSITIONS_SINUSOIDAL_HALVES_2I == static_cast<int>(PositionKind::SinusoidalHalves2i));

// The sizes in the first version of each struct: the smallest that a caller's struct can have.
constexpr size_t kFirstDotProductOptionsSize = 48;
constexpr size_t kFirstAdditiveOptionsSize = 56;
constexpr size_t kFirstGeneralOptionsSize = 56;
constexpr size_t kFirstMultiHeadOptionsSize = 112;
constexpr size_t kFirstLinearOptionsSize = 24;
constexpr size_t kFirstDropoutOptionsSize = 16;
constexpr size_t kFirstRopeOptionsSize = 88;
constexpr size_t kFirstPositionalEncodingOptionsSize = 40;
constexpr size_t kFirstLayerNormOptionsSize = 24;
constexpr size_t kFirstFeedForwardOptionsSize = 40;
constexpr size_t kFirstEmbeddingOptionsSize = 40;
constexpr size_t kFirstEncoderLayerOptionsSize = 56;
constexpr size_t kFirstDecoderLayerOptionsSize = 64;
constexpr size_t kFirstPatchEmbeddingOptionsSize = 48;
constexpr size_t kFirstAudioEmbeddingOptionsSize = 24;
constexpr size_t kFirstEncoderOptionsSize = 104;
constexpr size_t kFirstDecoderOptionsSize = 88;
constexpr size_t kFirstOutputOptionsSize = 32;
constexpr size_t kFirstTransformerOptionsSize = 40;

// Reads the options that all kinds of attention have.
template <typename Options>
AttentionOptions read_attention_options(const Options& options) {
  AttentionOptions result;
  result.scale = options.scale;
  result.soft_cap = options.soft_cap;
  result.dropout = options.dropout;
  result.causal = read_enum(options.causal, Alignment::BottomRight, OPTION("causal"),
                            CONSTANT("HEED_CAUSAL_NONE") " (0), " CONSTANT("HEED_CAUSAL_TOP_LEFT") " (1) or " CONSTANT(
                                "HEED_CAUSAL_BOTTOM_RIGHT") " (2)");
  result.window = read_enum(options.window, Alignment::BottomRight, OPTION("window"),
                            CONSTANT("HEED_WINDOW_NONE") " (0), " CONSTANT("HEED_WINDOW_TOP_LEFT") " (1) or " CONSTANT(
                                "HEED_WINDOW_BOTTOM_RIGHT") " (2)");
  result.window_left = options.window_left;
  result.window_right = options.window_right;
  result.empty_rows = read_enum(options.empty_rows, EmptyRows::Mean, OPTION("empty_rows"),
                                CONSTANT("HEED_EMPTY_ROWS_ZERO") " (0) or " CONSTANT("HEED_EMPTY_ROWS_MEAN") " (1)");
  return result;
}

RopeOptions read_rope_options(const heed_rope_options* options) {
  const heed_rope_options read =
      read_struct(options, HEED_ROPE_OPTIONS_INIT, kFirstRopeOptionsSize, OPTION("rope"), "HEED_ROPE_OPTIONS_INIT");
  RopeOptions result;
  result.layout = read_rotary_layout(read.layout, OPTION("rope->layout"));
  result.scaling =
      read_enum(read.scaling, RopeScaling::Factors, OPTION("rope->scaling"),
                CONSTANT("HEED_ROPE_SCALING_NONE") " (0),"
" " CONSTANT("HEED_ROPE_SCALING_LINEAR") " (1),"
" " CONSTANT("HEED_ROPE_SCALING_NTK") " (2), "
                CONSTANT("HEED_ROPE_SCALING_YARN") " (3), " CONSTANT("HEED_ROPE_SCALING_LLAMA3") " (4) "
"or " CONSTANT("HEED_ROPE_SCALING_FACTORS") " (5)");
  result.rotary_size = read.rotary_size;
  result.rotary_offset = read.rotary_offset;
  result.original_length = read.original_length;
  if (read.num_factors < 0)
    fail(Status::InvalidArgument, OPTION("rope->num_factors") " is %" PRId64 ", expected at least 0", read.num_factors);
  if ((read.num_factors > 0) != (read.factors != nullptr)) {
    fail(Status::InvalidArgument,
         OPTION("rope->num_factors") " is %" PRId64 ", but " OPTION("rope->factors") " is %s: expected both or neither",
         read.num_factors, read.factors == nullptr ? WORD("NULL") : "set");
  }
  result.factors = {read.factors, static_cast<size_t>(read.num_factors)};
  if (read.short_factors != nullptr) {
    if (read.factors == nullptr)
      fail(Status::InvalidArgument, OPTION("rope->short_factors") " is set, but " OPTION("rope->factors") " is " WORD(
                                        "NULL") ": expected both or neither");
    result.short_factors = {read.short_factors, static_cast<size_t>(read.num_factors)};
  }
  result.base = read.base;
  result.factor = read.factor;
  result.beta_fast = read.beta_fast;
  result.beta_slow = read.beta_slow;
  result.low_freq_factor = read.low_freq_factor;
  result.high_freq_factor = read.high_freq_factor;
  result.attention_factor = read.attention_factor;
  result.no_rounding = read_flag(read.no_rounding, OPTION("rope->no_rounding"));
  return result;
}

}  // namespace

AttentionOptions read_layer_options(const heed_dot_product_attention_options* options) {
  return read_attention_options(read_struct(options, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT,
                                            kFirstDotProductOptionsSize, "options",
                                            "HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT"));
}

AdditiveAttentionOptions read_layer_options(const heed_additive_attention_options* options) {
  const heed_additive_attention_options read =
      read_struct(options, HEED_ADDITIVE_ATTENTION_OPTIONS_INIT, kFirstAdditiveOptionsSize, "options",
                  "HEED_ADDITIVE_ATTENTION_OPTIONS_INIT");
  AdditiveAttentionOptions result;
  result.num_hiddens = read.num_hiddens;
  result.attention = read_attention_options(read);
  return result;
}

GeneralAttentionOptions read_layer_options(const heed_general_attention_options* options) {
  const heed_general_attention_options read =
      read_struct(options, HEED_GENERAL_ATTENTION_OPTIONS_INIT, kFirstGeneralOptionsSize, "options",
                  "HEED_GENERAL_ATTENTION_OPTIONS_INIT");
  GeneralAttentionOptions result;
  result.query_size = read.query_size;
  result.attention = read_attention_options(read);
  return result;
}

MultiHeadAttentionOptions read_layer_options(const heed_multi_head_attention_options* options) {
  const heed_multi_head_attention_options read =
      read_struct(options, HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT, kFirstMultiHeadOptionsSize, "options",
                  "HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  MultiHeadAttentionOptions result;
  result.num_hiddens = read.num_hiddens;
  result.num_heads = read.num_heads;
  result.num_kv_heads = read.num_kv_heads;
  result.head_size = read.head_size;
  result.value_head_size = read.value_head_size;
  result.output_size = read.output_size;
  result.no_output_projection = read_flag(read.no_output_projection, OPTION("no_output_projection"));
  result.biases = read.biases;
  result.scoring = read_enum(read.scoring, Scoring::Additive, OPTION("scoring"),
                             CONSTANT("HEED_SCORING_DOT_PRODUCT") " (0) or " CONSTANT("HEED_SCORING_ADDITIVE") " (1)");
  result.attention = read_attention_options(read);
  require_zero(read.reserved_2, OPTION("reserved_2"));
  if (read.rope != nullptr) result.rope = read_rope_options(read.rope);
  result.relative_bias.kind =
      read_enum(read.relative_bias, RelativeBias::OneWay, OPTION("relative_bias"),
                CONSTANT("HEED_RELATIVE_BIAS_NONE") " (0), " CONSTANT(
                    "HEED_RELATIVE_BIAS_BOTH_WAYS") " (1) or " CONSTANT("HEED_RELATIVE_BIAS_ONE_WAY") " (2)");
  result.relative_bias.num_buckets = read.relative_bias_buckets;
  result.relative_bias.max_distance = read.relative_bias_max_distance;
  result.qk_norm_epsilon = read.qk_norm_epsilon;
  result.qk_norm = read_enum(read.qk_norm, QkNorm::Layer, OPTION("qk_norm"),
                             CONSTANT("HEED_QK_NORM_RMS") " (0) or " CONSTANT("HEED_QK_NORM_LAYER") " (1)");
  result.sinks = read_flag(read.sinks, OPTION("sinks"));
  result.alibi = read_enum(read.alibi, AlibiUse::Scaled, OPTION("alibi"),
                           CONSTANT("HEED_ALIBI_NONE") " (0), " CONSTANT("HEED_ALIBI_ADDED") " (1) or " CONSTANT(
                               "HEED_ALIBI_SCALED") " (2)");
  result.add_bias_kv = read_flag(read.add_bias_kv, OPTION("add_bias_kv"));
  result.add_zero_attn = read_flag(read.add_zero_attn, OPTION("add_zero_attn"));
  return result;
}

PositionalEncodingOptions read_layer_options(const heed_positional_encoding_options* options) {
  const heed_positional_encoding_options read =
      read_struct(options, HEED_POSITIONAL_ENCODING_OPTIONS_INIT, kFirstPositionalEncodingOptionsSize, "options",
                  "HEED_POSITIONAL_ENCODING_OPTIONS_INIT");
  PositionalEncodingOptions result;
  result.max_positions = read.max_positions;
  result.size = read.size;
  result.first_row = read.first_row;
  result.dropout = read.dropout;
  result.kind = read_enum(
      read.kind, PositionKind::SinusoidalHalves2i, OPTION("kind"),
      CONSTANT("HEED_POSITIONS_SINUSOIDAL") " (0), " CONSTANT("HEED_POSITIONS_SINUSOIDAL_HALVES") " (1), " CONSTANT(
          "HEED_POSITIONS_LEARNED") " (2) or " CONSTANT("HEED_POSITIONS_SINUSOIDAL_HALVES_2I") " (3)");
  return result;
}

LinearOptions read_layer_options(const heed_linear_options* options) {
  const heed_linear_options read =
      read_struct(options, HEED_LINEAR_OPTIONS_INIT, kFirstLinearOptionsSize, "options", "HEED_LINEAR_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  return {.output_size = read.output_size, .no_bias = read_flag(read.no_bias, OPTION("no_bias"))};
}

DropoutOptions read_layer_options(const heed_dropout_options* options) {
  const heed_dropout_options read =
      read_struct(options, HEED_DROPOUT_OPTIONS_INIT, kFirstDropoutOptionsSize, "options", "HEED_DROPOUT_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  return {.dropout = read.dropout};
}

LayerNormOptions read_layer_options(const heed_layer_norm_options* options) {
  const heed_layer_norm_options read = read_struct(options, HEED_LAYER_NORM_OPTIONS_INIT, kFirstLayerNormOptionsSize,
                                                   "options", "HEED_LAYER_NORM_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  LayerNormOptions result;
  if (read.kind != HEED_NORM_LAYER && read.kind != HEED_NORM_RMS) {
    fail(Status::InvalidArgument,
         OPTION("kind") " is %d, expected " CONSTANT("HEED_NORM_LAYER") " (0) or " CONSTANT("HEED_NORM_RMS") " (1)",
         read.kind);
  }
  result.kind = read.kind == HEED_NORM_RMS ? NormKind::Rms : NormKind::Layer;
  result.epsilon = read.epsilon;
  result.no_bias = read_flag(read.no_bias, OPTION("no_bias"));
  return result;
}

FeedForwardOptions read_layer_options(const heed_feed_forward_options* options) {
  const heed_feed_forward_options read =
      read_struct(options, HEED_FEED_FORWARD_OPTIONS_INIT, kFirstFeedForwardOptionsSize, "options",
                  "HEED_FEED_FORWARD_OPTIONS_INIT");
  FeedForwardOptions result;
  result.hidden_size = read.hidden_size;
  result.output_size = read.output_size;
  result.activation = read_activation(read.activation, OPTION("activation"));
  result.gated = read_flag(read.gated, OPTION("gated"));
  result.no_bias = read_flag(read.no_bias, OPTION("no_bias"));
  result.dropout = read.dropout;
  return result;
}

EmbeddingOptions read_layer_options(const heed_embedding_options* options) {
  const heed_embedding_options read = read_struct(options, HEED_EMBEDDING_OPTIONS_INIT, kFirstEmbeddingOptionsSize,
                                                  "options", "HEED_EMBEDDING_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  EmbeddingOptions result;
  result.num_embeddings = read.num_embeddings;
  result.embedding_size = read.embedding_size;
  result.padding_index = read.padding_index;
  result.scale = read.scale;
  return result;
}

PatchEmbeddingOptions read_layer_options(const heed_patch_embedding_options* options) {
  const heed_patch_embedding_options read =
      read_struct(options, HEED_PATCH_EMBEDDING_OPTIONS_INIT, kFirstPatchEmbeddingOptionsSize, "options",
                  "HEED_PATCH_EMBEDDING_OPTIONS_INIT");
  PatchEmbeddingOptions result;
  result.patch_height = read.patch_height;
  result.patch_width = read.patch_width;
  result.num_channels = read.num_channels;
  result.size = read.size;
  result.class_token = read_flag(read.class_token, OPTION("class_token"));
  result.no_bias = read_flag(read.no_bias, OPTION("no_bias"));
  result.image_height = read.image_height;
  result.image_width = read.image_width;
  return result;
}

AudioEmbeddingOptions read_layer_options(const heed_audio_embedding_options* options) {
  const heed_audio_embedding_options read =
      read_struct(options, HEED_AUDIO_EMBEDDING_OPTIONS_INIT, kFirstAudioEmbeddingOptionsSize, "options",
                  "HEED_AUDIO_EMBEDDING_OPTIONS_INIT");
  return {.num_mels = read.num_mels, .size = read.size};
}

namespace {

// The options of a child. Errors name them as members of `member`; `name` is the member's own name in them.
template <typename Options>
auto read_member(const Options* options, const char* member, const char* name) {
  require(options, name);
  return ErrorsOfMember(member).of([&] { return read_layer_options(options); });
}

// The members that encoder and decoder layers share.
template <typename CLayerOptions, typename LayerOptions>
void read_common(const CLayerOptions& read, LayerOptions& result) {
  result.feed_forward = read_member(read.feed_forward, "feed_forward", OPTION("feed_forward"));
  result.norm = ErrorsOfMember("norm").of([&] { return read_layer_options(read.norm); });
  result.norm_first = read_flag(read.norm_first, OPTION("norm_first"));
  result.dropout = read.dropout;
  result.output_norms = read_flag(read.output_norms, OPTION("output_norms"));
  result.no_first_norm = read_flag(read.no_first_norm, OPTION("no_first_norm"));
  result.residual_scale = read.residual_scale;
  require_zero(read.reserved, OPTION("reserved"));
}

OutputOptions read_output_options(const heed_output_options* options) {
  const heed_output_options read = read_struct(options, HEED_OUTPUT_OPTIONS_INIT, kFirstOutputOptionsSize,
                                               OPTION("output"), "HEED_OUTPUT_OPTIONS_INIT");
  OutputOptions result;
  result.size = read.size;
  result.is_tied = read_flag(read.tied, OPTION("output->tied"));
  result.has_bias = read_flag(read.bias, OPTION("output->bias"));
  result.scale = read.scale;
  result.soft_cap = read.soft_cap;
  return result;
}

// The options of each layer, or of all.
template <typename CStackOptions, typename LayerOptions>
void read_layers(const CStackOptions& read, std::vector<LayerOptions>& layers) {
  if (read.layers == nullptr) return layers.push_back(read_member(read.layer, "layer", OPTION("layer")));
  if (read.layer != nullptr)
    fail(Status::InvalidArgument,
         OPTION("layers") " is set, but so is " OPTION("layer") ": expected " WORD("NULL") " for one of them");
  check_num_layers(read.num_layers);
  for (int64_t i = 0; i < read.num_layers; ++i) {
    const std::string member = "layers[" + std::to_string(i) + "]";
    layers.push_back(read_member(read.layers[i], member.c_str(), ("options->" + member).c_str()));
  }
}

template <typename CStackOptions, typename Stack>
Stack read_stack(const CStackOptions& read) {
  Stack result;
  read_layers(read, result.layers);
  result.num_layers = read.num_layers;
  result.final_norm = read_flag(read.final_norm, OPTION("final_norm"));
  require_zero(read.reserved, OPTION("reserved"));
  if (read.embedding != nullptr) result.embedding = read_member(read.embedding, "embedding", OPTION("embedding"));
  if (read.positions != nullptr) {
    result.positions = read_member(read.positions, "positions", OPTION("positions"));
    result.positions->max_option = OPTION("positions->max_positions");
  }
  if (read.output != nullptr) result.output = read_output_options(read.output);
  result.num_token_types = read.num_token_types;
  result.embedding_norm = read_flag(read.embedding_norm, OPTION("embedding_norm"));
  result.share_layers = read_flag(read.share_layers, OPTION("share_layers"));
  result.no_projection_bias = read_flag(read.no_projection_bias, OPTION("no_projection_bias"));
  require_zero(read.reserved_2, OPTION("reserved_2"));
  return result;
}

}  // namespace

EncoderLayerOptions read_layer_options(const heed_encoder_layer_options* options) {
  const heed_encoder_layer_options read =
      read_struct(options, HEED_ENCODER_LAYER_OPTIONS_INIT, kFirstEncoderLayerOptionsSize, "options",
                  "HEED_ENCODER_LAYER_OPTIONS_INIT");
  EncoderLayerOptions result;
  result.attention = read_member(read.attention, "attention", OPTION("attention"));
  read_common(read, result);
  return result;
}

DecoderLayerOptions read_layer_options(const heed_decoder_layer_options* options) {
  const heed_decoder_layer_options read =
      read_struct(options, HEED_DECODER_LAYER_OPTIONS_INIT, kFirstDecoderLayerOptionsSize, "options",
                  "HEED_DECODER_LAYER_OPTIONS_INIT");
  DecoderLayerOptions result;
  result.self_attention = read_member(read.self_attention, "self_attention", OPTION("self_attention"));
  if (read.cross_attention != nullptr) {
    result.cross_attention = read_member(read.cross_attention, "cross_attention", OPTION("cross_attention"));
  }
  read_common(read, result);
  return result;
}

EncoderOptions read_layer_options(const heed_encoder_options* options) {
  const heed_encoder_options read =
      read_struct(options, HEED_ENCODER_OPTIONS_INIT, kFirstEncoderOptionsSize, "options", "HEED_ENCODER_OPTIONS_INIT");
  EncoderOptions result = read_stack<heed_encoder_options, EncoderOptions>(read);
  if (read.patches != nullptr) result.patches = read_member(read.patches, "patches", OPTION("patches"));
  if (read.audio != nullptr) result.audio = read_member(read.audio, "audio", OPTION("audio"));
  return result;
}

DecoderOptions read_layer_options(const heed_decoder_options* options) {
  return read_stack<heed_decoder_options, DecoderOptions>(read_struct(
      options, HEED_DECODER_OPTIONS_INIT, kFirstDecoderOptionsSize, "options", "HEED_DECODER_OPTIONS_INIT"));
}

TransformerOptions read_layer_options(const heed_transformer_options* options) {
  const heed_transformer_options read = read_struct(
      options, HEED_TRANSFORMER_OPTIONS_INIT, kFirstTransformerOptionsSize, "options", "HEED_TRANSFORMER_OPTIONS_INIT");
  TransformerOptions result;
  result.encoder = read_member(read.encoder, "encoder", OPTION("encoder"));
  result.decoder = read_member(read.decoder, "decoder", OPTION("decoder"));
  if (read.embedding != nullptr) result.embedding = read_member(read.embedding, "embedding", OPTION("embedding"));
  if (read.output != nullptr) result.output = read_output_options(read.output);
  return result;
}

}  // namespace heed::capi
