// SPDX-License-Identifier: Apache-2.0
#include "layers/model_family.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>

#include "base/shown_text.h"
#include "layers/load_accept.h"
#include "layers/weight_layout.h"

namespace heed {
namespace {

constexpr UnsupportedFeature kRotary = {feature::kRotary, "rotary positions"};
constexpr UnsupportedFeature kAlibi = {feature::kAlibi, "ALiBi"};
constexpr UnsupportedFeature kRelativeBias = {feature::kRelativeBias, "a bias of relative positions"};
constexpr UnsupportedFeature kSinks = {feature::kSinks, "sinks"};
constexpr UnsupportedFeature kQkNorm = {feature::kQkNorm, "norms of queries and keys"};
constexpr UnsupportedFeature kClipQkv = {feature::kClipQkv, "clipped queries, keys and values"};
constexpr UnsupportedFeature kAttention = {feature::kAttention, "scores or visible keys of another kind"};

// When a family's self-attention is causal. Cross attention is never causal.
enum class CausalRule {
  Never,
  Always,
  InDecoder,  // if the prefix has a module "decoder"
  InText,     // if the prefix has a module "text_model"
  IfDecoder,  // if the configuration sets is_decoder, or XLM's `causal`
};

enum class ScaleRule {
  Usual,  // 1 / sqrt(head size), unless the configuration has another setting
  One,
  Gpt2,  // depends on scale_attn_weights and scale_attn_by_inverse_layer_idx
};

struct Family {
  std::span<const char* const> model_types;
  CausalRule causal = CausalRule::Never;
  ScaleRule scale = ScaleRule::Usual;
  // What every attention of the family computes that heed has no option for. Null if only the configuration says it.
  const UnsupportedFeature* unsupported = nullptr;
  // The modules that are linear in other families are Conv1D here, with weights (in, out).
  bool has_conv1d = false;
};

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
constexpr const char* kT5Types[] = {"longt5", "mt5", "pop2piano", "switch_transformers", "t5", "udop", "umt5"};
constexpr const char* kRelativeTypes[] = {"donut-swin", "maskformer-swin", "mpnet", "nezha", "swin", "swinv2", "wavlm"};
constexpr const char* kRotaryDecoderTypes[] = {
    "apertus",
    "arcee",
    "bamba",
    "bitnet",
    "codegen",
    "cohere",
    "cohere2",
    "deepseek_v2",
    "deepseek_v3",
    "diffllama",
    "dots1",
    "ernie4_5",
    "exaone4",
    "falcon",
    "falcon_h1",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gemma3n_text",
    "glm",
    "glm4",
    "glm4_moe",
    "gpt_neox",
    "gpt_neox_japanese",
    "gptj",
    "granite",
    "granitemoe",
    "helium",
    "hunyuan_v1_dense",
    "lfm2",
    "llama",
    "llama4_text",
    "ministral",
    "mistral",
    "mixtral",
    "mllama_text_model",
    "nemotron",
    "olmo",
    "olmo2",
    "olmo3",
    "olmoe",
    "persimmon",
    "phi",
    "phi3",
    "phimoe",
    "qwen2",
    "qwen2_5_vl",
    "qwen2_5_vl_text",
    "qwen2_moe",
    "qwen2_vl",
    "qwen2_vl_text",
    "qwen3",
    "qwen3_moe",
    "qwen3_next",
    "qwen3_vl_text",
    "recurrent_gemma",
    "seed_oss",
    "smollm3",
    "stablelm",
    "starcoder2",
    "vaultgemma",
    "zamba2",
};
constexpr const char* kRotaryEncoderTypes[] = {"dinov3_vit", "eurobert", "modernbert",
                                               "nomic_bert", "pixtral",  "roformer"};
constexpr const char* kSinksTypes[] = {"gpt_oss"};
constexpr const char* kAlibiTypes[] = {"bloom"};
constexpr const char* kMptTypes[] = {"mpt"};
// These select the visible keys by their values or in blocks, or correlate queries and keys instead of multiplying
// them.
constexpr const char* kOtherTypes[] = {
    "autoformer", "bigbird_pegasus", "convbert",  "informer", "led",  "longformer",
    "mra",        "nystromformer",   "pegasus_x", "reformer", "yoso",
};

constexpr Family kFamilies[] = {
    {kBertTypes, CausalRule::IfDecoder},
    {kEncoderTypes, CausalRule::Never},
    {kTextTypes, CausalRule::InText},
    {kEncoderDecoderTypes, CausalRule::InDecoder},
    {kDecoderTypes, CausalRule::Always},
    {kGpt2Types, CausalRule::Always, ScaleRule::Gpt2, nullptr, true},
    {kGpt1Types, CausalRule::Always, ScaleRule::Usual, nullptr, true},
    {kGptBigCodeTypes, CausalRule::Always, ScaleRule::Gpt2},
    {kGptNeoTypes, CausalRule::Always, ScaleRule::One},
    {kT5Types, CausalRule::InDecoder, ScaleRule::One, &kRelativeBias},
    {kRelativeTypes, CausalRule::Never, ScaleRule::Usual, &kRelativeBias},
    {kRotaryDecoderTypes, CausalRule::Always, ScaleRule::Usual, &kRotary},
    {kRotaryEncoderTypes, CausalRule::Never, ScaleRule::Usual, &kRotary},
    {kSinksTypes, CausalRule::Always, ScaleRule::Usual, &kSinks},
    {kAlibiTypes, CausalRule::Always, ScaleRule::Usual, &kAlibi},
    {kMptTypes, CausalRule::Always},
    {kOtherTypes, CausalRule::InDecoder, ScaleRule::Usual, &kAttention},
};

const Family* family_of(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (std::find(family.model_types.begin(), family.model_types.end(), model_type) != family.model_types.end())
      return &family;
  }
  return nullptr;
}

// Modules of cross attention, whose keys and values come from another sequence.
constexpr const char* kCrossNames[] = {"encoder_attn", "crossattention",  "EncDecAttention",
                                       "cross_attn",   "cross_attention", "encoder_attention"};

enum class Side { Unknown, Encoder, Decoder };

// The modules in the prefix of an attention.
class ModulePath {
 public:
  explicit ModulePath(std::string_view prefix) {
    while (!prefix.empty()) {
      const size_t end = std::min(prefix.find_first_of("./"), prefix.size());
      parts_.push_back(prefix.substr(0, end));
      prefix.remove_prefix(std::min(end + 1, prefix.size()));
    }
  }

