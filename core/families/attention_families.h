// SPDX-License-Identifier: Apache-2.0
// The records of families whose attention alone is known; of some also what layers compute beside it. A record is true of
// all the model_types that it lists. Only families.cc includes this file.
#pragma once

#include "families/family.h"

namespace heed::records {

// BERT's relatives, and XLM, whose attention computes the same.
inline constexpr Family kOtherBerts = {
    .model_types =
        "bert-generation dpr ernie flaubert layoutlm lilt luke markuplm megatron-bert mluke mobilebert qdqbert "
        "rembert roc_bert splinter xlm xmod",
    .attention = {.causal = CausalRule::IfDecoder}};

inline constexpr Family kOtherRobertas = {
    .model_types = "data2vec-text ibert roberta-prelayernorm xlm-roberta-xl",
    .attention = {.causal = CausalRule::IfDecoder},
    .positions = {.kind = PositionRule::Table, .first_row = FirstRow::AfterPadding}};

inline constexpr Family kDeit = {
    .model_types = "deit",
    .norms = {.epsilon = {Setting::LayerNormEps, 1e-12}, .kind = NormKind::Layer, .place = NormPlace::Before},
    .feed_forward = {.activation = Setting::HiddenAct, .usual = Activation::Gelu}};

inline constexpr Family kClipVision = {
    .model_types = "clip_vision_model",
    .norms = {.epsilon = {Setting::LayerNormEps, 1e-5}, .kind = NormKind::Layer, .place = NormPlace::Before},
    .feed_forward = {.activation = Setting::HiddenAct, .usual = Activation::GeluQuick}};

inline constexpr Family kOtherEncoders = {
    .model_types =
        "align_text_model altclip_text_model audio-spectrogram-transformer beit blip_vision_model bridgetower "
        "chinese_clip_text_model chinese_clip_vision_model clap_text_model clipseg_vision_model conditional_detr "
        "data2vec-audio data2vec-vision detr dinov2 dinov2_with_registers dpt ernie_m flava_image_model "
        "flava_multimodal_model flava_text_model groupvit_vision_model hubert ijepa layoutlmv3 "
        "metaclip_2_vision_model mllama_vision_model owlv2_vision_model owlvit_vision_model rt_detr sew siglip "
        "siglip2_text_model siglip2_vision_model siglip_text_model siglip_vision_model table-transformer tapas "
        "timesformer unispeech unispeech-sat videomae vilt visual_bert vit_hybrid vit_mae vit_msn vitpose_backbone "
        "vivit wav2vec2 xclip_vision_model yolos"};

// Models of texts and images.
inline constexpr Family kTextsOfTwo = {.model_types = "clip clipseg metaclip_2 owlv2 owlvit",
                                       .attention = {.causal = CausalRule::InText}};

inline constexpr Family kPlbart = {.model_types = "plbart",
                                   .attention = {.causal = CausalRule::InDecoder},
                                   .positions = {.kind = PositionRule::Table, .first_row = FirstRow::Two}};

inline constexpr Family kOtherTransformers = {
    .model_types =
        "blenderbot blenderbot-small fsmt m2m_100 mvp nllb-moe pegasus speech_to_text speecht5 "
        "time_series_transformer",
    .attention = {.causal = CausalRule::InDecoder}};

inline constexpr Family kOtherDecoders = {
    .model_types =
        "biogpt clipseg_text_model groupvit_text_model jamba metaclip_2_text_model musicgen_decoder "
        "musicgen_melody_decoder owlv2_text_model owlvit_text_model speech_to_text_2 trocr xclip_text_model xglm",
    .attention = {.causal = CausalRule::Always}};

inline constexpr Family kOtherGpt2s = {.model_types = "decision_transformer imagegpt",
                                       .attention = {.causal = CausalRule::Always, .scale = ScaleRule::Gpt2},
                                       .has_conv1d = true};

inline constexpr Family kGpt1 = {
    .model_types = "openai-gpt", .attention = {.causal = CausalRule::Always}, .has_conv1d = true};

inline constexpr Family kGptBigCode = {.model_types = "gpt_bigcode",
                                       .attention = {.causal = CausalRule::Always, .scale = ScaleRule::Gpt2}};

inline constexpr Family kGptNeo = {
    .model_types = "gpt_neo",
    .attention = {.causal = CausalRule::Always, .scale = ScaleRule::One},
    .windows = {.size = {Setting::WindowSize, Setting::None, 256}, .pattern = WindowPattern::Listed}};

inline constexpr AttentionRules kAttentionOfT5 = {.causal = CausalRule::InDecoder, .scale = ScaleRule::One};
inline constexpr Positions kBucketsOfT5 = {.buckets = {Setting::RelativeAttentionNumBuckets, Setting::None, 32},
                                           .distance = {Setting::RelativeAttentionMaxDistance, Setting::None, 128},
                                           .kind = PositionRule::Buckets};

inline constexpr Family kUmT5 = {
    .model_types = "umt5",
    .norms = {.epsilon = {Setting::LayerNormEpsilon, 1e-6}, .kind = NormKind::Rms, .place = NormPlace::Before},
    .attention = kAttentionOfT5,
    .positions = kBucketsOfT5,
    .feed_forward = {.activation = Setting::DenseActFn,
                     .older_activation = Setting::FeedForwardProj,
                     .older_says_gate = true,
                     .usual = Activation::GeluTanh}};

inline constexpr Family kOtherT5s = {
    .model_types = "pop2piano switch_transformers", .attention = kAttentionOfT5, .positions = kBucketsOfT5};

inline constexpr Family kLongT5 = {
    .model_types = "longt5 udop", .unsupported = &unsupported::kRelativeBias, .attention = kAttentionOfT5};

inline constexpr Family kMpnet = {.model_types = "mpnet",
                                  .unsupported = &unsupported::kRelativeBias,
                                  .positions = {.kind = PositionRule::Table, .first_row = FirstRow::AfterPadding}};

inline constexpr Family kRelative = {.model_types = "donut-swin maskformer-swin nezha swin swinv2 wavlm",
                                     .unsupported = &unsupported::kRelativeBias};

// Rotary positions of pairs (i, i + size / 2).
inline constexpr AttentionRules kCausal = {.causal = CausalRule::Always};
inline constexpr Positions kPairsOfHalves = {.layout = RotaryLayout::Half, .kind = PositionRule::Rotary};

inline constexpr Family kExaone4 = {
    .model_types = "exaone4",
    .norms = {.epsilon = {Setting::RmsNormEps, 1e-5}},
    .attention = {.causal = CausalRule::Always, .qk_norm = QkNormRule::Rms},
    .positions = {.layout = RotaryLayout::Half, .kind = PositionRule::Rotary, .only_with_window = true},
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                .every = {Setting::SlidingWindowPattern, Setting::SlidingWindowPatternNow, 4},
                .pattern = WindowPattern::LastIsFull}};

