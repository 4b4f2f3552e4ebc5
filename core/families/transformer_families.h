// SPDX-License-Identifier: Apache-2.0
// The records of models with an encoder and a decoder, in the order of their names. Only families.cc includes this file.
#pragma once

#include "families/family.h"
#include "families/layout_titles.h"

namespace heed::records {

// What records share.
inline constexpr Titles kBartTitles = {.model = layout_title::kBart, .layers = layout_title::kBart, .base = "model"};
inline constexpr Titles kT5Titles = {
    .model = layout_title::kT5, .layers = layout_title::kT5, .encoder = layout_title::kT5EncoderModel};
inline constexpr SizeSettings kBartSizes = {.layers = Setting::EncoderLayers,
                                            .heads = Setting::EncoderAttentionHeads,
                                            .decoder_layers = Setting::DecoderLayers,
                                            .decoder_heads = Setting::DecoderAttentionHeads};
// num_decoder_layers is num_layers by default.
inline constexpr SizeSettings kT5Sizes = {
    .layers = Setting::NumLayers, .heads = Setting::NumHeads, .head_size = Setting::DKv};
inline constexpr Norms kNormsBehind = {.epsilon = {Setting::None, 1e-5}, .kind = NormKind::Layer};
inline constexpr Norms kNormsBefore = {
    .epsilon = {Setting::None, 1e-5}, .kind = NormKind::Layer, .place = NormPlace::Before};
inline constexpr Norms kT5Norms = {
    .epsilon = {Setting::LayerNormEpsilon, 1e-6}, .kind = NormKind::Rms, .place = NormPlace::Before};
inline constexpr FeedForwardRules kBartFeedForward = {.activation = Setting::ActivationFunction,
                                                      .usual = Activation::Gelu};
inline constexpr AttentionRules kTwoSides = {.causal = CausalRule::InDecoder};
inline constexpr AttentionRules kT5Attention = {.causal = CausalRule::InDecoder, .scale = ScaleRule::One};
inline constexpr Positions kTableFromTwo = {.kind = PositionRule::Table, .first_row = FirstRow::Two};
inline constexpr Positions kBuckets = {.buckets = {Setting::RelativeAttentionNumBuckets, Setting::None, 32},
                                       .distance = {Setting::RelativeAttentionMaxDistance, Setting::None, 128},
                                       .kind = PositionRule::Buckets};
inline constexpr Head kTiedHead = {.tied_by = Setting::TieWordEmbeddings};

inline constexpr Family kBart = {
    .model_types = "bart",
    .titles = kBartTitles,
    .norms = kNormsBehind,
    .attention = kTwoSides,
    .positions = kTableFromTwo,
    .embedding = {.factor_by = {Setting::ScaleEmbedding}, .factor = EmbeddingScale::RootIfSet, .norm = true},
    .head = kTiedHead,
    .feed_forward = kBartFeedForward,
    .sizes = kBartSizes,
    .kind = ModelKind::Transformer};

inline constexpr Family kMarian = {
    .model_types = "marian",
    .titles = kBartTitles,
    .norms = kNormsBehind,
    .attention = kTwoSides,
    .positions = {.kind = PositionRule::Sinusoids},
    .embedding = {.factor_by = {Setting::ScaleEmbedding}, .factor = EmbeddingScale::RootIfSet},
    .head = kTiedHead,
    .feed_forward = kBartFeedForward,
    .sizes = kBartSizes,
    .kind = ModelKind::Transformer};

inline constexpr Family kMBart = {
    .model_types = "mbart",
    .titles = kBartTitles,
    .norms = kNormsBefore,
    .attention = kTwoSides,
    .positions = kTableFromTwo,
    .embedding = {.factor_by = {Setting::ScaleEmbedding}, .factor = EmbeddingScale::RootIfSet, .norm = true},
    .head = kTiedHead,
    .feed_forward = kBartFeedForward,
    .sizes = kBartSizes,
    .kind = ModelKind::Transformer};

inline constexpr Family kMT5 = {.model_types = "mt5",
                                .titles = kT5Titles,
                                .norms = kT5Norms,
                                .attention = kT5Attention,
                                .positions = kBuckets,
                                .head = {.tied_by = Setting::TieWordEmbeddings, .is_tied = false},
                                .feed_forward = {.activation = Setting::DenseActFn,
                                                 .older_activation = Setting::FeedForwardProj,
                                                 .older_says_gate = true,
                                                 .usual = Activation::GeluTanh},
                                .sizes = kT5Sizes,
                                .kind = ModelKind::Transformer};

inline constexpr Family kT5 = {
    .model_types = "t5",
    .titles = kT5Titles,
    .norms = kT5Norms,
    .attention = kT5Attention,
    .positions = kBuckets,
    .head = {.scaled_by = Setting::ScaleDecoderOutputs, .tied_by = Setting::TieWordEmbeddings},
    .feed_forward = {.activation = Setting::DenseActFn,
                     .older_activation = Setting::FeedForwardProj,
                     .older_says_gate = true,
                     .usual = Activation::Relu},
    .sizes = kT5Sizes,
    .kind = ModelKind::Transformer};

inline constexpr Family kWhisper = {.model_types = "whisper",
                                    .titles = kBartTitles,
                                    .norms = kNormsBefore,
                                    .attention = kTwoSides,
                                    .positions = {.kind = PositionRule::Table, .first_row = FirstRow::Zero},
                                    .embedding = {.input = ModelInput::Audio},
                                    .head = kTiedHead,
                                    .feed_forward = kBartFeedForward,
                                    .sizes = kBartSizes,
                                    .spare = Setting::ScaleEmbedding,
                                    .kind = ModelKind::Transformer};

}  // namespace heed::records