  const std::vector<std::string_view>& parts() const { return parts_; }
  bool has(std::string_view part) const { return std::find(parts_.begin(), parts_.end(), part) != parts_.end(); }

  // Whether the path ends in these modules; "#" matches a number.
  bool ends_with(std::initializer_list<std::string_view> ending) const {
    if (ending.size() > parts_.size()) return false;
    return std::equal(ending.begin(), ending.end(), parts_.end() - static_cast<std::ptrdiff_t>(ending.size()),
                      [](std::string_view wanted, std::string_view part) {
                        return wanted == "#" ? is_number(part) : wanted == part;
                      });
  }

  bool is_cross() const {
    return std::any_of(std::begin(kCrossNames), std::end(kCrossNames), [&](const char* name) { return has(name); });
  }

  // Whether the path is in a vision model, which may have the same model_type as the whole model.
  bool is_of_vision() const {
    return std::any_of(parts_.begin(), parts_.end(), [](std::string_view part) {
      return part.starts_with("vision") || part.starts_with("visual") || part.starts_with("image");
    });
  }

  // The innermost "decoder" or "encoder", since one model may contain the decoder of another.
  Side side() const {
    for (size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i] == "decoder") return Side::Decoder;
      if (parts_[i] == "encoder") return Side::Encoder;
    }
    return Side::Unknown;
  }

  // The index of the layer: the first number in the path.
  std::optional<int64_t> layer() const {
    for (const std::string_view part : parts_) {
      if (is_number(part)) return std::stoll(std::string(part));
    }
    return std::nullopt;
  }

 private:
  static bool is_number(std::string_view part) {
    constexpr size_t kMostDigits = 9;
    return !part.empty() && part.size() <= kMostDigits &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  std::vector<std::string_view> parts_;
};