inline constexpr Family kGptNeoX = {.model_types = "gpt_neox",
                                    .packed_in = "layers.#.attention.query_key_value",
                                    .attention = kCausal,
                                    .positions = {.part = {Setting::RotaryPct, Setting::PartialRotaryFactor, 0.25},
                                                  .layout = RotaryLayout::Half,
                                                  .kind = PositionRule::Rotary}};

inline constexpr Family kGptOss = {
    .model_types = "gpt_oss",
    .attention = {.causal = CausalRule::Always, .sinks = true},
    .positions = {.base = {Setting::RopeTheta, Setting::None, 150000},
                  .layout = RotaryLayout::Half,
                  .kind = PositionRule::Rotary},
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 128},
                .every = {Setting::SlidingWindowPattern, Setting::SlidingWindowPatternNow, 2},
                .pattern = WindowPattern::LastIsFull}};

inline constexpr Family kMinistral = {.model_types = "ministral",
                                      .attention = kCausal,
                                      .positions = kPairsOfHalves,
                                      .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096}}};

inline constexpr Family kMixtral = {
    .model_types = "mixtral",
    .norms = {.epsilon = {Setting::RmsNormEps, 1e-5}, .kind = NormKind::Rms, .place = NormPlace::Before},
    .attention = kCausal,
    .positions = {.base = {Setting::RopeTheta, Setting::None, 1e6},
                  .layout = RotaryLayout::Half,
                  .kind = PositionRule::Rotary},
    .feed_forward = {.activation = Setting::HiddenAct, .has_experts = true, .usual = Activation::Silu}};

