// SPDX-License-Identifier: Apache-2.0
#include "families/family_table.h"

#include <algorithm>

namespace heed {
namespace {

// BERT's relatives, and XLM, whose attention computes the same.
constexpr const char* kBertTypes[] = {
    "bert",
    "bert-generation",
    "camembert",
    "data2vec-text",
    "dpr",
    "electra",
    "ernie",
    "flaubert",
    "ibert",
    "layoutlm",
    "lilt",
    "luke",
    "markuplm",
    "megatron-bert",
    "mluke",
    "mobilebert",
    "qdqbert",
    "rembert",
    "roberta",
    "roberta-prelayernorm",
    "roc_bert",
    "splinter",
    "xlm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
};
constexpr const char* kEncoderTypes[] = {
    "albert",
    "align_text_model",
    "altclip_text_model",
    "audio-spectrogram-transformer",
    "beit",
    "blip_vision_model",
    "bridgetower",
    "chinese_clip_text_model",
    "chinese_clip_vision_model",
    "clap_text_model",
    "clip_vision_model",
    "clipseg_vision_model",
    "conditional_detr",
    "data2vec-audio",
    "data2vec-vision",
    "deit",
    "detr",
    "dinov2",
    "dinov2_with_registers",
    "distilbert",
    "dpt",
    "ernie_m",
    "flava_image_model",
    "flava_multimodal_model",
    "flava_text_model",
    "groupvit_vision_model",
    "hubert",
    "ijepa",
    "layoutlmv3",
    "metaclip_2_vision_model",
    "mllama_vision_model",
    "owlv2_vision_model",
    "owlvit_vision_model",
    "rt_detr",
    "sew",
    "siglip_text_model",
    "siglip_vision_model",
    "siglip2_text_model",
    "siglip2_vision_model",
    "siglip",
    "table-transformer",
    "tapas",
    "timesformer",
    "unispeech",
    "unispeech-sat",
    "videomae",
    "vilt",
    "visual_bert",
    "vit",
    "vit_hybrid",
    "vit_mae",
    "vit_msn",
    "vitpose_backbone",
    "vivit",
    "wav2vec2",
    "xclip_vision_model",
    "yolos",
};
constexpr const char* kTextTypes[] = {"clip", "clipseg", "metaclip_2", "owlv2", "owlvit"};
constexpr const char* kEncoderDecoderTypes[] = {
    "bart",     "blenderbot", "blenderbot-small",
    "fsmt",     "m2m_100",    "marian",
    "mbart",    "mvp",        "nllb-moe",
    "pegasus",  "plbart",     "speech_to_text",
    "speecht5", "whisper",    "time_series_transformer",
};
constexpr const char* kDecoderTypes[] = {
    "biogpt",
    "clip_text_model",
    "clipseg_text_model",
    "groupvit_text_model",
    "jamba",
    "metaclip_2_text_model",
    "musicgen_decoder",
    "musicgen_melody_decoder",
    "opt",
    "owlv2_text_model",
    "owlvit_text_model",
    "speech_to_text_2",
    "trocr",
    "xclip_text_model",
    "xglm",
};
constexpr const char* kGpt2Types[] = {"decision_transformer", "gpt2", "imagegpt"};
constexpr const char* kGpt1Types[] = {"openai-gpt"};
constexpr const char* kGptBigCodeTypes[] = {"gpt_bigcode"};
constexpr const char* kGptNeoTypes[] = {"gpt_neo"};
constexpr const char* kT5Types[] = {"mt5", "pop2piano", "switch_transformers", "t5", "umt5"};
constexpr const char* kOtherT5Types[] = {"longt5", "udop"};
constexpr const char* kRelativeTypes[] = {"donut-swin", "maskformer-swin", "mpnet", "nezha", "swin", "swinv2", "wavlm"};
constexpr const char* kRotaryHalfTypes[] = {
    "arcee",       "bitnet",     "dots1",
    "exaone4",     "gemma",      "gemma2",
    "gemma3_text", "gpt_neox",   "gpt_neox_japanese",
    "granite",     "granitemoe", "llama",
    "ministral",   "mistral",    "mixtral",
    "nemotron",    "olmo",       "olmo2",
    "olmo3",       "olmoe",      "persimmon",
    "phi",         "phi3",       "phimoe",
    "qwen2",       "qwen2_moe",  "qwen3",
    "qwen3_moe",   "seed_oss",   "smollm3",
    "stablelm",    "starcoder2", "vaultgemma",
};
constexpr const char* kRotaryInTurnTypes[] = {"codegen", "cohere", "cohere2", "glm", "glm4", "gptj", "helium"};
constexpr const char* kRotaryTypes[] = {
    "apertus",         "bamba",           "deepseek_v2",      "deepseek_v3",   "diffllama",   "ernie4_5",
    "falcon_h1",       "glm4_moe",        "hunyuan_v1_dense", "lfm2",          "llama4_text", "mllama_text_model",
    "qwen2_5_vl",      "qwen2_5_vl_text", "qwen2_vl",         "qwen2_vl_text", "qwen3_next",  "qwen3_vl_text",
    "recurrent_gemma", "zamba2",
};
constexpr const char* kFalconTypes[] = {"falcon"};
constexpr const char* kModernBertTypes[] = {"modernbert"};
constexpr const char* kRotaryEncoderTypes[] = {"eurobert", "nomic_bert"};
constexpr const char* kRoFormerTypes[] = {"roformer"};
constexpr const char* kAxesTypes[] = {"dinov3_vit", "pixtral"};
constexpr const char* kGptOssTypes[] = {"gpt_oss"};
constexpr const char* kAlibiTypes[] = {"bloom", "mpt"};
// These select the visible keys by their values or in blocks, correlate queries and keys instead of multiplying them, or
// normalize values.
constexpr const char* kOtherTypes[] = {
    "autoformer", "bigbird_pegasus", "convbert",  "gemma3n_text", "informer", "led", "longformer",
    "mra",        "nystromformer",   "pegasus_x", "reformer",     "yoso",
};

constexpr Family kFamilies[] = {
    {kBertTypes, CausalRule::IfDecoder},
    {kEncoderTypes, CausalRule::Never},
    {kTextTypes, CausalRule::InText},
    {kEncoderDecoderTypes, CausalRule::InDecoder},
    {kDecoderTypes, CausalRule::Always},
    {kGpt2Types, CausalRule::Always, ScaleRule::Gpt2, PositionRule::Other, true},
    {kGpt1Types, CausalRule::Always, ScaleRule::Usual, PositionRule::Other, true},
    {kGptBigCodeTypes, CausalRule::Always, ScaleRule::Gpt2},
    {kGptNeoTypes, CausalRule::Always, ScaleRule::One},
    {kT5Types, CausalRule::InDecoder, ScaleRule::One, PositionRule::Buckets},
    {kOtherT5Types, CausalRule::InDecoder, ScaleRule::One, PositionRule::Other, false, &unsupported::kRelativeBias},
    {kRelativeTypes, CausalRule::Never, ScaleRule::Usual, PositionRule::Other, false, &unsupported::kRelativeBias},
    {kRotaryHalfTypes, CausalRule::Always, ScaleRule::Usual, PositionRule::RotaryHalf},
    {kRotaryInTurnTypes, CausalRule::Always, ScaleRule::Usual, PositionRule::RotaryInTurn},
    {kRotaryTypes, CausalRule::Always, ScaleRule::Usual, PositionRule::Rotary},
    {kFalconTypes, CausalRule::Always, ScaleRule::Usual, PositionRule::FalconsChoice},
    {kModernBertTypes, CausalRule::Never, ScaleRule::Usual, PositionRule::RotaryHalf},
    {kRotaryEncoderTypes, CausalRule::Never, ScaleRule::Usual, PositionRule::Rotary},
    {kRoFormerTypes, CausalRule::Never, ScaleRule::Usual, PositionRule::RotaryInTurn},
    {kAxesTypes, CausalRule::Never, ScaleRule::Usual, PositionRule::Other, false, &unsupported::kAxes},
    {kGptOssTypes, CausalRule::Always, ScaleRule::Usual, PositionRule::RotaryHalf},
    {kAlibiTypes, CausalRule::Always, ScaleRule::Usual, PositionRule::Alibi},
    {kOtherTypes, CausalRule::InDecoder, ScaleRule::Usual, PositionRule::Other, false, &unsupported::kAttention},
};

// The norm of queries and keys in families whose files have its weights.
constexpr struct {
  std::string_view model_type;
  NormRule rule;
} kQkNorms[] = {
    {"cohere", NormRule::Layer}, {"exaone4", NormRule::Rms},   {"gemma3_text", NormRule::RmsPlusOne},
    {"qwen3", NormRule::Rms},    {"qwen3_moe", NormRule::Rms},
};

// The defaults of the configuration classes of Hugging Face transformers.
constexpr FamilyDefaults kFamilyDefaults[] = {
    {.model_type = "cohere2", .window = 4096, .window_pattern = 4},
    {.model_type = "exaone4", .window = 4096, .window_pattern = 4, .norm_epsilon = 1e-5},
    {.model_type = "gemma2",
     .window = 4096,
     .window_pattern = 2,
     .soft_cap = 50,
     .output_soft_cap = 30,
     .query_scalar = 256,
     .ignores_use_sliding_window = true,
     .ignores_max_window_layers = true},
    {.model_type = "gemma3_text",
     .window = 4096,
     .window_pattern = 6,
     .query_scalar = 256,
     .ignores_use_sliding_window = true,
     .ignores_max_window_layers = true},
    {.model_type = "gpt_oss", .window = 128, .window_pattern = 2},
    {.model_type = "granite", .scale = 1},
    {.model_type = "ministral", .window = 4096},
    {.model_type = "mistral", .window = 4096, .ignores_use_sliding_window = true, .ignores_max_window_layers = true},
    {.model_type = "modernbert", .window = 128, .global_layers = 3},
    {.model_type = "olmo3", .window = 4096, .window_pattern = 4},
    {.model_type = "phi3", .ignores_use_sliding_window = true, .ignores_max_window_layers = true},
    {.model_type = "qwen2", .window = 4096, .max_window_layers = 28, .needs_use_sliding_window = true},
    {.model_type = "qwen2_moe", .window = 4096, .max_window_layers = 28, .needs_use_sliding_window = true},
    {.model_type = "qwen3", .window = 4096, .max_window_layers = 28, .needs_use_sliding_window = true},
    {.model_type = "qwen3_moe", .window = 4096, .needs_use_sliding_window = true, .ignores_max_window_layers = true},
    {.model_type = "smollm3", .needs_use_sliding_window = true},
    {.model_type = "vaultgemma", .window = 4096, .window_pattern = 2, .soft_cap = 50, .query_scalar = 256},
};

}  // namespace

const Family* family_of(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (std::find(family.model_types.begin(), family.model_types.end(), model_type) != family.model_types.end())
      return &family;
  }
  return nullptr;
}

NormRule norm_rule_of(std::string_view model_type) {
  for (const auto& [type, rule] : kQkNorms) {
    if (type == model_type) return rule;
  }
  return NormRule::Unknown;
}

const FamilyDefaults& defaults_of_family(std::string_view model_type) {
  static constexpr FamilyDefaults kNone;
  for (const FamilyDefaults& defaults : kFamilyDefaults) {
    if (defaults.model_type == model_type) return defaults;
  }
  return kNone;
}

}  // namespace heed
