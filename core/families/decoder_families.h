// SPDX-License-Identifier: Apache-2.0
// The records of decoders, in the order of their names. Only families.cc includes this file.
#pragma once

#include "families/family.h"
#include "families/layout_titles.h"

namespace heed::records {

// What records share.
inline constexpr Titles kLlamaTitles = {.model = layout_title::kLlama, .layers = layout_title::kLlama, .base = "model"};
inline constexpr Titles kGemma2Titles = {
    .model = layout_title::kLlama, .layers = layout_title::kGemma2, .base = "model"};
inline constexpr Norms kLlamaNorms = {
    .epsilon = {Setting::RmsNormEps, 1e-6}, .kind = NormKind::Rms, .place = NormPlace::Before};
inline constexpr FeedForwardRules kLlamaFeedForward = {.activation = Setting::HiddenAct, .usual = Activation::Silu};
inline constexpr Positions kHalves = {
    .base = {Setting::RopeTheta, Setting::None, 10000}, .layout = RotaryLayout::Half, .kind = PositionRule::Rotary};
inline constexpr SizeSettings kDecoderSizes = {.layers = Setting::NumHiddenLayers,
                                               .heads = Setting::NumAttentionHeads,
                                               .kv_heads = Setting::NumKeyValueHeads,
                                               .head_size = Setting::HeadDim};
inline constexpr Head kUntied = {.tied_by = Setting::TieWordEmbeddings, .is_tied = false};
inline constexpr Head kTied = {.tied_by = Setting::TieWordEmbeddings};
inline constexpr Windows kWindowsFromLayer28 = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                                                .every = {Setting::MaxWindowLayers, Setting::None, 28},
                                                .list = Setting::LayerTypes,
                                                .pattern = WindowPattern::FromLayer,
                                                .use = WindowUse::IfSet};

inline constexpr Family kGemma = {.model_types = "gemma",
                                  .titles = kLlamaTitles,
                                  .norms = {.epsilon = {Setting::RmsNormEps, 1e-6},
                                            .kind = NormKind::Rms,
                                            .place = NormPlace::Before,
                                            .adds_one = true},
                                  .attention = {.causal = CausalRule::Always},
                                  .positions = kHalves,
                                  .embedding = {.factor = EmbeddingScale::Root},
                                  .head = kTied,
                                  .feed_forward = {.activation = Setting::HiddenActivation,
                                                   .older_activation = Setting::HiddenAct,
                                                   .usual = Activation::GeluTanh},
                                  .sizes = kDecoderSizes,
                                  .kind = ModelKind::Decoder};

inline constexpr Family kGemma2 = {
    .model_types = "gemma2",
    .titles = kGemma2Titles,
    .norms = {.epsilon = {Setting::RmsNormEps, 1e-6},
              .kind = NormKind::Rms,
              .place = NormPlace::Before,
              .adds_one = true,
              .also_behind_parts = true},
    .attention = {.scale_by = {Setting::QueryPreAttnScalar, Setting::None, 256},
                  .soft_cap = {Setting::AttnLogitSoftcapping, Setting::None, 50},
                  .causal = CausalRule::Always,
                  .scale = ScaleRule::Scalar},
    .positions = kHalves,
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                .every = {Setting::SlidingWindowPatternNow, Setting::SlidingWindowPattern, 2},
                .list = Setting::LayerTypes,
                .pattern = WindowPattern::LastIsFull,
                .use = WindowUse::Always,
                .ignores_max_window_layers = true},
    .embedding = {.factor = EmbeddingScale::Root},
    .head = {.soft_cap = {Setting::FinalLogitSoftcapping, Setting::None, 30}, .tied_by = Setting::TieWordEmbeddings},
    .feed_forward = {.activation = Setting::HiddenActivation, .usual = Activation::GeluTanh},
    .sizes = kDecoderSizes,
    .kind = ModelKind::Decoder};

inline constexpr Family kGemma3Text = {
    .model_types = "gemma3_text",
    .titles = kGemma2Titles,
    .norms = {.epsilon = {Setting::RmsNormEps, 1e-6},
              .kind = NormKind::Rms,
              .place = NormPlace::Before,
              .adds_one = true,
              .also_behind_parts = true},
    .attention = {.scale_by = {Setting::QueryPreAttnScalar, Setting::None, 256},
                  .soft_cap = {Setting::AttnLogitSoftcapping},
                  .both_ways = Setting::UseBidirectionalAttention,
                  .causal = CausalRule::Always,
                  .scale = ScaleRule::Scalar,
                  .qk_norm = QkNormRule::RmsPlusOne},
    .positions = {.base = {Setting::RopeTheta, Setting::None, 1e6},
                  .window_base = {Setting::RopeLocalBaseFreq, Setting::None, 10000},
                  .layout = RotaryLayout::Half,
                  .kind = PositionRule::Rotary},
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                .every = {Setting::SlidingWindowPatternNow, Setting::SlidingWindowPattern, 6},
                .list = Setting::LayerTypes,
                .pattern = WindowPattern::LastIsFull,
                .use = WindowUse::Always,
                .half = HalfWindow::BothWays,
                .ignores_max_window_layers = true},
    .embedding = {.factor = EmbeddingScale::Root},
    .head = {.soft_cap = {Setting::FinalLogitSoftcapping}, .tied_by = Setting::TieWordEmbeddings},
    .feed_forward = {.activation = Setting::HiddenActivation, .usual = Activation::GeluTanh},
    .sizes = kDecoderSizes,
    .kind = ModelKind::Decoder};