inline constexpr Family kOlmo3 = {
    .model_types = "olmo3",
    .attention = kCausal,
    .positions = kPairsOfHalves,
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                .every = {Setting::SlidingWindowPattern, Setting::SlidingWindowPatternNow, 4},
                .pattern = WindowPattern::LastIsFull}};

inline constexpr Family kPersimmon = {.model_types = "persimmon",
                                      .attention = kCausal,
                                      .positions = {.base = {Setting::RopeTheta, Setting::None, 25000},
                                                    .part = {Setting::PartialRotaryFactor, Setting::None, 0.5},
                                                    .layout = RotaryLayout::Half,
                                                    .kind = PositionRule::Rotary}};

inline constexpr Family kPhi = {.model_types = "nemotron phi",
                                .attention = kCausal,
                                .positions = {.part = {Setting::PartialRotaryFactor, Setting::None, 0.5},
                                              .layout = RotaryLayout::Half,
                                              .kind = PositionRule::Rotary}};

inline constexpr Family kQwen2Moe = {.model_types = "qwen2_moe",
                                     .attention = kCausal,
                                     .positions = kPairsOfHalves,
                                     .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                                                 .every = {Setting::MaxWindowLayers, Setting::None, 28},
                                                 .pattern = WindowPattern::EveryOtherBefore,
                                                 .use = WindowUse::IfSet}};

inline constexpr Family kQwen3Moe = {.model_types = "qwen3_moe",
                                     .norms = {.epsilon = {Setting::RmsNormEps, 1e-6}},
                                     .attention = {.causal = CausalRule::Always, .qk_norm = QkNormRule::Rms},
                                     .positions = kPairsOfHalves,
                                     .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                                                 .use = WindowUse::IfSet,
                                                 .ignores_max_window_layers = true}};

inline constexpr Family kSmolLm3 = {
    .model_types = "smollm3", .attention = kCausal, .positions = kPairsOfHalves, .windows = {.use = WindowUse::IfSet}};

inline constexpr Family kStableLm = {.model_types = "stablelm",
                                     .attention = kCausal,
                                     .positions = {.part = {Setting::PartialRotaryFactor, Setting::None, 0.25},
                                                   .layout = RotaryLayout::Half,
                                                   .kind = PositionRule::Rotary}};

inline constexpr Family kVaultGemma = {
    .model_types = "vaultgemma",
    .attention = {.scale_by = {Setting::QueryPreAttnScalar, Setting::None, 256},
                  .soft_cap = {Setting::AttnLogitSoftcapping, Setting::None, 50},
                  .causal = CausalRule::Always,
                  .scale = ScaleRule::Scalar},
    .positions = kPairsOfHalves,
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                .every = {Setting::SlidingWindowPattern, Setting::SlidingWindowPatternNow, 2},
                .pattern = WindowPattern::LastIsFull}};

inline constexpr Family kOtherHalves = {
    .model_types = "arcee bitnet dots1 gpt_neox_japanese granitemoe olmo olmo2 olmoe phimoe seed_oss starcoder2",
    .attention = kCausal,
    .positions = kPairsOfHalves};

// Rotary positions of pairs (2 i, 2 i + 1).
inline constexpr Positions kPairsInTurn = {.layout = RotaryLayout::Interleaved, .kind = PositionRule::Rotary};

inline constexpr Family kCohere = {.model_types = "cohere",
                                   .norms = {.epsilon = {Setting::LayerNormEps, 1e-5}},
                                   .attention = {.causal = CausalRule::Always, .qk_norm = QkNormRule::LayerIfSet},
                                   .positions = kPairsInTurn};