// Whether `part` of a prefix names the module of the sub-configuration `model`, such as "text_config".
bool is_module_of(std::string_view part, std::string_view model) {
  constexpr struct {
    const char* configuration;
    const char* beginning;
  } kWords[] = {
      {"text", "text"},    {"text", "language"}, {"text", "llm"},     {"vision", "vision"}, {"vision", "visual"},
      {"vision", "image"}, {"audio", "audio"},   {"audio", "speech"}, {"llm", "language"},  {"language", "language"},
  };
  std::string_view stem = model.substr(model.rfind('.') + 1);
  constexpr std::string_view kEnding = "_config";
  if (stem.ends_with(kEnding)) stem.remove_suffix(kEnding.size());
  if (part == stem) return true;
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](const auto& word) { return stem == word.configuration && part.starts_with(word.beginning); });
}

// The model_type of the model at this path of a configuration.
std::string_view type_of(const ModelConfig& config, const std::string& model) {
  return config.text(model.empty() ? "model_type" : model + ".model_type").value_or("");
}

// The configured models that may contain the attention, as paths in the configuration.
std::vector<std::string> models_of(const ModelConfig& config, const ModulePath& path) {
  const std::vector<std::string>& all = config.models();
  for (const std::string_view part : path.parts()) {
    for (const std::string& model : all) {
      if (!model.empty() && is_module_of(part, model)) return {model};
    }
  }
  // If the family of the whole model is known, it takes precedence over its sub-models. Otherwise the attention may
  // belong to any sub-model of a known family.
  const auto is_known = [&](const std::string& model) { return family_of(type_of(config, model)) != nullptr; };
  if (all.size() < 2 || is_known(all.front())) return {all.begin(), all.begin() + (all.empty() ? 0 : 1)};
  std::vector<std::string> known;
  std::copy_if(all.begin(), all.end(), std::back_inserter(known), is_known);
  return known.empty() ? all : known;
}

// Reads the settings of one model in a configuration.
class Settings {
 public:
  Settings(const ModelConfig& config, std::string model) : config_(config), model_(std::move(model)) {}

  bool is_whole_model() const { return model_.empty(); }

  std::optional<double> number(std::string_view name) const { return config_.number(path_of(name)); }
  bool is_set(std::string_view name) const { return config_.flag(path_of(name)).value_or(false); }
  bool is_cleared(std::string_view name) const { return !config_.flag(path_of(name)).value_or(true); }
  bool is_object(std::string_view name) const { return config_.is_object(path_of(name)); }
  std::string_view text(std::string_view name) const { return config_.text(path_of(name)).value_or(""); }
  std::string_view text(const char* list, int64_t index) const { return text(list + ("." + std::to_string(index))); }

  // The first of these settings that is a positive integer.
  std::optional<int64_t> count(std::initializer_list<const char*> names) const {
    constexpr double kMost = 1 << 30;
    for (const char* name : names) {
      const std::optional<double> value = number(name);
      if (value && *value > 0 && *value < kMost && *value == std::floor(*value)) return static_cast<int64_t>(*value);
    }
    return std::nullopt;
  }

 private:
  std::string path_of(std::string_view name) const {
    return model_.empty() ? std::string(name) : model_ + "." + std::string(name);
  }

  const ModelConfig& config_;
  std::string model_;
};

void add_unsupported(ModelAttention& attention, const UnsupportedFeature& unsupported) {
  for (const UnsupportedFeature& known : attention.unsupported) {
    if (known.feature == unsupported.feature) return;
  }
  attention.unsupported.push_back(unsupported);
}