inline constexpr Family kGpt2 = {
    .model_types = "gpt2",
    .titles = {.model = layout_title::kGpt2, .layers = layout_title::kGpt2, .base = "transformer"},
    .norms = {.epsilon = {Setting::LayerNormEpsilon, 1e-5}, .kind = NormKind::Layer, .place = NormPlace::Before},
    .attention = {.causal = CausalRule::Always, .scale = ScaleRule::Gpt2},
    .positions = {.kind = PositionRule::Table, .first_row = FirstRow::Zero},
    .head = kTied,
    .feed_forward = {.activation = Setting::ActivationFunction, .usual = Activation::GeluTanh},
    .sizes = {.layers = Setting::NLayer, .heads = Setting::NHead},
    .kind = ModelKind::Decoder,
    .has_conv1d = true};

inline constexpr Family kGranite = {
    .model_types = "granite",
    .titles = kLlamaTitles,
    .norms = kLlamaNorms,
    .attention = {.scale_by = {Setting::AttentionMultiplier, Setting::None, 1},
                  .causal = CausalRule::Always,
                  .scale = ScaleRule::Factor},
    .positions = kHalves,
    .embedding = {.factor_by = {Setting::EmbeddingMultiplier, Setting::None, 1}, .factor = EmbeddingScale::BySetting},
    .head = {.divisor = Setting::LogitsScaling, .tied_by = Setting::TieWordEmbeddings, .is_tied = false},
    .feed_forward = kLlamaFeedForward,
    .sizes = kDecoderSizes,
    .residual_factor = Setting::ResidualMultiplier,
    .kind = ModelKind::Decoder};

inline constexpr Family kLlama = {.model_types = "llama",
                                  .titles = kLlamaTitles,
                                  .norms = kLlamaNorms,
                                  .attention = {.causal = CausalRule::Always},
                                  .positions = kHalves,
                                  .head = kUntied,
                                  .feed_forward = kLlamaFeedForward,
                                  .sizes = kDecoderSizes,
                                  .kind = ModelKind::Decoder};

inline constexpr Family kMistral = {.model_types = "mistral",
                                    .titles = kLlamaTitles,
                                    .norms = kLlamaNorms,
                                    .attention = {.causal = CausalRule::Always},
                                    .positions = kHalves,
                                    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                                                .use = WindowUse::Always,
                                                .ignores_max_window_layers = true},
                                    .head = kUntied,
                                    .feed_forward = kLlamaFeedForward,
                                    .sizes = kDecoderSizes,
                                    .kind = ModelKind::Decoder};

inline constexpr Family kOpt = {
    .model_types = "opt",
    .titles = {.model = layout_title::kOpt, .layers = layout_title::kBart, .base = "model.decoder"},
    .norms = {.epsilon = {Setting::None, 1e-5},
              .kind = NormKind::Layer,
              .place = NormPlace::BeforeUnlessUnset,
              .place_by = Setting::DoLayerNormBefore},
    .attention = {.causal = CausalRule::Always},
    .positions = {.kind = PositionRule::Table, .first_row = FirstRow::Two},
    .embedding = {.projection = EmbeddingProjection::WithoutBias},
    .head = kTied,
    .feed_forward = {.activation = Setting::ActivationFunction, .usual = Activation::Relu},
    .sizes = {.layers = Setting::NumHiddenLayers, .heads = Setting::NumAttentionHeads},
    .kind = ModelKind::Decoder};

inline constexpr Family kPhi3 = {
    .model_types = "phi3",
    .packed_in = "layers.#.self_attn.qkv_proj",
    .titles = kLlamaTitles,
    .norms = {.epsilon = {Setting::RmsNormEps, 1e-5}, .kind = NormKind::Rms, .place = NormPlace::Before},
    .attention = {.causal = CausalRule::Always},
    .positions = {.base = {Setting::RopeTheta, Setting::None, 10000},
                  .part = {Setting::PartialRotaryFactor, Setting::None, 1},
                  .layout = RotaryLayout::Half,
                  .kind = PositionRule::Rotary,
                  .yarn_is_longrope = true},
    .windows = {.size = {Setting::SlidingWindow}, .use = WindowUse::Always, .ignores_max_window_layers = true},
    .head = kUntied,
    .feed_forward = kLlamaFeedForward,
    .sizes = kDecoderSizes,
    .kind = ModelKind::Decoder};

inline constexpr Family kQwen2 = {.model_types = "qwen2",
                                  .titles = kLlamaTitles,
                                  .norms = kLlamaNorms,
                                  .attention = {.causal = CausalRule::Always},
                                  .positions = kHalves,
                                  .windows = kWindowsFromLayer28,
                                  .head = kUntied,
                                  .feed_forward = kLlamaFeedForward,
                                  .sizes = kDecoderSizes,
                                  .kind = ModelKind::Decoder};

inline constexpr Family kQwen3 = {.model_types = "qwen3",
                                  .titles = kLlamaTitles,
                                  .norms = kLlamaNorms,
                                  .attention = {.causal = CausalRule::Always, .qk_norm = QkNormRule::Rms},
                                  .positions = kHalves,
                                  .windows = kWindowsFromLayer28,
                                  .head = kUntied,
                                  .feed_forward = kLlamaFeedForward,
                                  .sizes = kDecoderSizes,
                                  .kind = ModelKind::Decoder};

}  // namespace heed::records