inline constexpr Family kCohere2 = {
    .model_types = "cohere2",
    .attention = kCausal,
    .positions = {.layout = RotaryLayout::Interleaved, .kind = PositionRule::Rotary, .only_with_window = true},
    .windows = {.size = {Setting::SlidingWindow, Setting::None, 4096},
                .every = {Setting::SlidingWindowPattern, Setting::SlidingWindowPatternNow, 4},
                .pattern = WindowPattern::LastIsFull}};

inline constexpr Family kGlm = {.model_types = "glm glm4",
                                .attention = kCausal,
                                .positions = {.part = {Setting::PartialRotaryFactor, Setting::None, 0.5},
                                              .layout = RotaryLayout::Interleaved,
                                              .kind = PositionRule::Rotary}};

inline constexpr Family kOthersInTurn = {
    .model_types = "codegen gptj helium", .attention = kCausal, .positions = kPairsInTurn};

inline constexpr Family kRoFormer = {.model_types = "roformer", .positions = kPairsInTurn};

// Rotary positions of pairs that are not known.
inline constexpr Positions kPairsUnknown = {.kind = PositionRule::Rotary};

inline constexpr Family kQwen25Vl = {.model_types = "qwen2_5_vl",
                                     .attention = {.causal = CausalRule::Always, .tower_has_windows = true},
                                     .positions = kPairsUnknown};

inline constexpr Family kOtherRotary = {
    .model_types =
        "apertus bamba deepseek_v2 deepseek_v3 diffllama ernie4_5 falcon_h1 glm4_moe hunyuan_v1_dense lfm2 "
        "llama4_text mllama_text_model qwen2_5_vl_text qwen2_vl qwen2_vl_text qwen3_next qwen3_vl_text "
        "recurrent_gemma zamba2",
    .attention = kCausal,
    .positions = kPairsUnknown};

inline constexpr Family kRotaryEncoders = {.model_types = "eurobert nomic_bert", .positions = kPairsUnknown};

// Rotary positions on several axes.
inline constexpr Family kAxes = {.model_types = "dinov3_vit pixtral", .unsupported = &unsupported::kAxes};

inline constexpr Family kFalcon = {.model_types = "falcon",
                                   .packed_in = "h.#.self_attention.query_key_value",
                                   .attention = {.causal = CausalRule::Always, .key_heads = KeyHeads::Falcons},
                                   .positions = {.layout = RotaryLayout::Half, .kind = PositionRule::AlibiIfSet}};

inline constexpr Family kBloom = {.model_types = "bloom",
                                  .packed_in = "h.#.self_attention.query_key_value",
                                  .attention = kCausal,
                                  .positions = {.kind = PositionRule::Alibi}};

inline constexpr Family kMpt = {.model_types = "mpt",
                                .packed_in = "blocks.#.attn.Wqkv",
                                .attention = kCausal,
                                .positions = {.kind = PositionRule::Alibi}};

inline constexpr Family kGemma3n = {.model_types = "gemma3n_text",
                                    .unsupported = &unsupported::kAttention,
                                    .attention = {.causal = CausalRule::InDecoder},
                                    .windows = {.half = HalfWindow::BothWays}};

inline constexpr Family kLongformer = {.model_types = "longformer",
                                       .unsupported = &unsupported::kAttention,
                                       .attention = {.causal = CausalRule::InDecoder},
                                       .positions = {.kind = PositionRule::Table, .first_row = FirstRow::AfterPadding}};

// These select the visible keys by their values or in blocks, correlate queries and keys instead of multiplying them, or
// normalize values.
inline constexpr Family kOthers = {
    .model_types = "autoformer bigbird_pegasus convbert informer led mra nystromformer pegasus_x reformer yoso",
    .unsupported = &unsupported::kAttention,
    .attention = {.causal = CausalRule::InDecoder}};

}  // namespace heed::records
