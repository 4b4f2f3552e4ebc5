// SPDX-License-Identifier: Apache-2.0
// The records of encoders, in the order of their names. Only families.cc includes this file.
#pragma once

#include "families/family.h"
#include "families/layout_titles.h"

namespace heed::records {

// What records share.
inline constexpr FeedForwardRules kHiddenGelu = {.activation = Setting::HiddenAct, .usual = Activation::Gelu};
inline constexpr SizeSettings kUsualSizes = {.layers = Setting::NumHiddenLayers, .heads = Setting::NumAttentionHeads};
inline constexpr Norms kBertNorms = {.epsilon = {Setting::LayerNormEps, 1e-12}, .kind = NormKind::Layer};
inline constexpr EmbeddingRules kBertEmbedding = {.token_types = true, .norm = true};
inline constexpr EmbeddingRules kProjectedEmbedding = {
    .projection = EmbeddingProjection::Yes, .token_types = true, .norm = true};
inline constexpr Positions kTable = {.kind = PositionRule::Table, .first_row = FirstRow::Zero};
inline constexpr Positions kTableAfterPadding = {.kind = PositionRule::Table, .first_row = FirstRow::AfterPadding};

inline constexpr Family kAlbert = {
    .model_types = "albert",
    .titles = {.model = layout_title::kAlbert, .layers = layout_title::kAlbert, .base = "albert"},
    .norms = kBertNorms,
    .positions = kTable,
    .embedding = kProjectedEmbedding,
    .feed_forward = {.activation = Setting::HiddenAct, .usual = Activation::GeluTanh},
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder,
    .shares_layers = true};

inline constexpr Family kBert = {
    .model_types = "bert",
    .titles = {.model = layout_title::kBert, .layers = layout_title::kBert, .base = "bert"},
    .norms = kBertNorms,
    .attention = {.causal = CausalRule::IfDecoder},
    .positions = kTable,
    .embedding = kBertEmbedding,
    .feed_forward = kHiddenGelu,
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kCamembert = {
    .model_types = "camembert",
    .titles = {.model = layout_title::kBert, .layers = layout_title::kBert, .base = "roberta"},
    .norms = kBertNorms,
    .attention = {.causal = CausalRule::IfDecoder},
    .positions = kTableAfterPadding,
    .embedding = kBertEmbedding,
    .feed_forward = kHiddenGelu,
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kClipText = {
    .model_types = "clip_text_model",
    .titles = {.model = layout_title::kClip, .layers = layout_title::kClip, .base = "text_model"},
    .norms = {.epsilon = {Setting::LayerNormEps, 1e-5}, .kind = NormKind::Layer, .place = NormPlace::Before},
    .attention = {.causal = CausalRule::Always},
    .positions = kTable,
    .feed_forward = {.activation = Setting::HiddenAct, .usual = Activation::GeluQuick},
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kDistilBert = {
    .model_types = "distilbert",
    .titles = {.model = layout_title::kDistilBert, .layers = layout_title::kDistilBert, .base = "distilbert"},
    .norms = {.epsilon = {Setting::None, 1e-12}, .kind = NormKind::Layer},
    .positions = kTable,
    .embedding = {.norm = true},
    .feed_forward = {.activation = Setting::Activation, .usual = Activation::Gelu},
    .sizes = {.layers = Setting::NLayers, .heads = Setting::NHeads},
    .kind = ModelKind::Encoder};

inline constexpr Family kElectra = {
    .model_types = "electra",
    .titles = {.model = layout_title::kBert, .layers = layout_title::kBert, .base = "electra"},
    .norms = kBertNorms,
    .attention = {.causal = CausalRule::IfDecoder},
    .positions = kTable,
    .embedding = kProjectedEmbedding,
    .feed_forward = kHiddenGelu,
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kModernBert = {
    .model_types = "modernbert",
    .packed_in = "layers.#.attn.Wqkv",
    .titles = {.model = layout_title::kModernBert, .layers = layout_title::kModernBert, .base = "model"},
    .norms = {.epsilon = {Setting::NormEps, 1e-5},
              .kind = NormKind::Layer,
              .place = NormPlace::Before,
              .none_before_first = true},
    .positions = {.base = {Setting::RopeTheta, Setting::GlobalRopeTheta, 160000},
                  .window_base = {Setting::LocalRopeTheta, Setting::None, 10000},
                  .layout = RotaryLayout::Half,
                  .kind = PositionRule::Rotary},
    .windows = {.size = {Setting::LocalAttention, Setting::None, 128},
                .every = {Setting::GlobalAttnEveryNLayers, Setting::None, 3},
                .list = Setting::LayerTypes,
                .pattern = WindowPattern::FirstIsFull,
                .half = HalfWindow::Always},
    .embedding = {.norm = true},
    .feed_forward = {.activation = Setting::HiddenActivation, .usual = Activation::Gelu},
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kRoberta = {
    .model_types = "roberta",
    .titles = {.model = layout_title::kBert, .layers = layout_title::kBert, .base = "roberta"},
    .norms = kBertNorms,
    .attention = {.causal = CausalRule::IfDecoder},
    .positions = kTableAfterPadding,
    .embedding = kBertEmbedding,
    .feed_forward = kHiddenGelu,
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kViT = {
    .model_types = "vit",
    .titles = {.model = layout_title::kViT, .layers = layout_title::kViT, .base = "vit"},
    .norms = {.epsilon = {Setting::LayerNormEps, 1e-12}, .kind = NormKind::Layer, .place = NormPlace::Before},
    .positions = kTable,
    .embedding = {.input = ModelInput::Images},
    .feed_forward = kHiddenGelu,
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

inline constexpr Family kXlmRoberta = {
    .model_types = "xlm-roberta",
    .titles = {.model = layout_title::kBert, .layers = layout_title::kBert, .base = "roberta"},
    .norms = kBertNorms,
    .attention = {.causal = CausalRule::IfDecoder},
    .positions = kTableAfterPadding,
    .embedding = kBertEmbedding,
    .feed_forward = kHiddenGelu,
    .sizes = kUsualSizes,
    .kind = ModelKind::Encoder};

}  // namespace heed::records