// Derives one attention from the configuration of its model.
class Configured {
 public:
  Configured(const ModelConfig& config, const std::string& model, const ModulePath& path, int64_t head_size)
      : settings_(config, model),
        path_(path),
        model_type_(settings_.text("model_type")),
        family_(family_of(model_type_)),
        is_vision_tower_(family_ != nullptr && family_->causal == CausalRule::Always && path.is_of_vision()),
        usual_scale_(1 / std::sqrt(static_cast<double>(head_size))) {}

  const Family* family() const { return family_; }

  ModelAttention read() {
    attention_.source = "model_type \"" + shown(model_type_) + "\" in config.json";
    // The settings of the whole model describe its text decoder, not its vision tower.
    if (!is_vision_tower_ || !settings_.is_whole_model()) read_heads();
    read_unsupported();
    read_causal();
    read_scale();
    read_soft_cap();
    read_window();
    return std::move(attention_);
  }

 private:
  void read_heads() {
    const Side side = path_.side();
    if (side == Side::Encoder) attention_.num_heads = settings_.count({"encoder_attention_heads"});
    if (side == Side::Decoder) attention_.num_heads = settings_.count({"decoder_attention_heads"});
    if (!attention_.num_heads)
      attention_.num_heads =
          settings_.count({"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"});
    attention_.num_kv_heads = settings_.count({"num_key_value_heads"});
    attention_.head_size = settings_.count({"head_dim", "d_kv"});
  }

  bool has_rotary_settings() const {
    const std::string_view positions = settings_.text("position_embedding_type");
    if (positions == "rotary" || positions == "rope") return true;
    for (const char* name : {"rope_parameters", "rope_scaling"}) {
      if (settings_.is_object(name)) return true;
    }
    for (const char* name : {"rope_theta", "rotary_dim", "rotary_pct", "rotary_emb_base", "partial_rotary_factor"}) {
      if (settings_.number(name)) return true;
    }
    return false;
  }

  bool has_relative_settings() const {
    if (settings_.text("position_embedding_type").starts_with("relative") ||
        settings_.number("relative_attention_num_buckets"))
      return true;
    // SpeechT5 sets it for the encoder.
    if (settings_.number("encoder_max_relative_position") && path_.side() != Side::Decoder) return true;
    for (const char* name : {"use_relative_position_bias", "use_shared_relative_position_bias",
                             "has_relative_attention_bias", "has_spatial_attention_bias", "relative_attention"}) {
      if (settings_.is_set(name)) return true;
    }
    return false;
  }

  void read_unsupported() {
    const bool has_alibi = settings_.is_set("alibi") || settings_.is_set("attn_config.alibi") ||
                           settings_.text("position_embedding_type") == "alibi";
    const bool is_rotary = has_rotary_settings() || (family_ != nullptr && family_->unsupported == &kRotary);
    // Position features apply within one sequence, so not to cross attention.
    if (!path_.is_cross()) {
      if (has_alibi) {
        add_unsupported(attention_, kAlibi);
      } else if (is_rotary && settings_.text("position_embedding_type") != "nope") {
        add_unsupported(attention_, kRotary);
      }
      if (has_relative_settings()) add_unsupported(attention_, kRelativeBias);
      if (family_ != nullptr && family_->unsupported != nullptr && family_->unsupported != &kRotary)
        add_unsupported(attention_, *family_->unsupported);
    }
    for (const char* name : {"use_qk_norm", "qk_layernorm", "attn_config.qk_ln"}) {
      if (settings_.is_set(name)) add_unsupported(attention_, kQkNorm);
    }
    for (const char* name : {"clip_qkv", "attn_config.clip_qkv"}) {
      if (settings_.number(name)) add_unsupported(attention_, kClipQkv);
    }
    const std::string_view kind = settings_.text("attention_type");
    if (kind == "block_sparse") add_unsupported(attention_, kAttention);
    if (path_.layer()) {
      const std::string_view type = settings_.text("layer_types", *path_.layer());
      if (!type.empty() && type != "full_attention" && type != "sliding_attention" && type != "attention")
        add_unsupported(attention_, kAttention);
    }
    // Qwen2.5-VL: the other layers of the vision tower attend within windows of patches.
    if (is_vision_tower_ && model_type_ == "qwen2_5_vl" && !is_full_in_qwen()) add_unsupported(attention_, kAttention);
  }

