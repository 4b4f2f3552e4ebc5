// SPDX-License-Identifier: Apache-2.0
// Parts that records of kin share. A record is not "as another one, but": then a new member would change its kin unseen.
#pragma once

#include "families/family.h"
#include "families/layout_names.h"

namespace heed::records {

inline constexpr Layouts kLlamaLayouts = {.model = layout_name::kLlama, .layers = layout_name::kLlama, .base = "model"};
inline constexpr Layouts kGemma2Layouts = {
    .model = layout_name::kLlama, .layers = layout_name::kGemma2, .base = "model"};
inline constexpr Layouts kBartLayouts = {.model = layout_name::kBart, .layers = layout_name::kBart, .base = "model"};
inline constexpr Layouts kT5Layouts = {
    .model = layout_name::kT5, .layers = layout_name::kT5, .base = "", .encoder = layout_name::kT5EncoderModel};

inline constexpr Norms kBertNorms = {
    .epsilon = {Setting::LayerNormEps, 1e-12}, .kind = NormKind::Layer, .biases = kAlways};
inline constexpr Norms kLlamaNorms = {
    .epsilon = {Setting::RmsNormEps, 1e-6}, .kind = NormKind::Rms, .place = NormPlace::Before};
inline constexpr Norms kNormsBehind = {.epsilon = {Setting::None, 1e-5}, .kind = NormKind::Layer, .biases = kAlways};
inline constexpr Norms kNormsBefore = {
    .epsilon = {Setting::None, 1e-5}, .kind = NormKind::Layer, .place = NormPlace::Before, .biases = kAlways};
inline constexpr Norms kT5Norms = {
    .epsilon = {Setting::LayerNormEpsilon, 1e-6}, .kind = NormKind::Rms, .place = NormPlace::Before};

inline constexpr FeedForwardRules kHiddenGelu = {
    .activation = Setting::HiddenAct, .biases = kAlways, .usual = Activation::Gelu};
inline constexpr FeedForwardRules kGatedSilu = {
    .activation = Setting::HiddenAct, .gate = kAlways, .usual = Activation::Silu};
inline constexpr FeedForwardRules kLlamaFeedForward = {
    .activation = Setting::HiddenAct, .gate = kAlways, .biases = has_by(Setting::MlpBias), .usual = Activation::Silu};
inline constexpr FeedForwardRules kBartFeedForward = {
    .activation = Setting::ActivationFunction, .biases = kAlways, .usual = Activation::Gelu};

inline constexpr AttentionRules kAllBiases = {.qkv_biases = kAlways, .output_bias = kAlways};
inline constexpr AttentionRules kBertAttention = {
    .qkv_biases = kAlways, .output_bias = kAlways, .causal = CausalRule::IfDecoder};
inline constexpr AttentionRules kTwoSides = {
    .qkv_biases = kAlways, .output_bias = kAlways, .causal = CausalRule::InDecoder};
inline constexpr AttentionRules kT5Attention = {.causal = CausalRule::InDecoder, .scale = ScaleRule::One};
inline constexpr AttentionRules kCausal = {.causal = CausalRule::Always};
inline constexpr AttentionRules kLlamaAttention = {.qkv_biases = has_by(Setting::AttentionBias),
                                                   .output_bias = has_by(Setting::AttentionBias),
                                                   .causal = CausalRule::Always};

inline constexpr Positions kTable = {.kind = PositionRule::Table, .first_row = FirstRow::Zero};
inline constexpr Positions kTableFromTwo = {.kind = PositionRule::Table, .first_row = FirstRow::Two};
inline constexpr Positions kTableAfterPadding = {.kind = PositionRule::Table, .first_row = FirstRow::AfterPadding};
// Rotary positions of pairs (i, i + size / 2).
inline constexpr Positions kHalves = {
    .base = {Setting::RopeTheta, Setting::None, 10000}, .layout = RotaryLayout::Half, .kind = PositionRule::Rotary};
inline constexpr Positions kBuckets = {.buckets = {Setting::RelativeAttentionNumBuckets, Setting::None, 32},
                                       .distance = {Setting::RelativeAttentionMaxDistance, Setting::None, 128},
                                       .kind = PositionRule::Buckets};
// Rotary positions of pairs (2 i, 2 i + 1).
inline constexpr Positions kPairsInTurn = {.layout = RotaryLayout::Interleaved, .kind = PositionRule::Rotary};
// Rotary positions of pairs that are not known.
inline constexpr Positions kPairsUnknown = {.kind = PositionRule::Rotary};

inline constexpr Windows kWindowsFromLayer28 = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                                                .every = {Setting::MaxWindowLayers, Setting::None, 28},
                                                .list = Setting::LayerTypes,
                                                .pattern = WindowPattern::FromLayer,
                                                .use = WindowUse::IfSet};

inline constexpr EmbeddingRules kBertEmbedding = {.token_types = true, .norm = true};
inline constexpr EmbeddingRules kProjectedEmbedding = {
    .projection = EmbeddingProjection::Yes, .token_types = true, .norm = true};

inline constexpr Head kUntied = {.tied_by = Setting::TieWordEmbeddings, .is_tied = false};
inline constexpr Head kTied = {.tied_by = Setting::TieWordEmbeddings};
// The bias of logits is a buffer of zeros, which files may lack.
inline constexpr Head kTiedWithBias = {.tied_by = Setting::TieWordEmbeddings, .bias = kInFile};

inline constexpr SizeSettings kUsualSizes = {.layers = Setting::NumHiddenLayers, .heads = Setting::NumAttentionHeads};
inline constexpr SizeSettings kDecoderSizes = {.layers = Setting::NumHiddenLayers,
                                               .heads = Setting::NumAttentionHeads,
                                               .kv_heads = Setting::NumKeyValueHeads,
                                               .head_size = Setting::HeadDim};
inline constexpr SizeSettings kBartSizes = {.layers = Setting::EncoderLayers,
                                            .heads = Setting::EncoderAttentionHeads,
                                            .decoder_layers = Setting::DecoderLayers,
                                            .decoder_heads = Setting::DecoderAttentionHeads};
// num_decoder_layers is num_layers by default.
inline constexpr SizeSettings kT5Sizes = {.layers = Setting::NumLayers,
                                          .heads = Setting::NumHeads,
                                          .head_size = Setting::DKv,
                                          .other_layers = Setting::NumDecoderLayers};

}  // namespace heed::records