  bool is_full_in_qwen() const {
    for (int64_t i = 0; path_.layer(); ++i) {
      const std::optional<double> full = settings_.number("fullatt_block_indexes." + std::to_string(i));
      if (!full) break;
      if (*full == static_cast<double>(*path_.layer())) return true;
    }
    return false;
  }

  void read_causal() {
    if (path_.is_cross() || is_vision_tower_ || settings_.is_set("use_bidirectional_attention")) {
      attention_.causal = false;
      return;
    }
    if (family_ == nullptr) {
      // Few families have the setting, and it means the same in all of them.
      if (is_decoder()) attention_.causal = true;
    } else {
      switch (family_->causal) {
        case CausalRule::Never: attention_.causal = false; break;
        case CausalRule::Always: attention_.causal = true; break;
        case CausalRule::InText: read_causal_of_text(); break;
        case CausalRule::IfDecoder: attention_.causal = is_decoder(); break;
        case CausalRule::InDecoder: read_causal_of_side(); break;
      }
    }
    if (!attention_.causal) attention_.unknown.push_back(feature::kCausal);
  }

  bool is_decoder() const { return settings_.is_set("is_decoder") || settings_.is_set("causal"); }

  void read_causal_of_text() {
    if (path_.has("text_model")) attention_.causal = true;
    if (path_.has("vision_model")) attention_.causal = false;
  }

  void read_causal_of_side() {
    if (path_.side() == Side::Decoder) attention_.causal = true;
    if (path_.side() == Side::Encoder) attention_.causal = false;
  }

  void read_scale() {
    if (const auto multiplier = settings_.number("attention_multiplier")) {
      attention_.scale = *multiplier;
    } else if (const auto scalar = settings_.number("query_pre_attn_scalar"); scalar && *scalar > 0) {
      attention_.scale = 1 / std::sqrt(*scalar);
    } else if (const auto scale = settings_.number("attn_config.softmax_scale")) {
      attention_.scale = *scale;
    } else if (family_ == nullptr) {
      attention_.unknown.push_back(feature::kScale);
    } else if (family_->scale == ScaleRule::One) {
      attention_.scale = 1;
    } else {
      attention_.scale = usual_scale_;
      if (family_->scale == ScaleRule::Gpt2) read_scale_of_gpt2();
    }
  }

  void read_scale_of_gpt2() {
    if (settings_.is_cleared("scale_attn_weights")) attention_.scale = 1;
    if (!settings_.is_set("scale_attn_by_inverse_layer_idx")) return;
    if (path_.layer()) {
      *attention_.scale /= static_cast<double>(*path_.layer() + 1);
    } else {
      attention_.scale.reset();
      attention_.unknown.push_back(feature::kScale);
    }
  }

  void read_soft_cap() {
    if (const auto cap = settings_.number("attn_logit_softcapping")) {
      attention_.soft_cap = *cap;
    } else if (family_ != nullptr) {
      attention_.soft_cap = 0;
    }
  }

  // Whether this layer has a window; empty if that depends on the layer's index and the prefix contains no index.
  std::optional<bool> is_windowed() const {
    const std::optional<int64_t> layer = path_.layer();
    const bool has_types = !settings_.text("layer_types.0").empty();
    const std::optional<int64_t> pattern = settings_.count({"sliding_window_pattern", "_sliding_window_pattern"});
    const std::optional<double> first = settings_.number("max_window_layers");
    const bool alternates = model_type_ == "gemma2";
    if (!has_types && !pattern && !first && !alternates) return true;
    if (!layer) return std::nullopt;
    if (has_types) return settings_.text("layer_types", *layer) == "sliding_attention";
    if (alternates) return *layer % 2 == 0;
    if (pattern) return (*layer + 1) % *pattern != 0;
    return static_cast<double>(*layer) >= *first;
  }

  void read_window() {
    if (family_ != nullptr) attention_.window = ModelWindow();
    if (path_.is_cross() || is_vision_tower_) return;
    std::optional<bool> windowed = false;
    std::optional<int64_t> size = settings_.count({"sliding_window"});
    if (size && !settings_.is_cleared("use_sliding_window")) windowed = is_windowed();
    if (model_type_ == "gpt_neo") {
      size = settings_.count({"window_size"}).value_or(256);
      windowed = is_local_in_gpt_neo();
    }
    if (!windowed) {
      attention_.window.reset();
      attention_.unknown.push_back(feature::kWindow);
    } else if (*windowed) {
      // The configured size counts the query's own token. Bidirectional Gemma 3 has half of the window on each side.
      const bool is_halved = model_type_.starts_with("gemma3") && settings_.is_set("use_bidirectional_attention");
      const int64_t side = is_halved ? *size / 2 : *size - 1;
      attention_.window = ModelWindow{side, attention_.causal.value_or(true) ? -1 : side};
    }
  }

  // attention_layers lists the kind of each layer; attention_types lists the kinds that repeat.
  std::optional<bool> is_local_in_gpt_neo() const {
    const std::optional<int64_t> layer = path_.layer();
    if (!layer) return std::nullopt;
    std::string_view kind = settings_.text("attention_layers", *layer);
    if (kind.empty()) {
      int64_t num_kinds = 0;
      while (!settings_.text("attention_types.0.0", num_kinds).empty()) ++num_kinds;
      if (num_kinds == 0) return std::nullopt;
      kind = settings_.text("attention_types.0.0", *layer % num_kinds);
    }
    return kind == "local";
  }

  Settings settings_;
  const ModulePath& path_;
  std::string_view model_type_;
  const Family* family_;
  // The vision tower of a model whose own settings describe a decoder.
  bool is_vision_tower_;
  double usual_scale_;
  ModelAttention attention_;
};

bool has_sibling(const SafetensorsFile& file, std::string_view prefix, std::string_view sibling) {
  const std::string module = std::string(prefix.substr(0, prefix.rfind('.') + 1)) + std::string(sibling) + ".";
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    if (file.name(i).starts_with(module)) return true;
  }
  return false;
}

// What the tensors' names tell without a configuration. `source` is "" if they tell nothing.
ModelAttention named_attention(const SafetensorsFile& file, std::string_view prefix, std::string_view title) {
  const ModulePath path(prefix);
  ModelAttention attention;
  const auto is_of = [&](const char* whose) { attention.source = "the names of " + std::string(whose); };
  if (title == layout_title::kLlama) {
    is_of("Hugging Face Llama and its kin");
    attention.unknown = {feature::kScale, feature::kSoftCap, feature::kWindow};
    if (!path.is_cross()) add_unsupported(attention, kRotary);
    // Encoders and vision models use the same names and may be bidirectional.
    if (path.is_cross()) {
      attention.causal = false;
    } else if (path.side() == Side::Encoder || path.is_of_vision()) {
      attention.unknown.insert(attention.unknown.begin(), feature::kCausal);
    } else {
      attention.causal = true;
    }
  } else if (title == layout_title::kViT && path.ends_with({"layer", "#", "attention"}) &&
             file.contains(std::string(prefix) + ".o_proj.weight")) {
    is_of("Hugging Face DINOv3");
    add_unsupported(attention, kRotary);
  } else if (title == layout_title::kBart) {
    is_of("Hugging Face BART, OPT, GPT-Neo and others");
    if (path.ends_with({"h", "#", "attn"})) {
      is_of("Hugging Face GPT-J");
      attention.causal = true;
      add_unsupported(attention, kRotary);
    } else if (path.is_cross()) {
      attention.causal = false;
      attention.unknown = {feature::kScale};
    } else {
      attention.unknown = {feature::kCausal, feature::kScale, feature::kWindow};
    }
  } else if (title == layout_title::kT5) {
    is_of(layout_title::kT5);
    if (path.ends_with({"attn"})) {
      attention.unknown = {feature::kCausal, feature::kScale};
    } else {
      attention.scale = 1;
      const bool is_self = path.has("SelfAttention");
      if (is_self) add_unsupported(attention, kRelativeBias);
      if (path.is_cross() || (is_self && path.side() == Side::Encoder)) attention.causal = false;
      if (is_self && path.side() == Side::Decoder) attention.causal = true;
      if (!attention.causal) attention.unknown = {feature::kCausal};
    }
  } else if (title == layout_title::kDistilBert && path.has("attentions")) {
    is_of("Hugging Face XLM and FlauBERT");
    attention.unknown = {feature::kCausal};
  } else if (title == layout_title::kGpt2) {
    is_of(layout_title::kGpt2);
    attention.causal = !path.is_cross();
  } else if (title == layout_title::kBert || title == layout_title::kAlbert) {
    if (path.has("roformer")) {
      is_of("Hugging Face RoFormer");
      add_unsupported(attention, kRotary);
    } else if (title == layout_title::kBert || path.ends_with({"self"})) {
      is_of(layout_title::kBert);
      const std::string_view module = path.ends_with({"self"}) ? prefix.substr(0, prefix.rfind('.')) : prefix;
      if (path.is_cross()) {
        attention.causal = false;
      } else if (has_sibling(file, module, "crossattention")) {
        attention.causal = true;
      } else {
        attention.unknown = {feature::kCausal};
      }
    }
  }
  return attention;
}

}  // namespace

std::vector<ModelAttention> configured_attentions(std::string_view prefix, const std::optional<ModelConfig>& config,
                                                  int64_t head_size) {
  std::vector<ModelAttention> attentions;
  if (!config) return attentions;
  const ModulePath path(prefix);
  const std::vector<std::string> models = models_of(*config, path);
  for (const std::string& model : models) {
    attentions.push_back(Configured(*config, model, path, head_size).read());
    attentions.back().is_one_of_several = models.size() > 1;
  }
  return attentions;
}

std::vector<ModelAttention> model_attentions(const SafetensorsFile& file, std::string_view prefix,
                                             std::string_view title, const std::optional<ModelConfig>& config,
                                             int64_t head_size) {
  std::vector<ModelAttention> attentions = configured_attentions(prefix, config, head_size);
  const ModulePath path(prefix);
  const std::vector<std::string> models = config ? models_of(*config, path) : std::vector<std::string>();
  const bool is_known = !models.empty() && std::all_of(models.begin(), models.end(), [&](const std::string& model) {
    return family_of(type_of(*config, model)) != nullptr;
  });
  // A known family says more than the tensors' names.
  if (is_known) return attentions;
  ModelAttention named = named_attention(file, prefix, title);
  if (!named.source.empty()) attentions.push_back(std::move(named));
  return attentions;
}

bool is_named_conv1d(std::string_view prefix) {
  const ModulePath path(prefix);
  return path.ends_with({"c_attn"}) || path.ends_with({"c_proj"}) || path.ends_with({"c_fc"}) ||
         path.ends_with({"q_attn"});
}

bool has_linear_modules(std::string_view prefix, const std::optional<ModelConfig>& config) {
  if (!config) return false;
  const std::vector<std::string> models = models_of(*config, ModulePath(prefix));
  return !models.empty() && std::all_of(models.begin(), models.end(), [&](const std::string& model) {
    const Family* family = family_of(type_of(*config, model));
    return family != nullptr && !family->has_conv1d;
  });
}

}  // namespace heed
