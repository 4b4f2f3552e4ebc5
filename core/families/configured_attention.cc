// SPDX-License-Identifier: Apache-2.0
#include "families/configured_attention.h"

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/shown_text.h"
#include "families/family_table.h"
#include "families/load_accept.h"
#include "families/model_rope.h"
#include "families/model_settings.h"

namespace heed {
namespace {

class Configured {
 public:
  Configured(const ModelConfig& config, const std::string& model, const ModulePath& path, int64_t head_size)
      : settings_(config, model),
        path_(path),
        model_type_(settings_.text("model_type")),
        family_(family_of(model_type_)),
        defaults_(defaults_of_family(model_type_)),
        is_vision_tower_(family_ != nullptr && family_->causal == CausalRule::Always && path.is_of_vision()),
        head_size_(head_size),
        usual_scale_(1 / std::sqrt(static_cast<double>(head_size))) {}

  const Family* family() const { return family_; }

  ModelAttention read() {
    attention_.source = "model_type \"" + shown(model_type_) + "\" in config.json";
    // The settings of the whole model describe its text decoder, not its vision tower.
    if (!is_vision_tower_ || !settings_.is_whole_model()) read_heads();
    read_positions();
    read_norm();
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
    attention_.num_kv_heads = model_type_ == "falcon" ? kv_heads_of_falcon() : settings_.count({"num_key_value_heads"});
    attention_.head_size = settings_.count({"head_dim", "d_kv"});
  }

  // Without the new decoder's packing num_kv_heads is not read.
  std::optional<int64_t> kv_heads_of_falcon() const {
    if (settings_.is_set("new_decoder_architecture"))
      return settings_.count({"num_kv_heads", "n_head_kv", "num_attention_heads", "n_head"});
    if (!settings_.is_cleared("multi_query")) return 1;
    return settings_.count({"num_attention_heads", "n_head"});
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

  PositionRule rule() const { return family_ == nullptr ? PositionRule::Other : family_->positions; }

  // ALiBi, rotary positions, a bias of relative positions: at most one of them. They are positions within one sequence,
  // so cross attention has none.
  void read_positions() {
    if (family_ != nullptr && family_->unsupported == nullptr) {
      attention_.is_rotary = false;
      attention_.alibi = AlibiUse::None;
      attention_.relative_bias.emplace();
      attention_.sinks = model_type_ == "gpt_oss" && !path_.is_cross();
    }
    if (path_.is_cross()) return;
    if (rule() == PositionRule::Buckets) return read_buckets();
    if (has_relative_settings()) attention_.add(unsupported::kRelativeBias);
    if (rule() == PositionRule::FalconsChoice && settings_.is_set("alibi")) {
      attention_.alibi = AlibiUse::Scaled;
    } else if (rule() == PositionRule::Alibi || settings_.is_set("alibi") || settings_.is_set("attn_config.alibi") ||
               settings_.text("position_embedding_type") == "alibi") {
      attention_.alibi = AlibiUse::Added;
    } else if (rule() != PositionRule::Other || has_rotary_settings()) {
      if (settings_.text("position_embedding_type") != "nope" && !is_layer_without_rotary()) read_rotary();
    }
  }

  // SmolLM 3 and Llama 4 list the layers with rotary positions; Cohere 2 has them in layers with a window only.
  bool is_layer_without_rotary() const {
    if (!path_.layer()) return false;
    const auto is_rotary = settings_.number("no_rope_layers." + std::to_string(*path_.layer()));
    if (is_rotary) return *is_rotary == 0;
    return (model_type_ == "cohere2" || model_type_ == "exaone4") && uses_windows() && is_windowed() == false;
  }

  void read_rotary() {
    // The settings describe the text decoder. Its vision tower has positions of patches.
    if (is_vision_tower_) {
      attention_.is_rotary.reset();
      return attention_.add(unsupported::kAxes);
    }
    attention_.is_rotary = true;
    RotaryLayout layout = RotaryLayout::None;
    if (rule() == PositionRule::RotaryHalf || rule() == PositionRule::FalconsChoice) layout = RotaryLayout::Half;
    if (rule() == PositionRule::RotaryInTurn) layout = RotaryLayout::Interleaved;
    RopeReading reading = read_rope(settings_, layout, is_windowed(), head_size_);
    if (reading.unsupported != nullptr) {
      attention_.is_rotary.reset();
      return attention_.add(*reading.unsupported);
    }
    if (!reading.rope || layout == RotaryLayout::None) attention_.unknown.push_back(feature::kRotary);
    attention_.rope = std::move(reading.rope);
  }

  void read_buckets() {
    RelativeBiasOptions& bias = *attention_.relative_bias;
    const Side side = path_.side();
    if (side == Side::Unknown) {
      attention_.relative_bias.reset();
      attention_.has_relative_bias_of_a_side = true;
      return attention_.unknown.push_back(feature::kRelativeBias);
    }
    bias.kind = side == Side::Decoder ? RelativeBias::OneWay : RelativeBias::BothWays;
    bias.num_buckets = settings_.count({"relative_attention_num_buckets"}).value_or(32);
    bias.max_distance = settings_.count({"relative_attention_max_distance"}).value_or(128);
  }

  void read_norm() {
    const NormRule rule = norm_rule_of(model_type_);
    if (rule != NormRule::Unknown && (rule != NormRule::Layer || settings_.is_set("use_qk_norm"))) {
      ModelQkNorm norm;
      norm.kind = rule == NormRule::Layer ? QkNorm::Layer : QkNorm::Rms;
      norm.adds_one = rule == NormRule::RmsPlusOne;
      norm.epsilon = rule == NormRule::Layer ? settings_.number("layer_norm_eps").value_or(1e-5)
                                             : settings_.number("rms_norm_eps").value_or(defaults_.norm_epsilon);
      attention_.qk_norm = norm;
      return;
    }
    for (const char* name : {"use_qk_norm", "qk_layernorm", "attn_config.qk_ln"}) {
      if (settings_.is_set(name)) attention_.add(unsupported::kQkNorm);
    }
    attention_.unknown.push_back(feature::kQkNorm);
  }

  void read_unsupported() {
    if (family_ != nullptr && family_->unsupported != nullptr && !path_.is_cross())
      attention_.add(*family_->unsupported);
    for (const char* name : {"clip_qkv", "attn_config.clip_qkv"}) {
      if (settings_.number(name)) attention_.add(unsupported::kClipQkv);
    }
    // RoFormer may rotate values, too.
    if (settings_.is_set("rotary_value")) attention_.add(unsupported::kAttention);
    const std::string_view kind = settings_.text("attention_type");
    if (kind == "block_sparse") attention_.add(unsupported::kAttention);
    if (path_.layer()) {
      const std::string_view type = settings_.text("layer_types", *path_.layer());
      if (!type.empty() && type != "full_attention" && type != "sliding_attention" && type != "attention")
        attention_.add(unsupported::kAttention);
    }
    // Qwen2.5-VL: the other layers of the vision tower attend within windows of patches.
    if (is_vision_tower_ && model_type_ == "qwen2_5_vl" && !is_full_in_qwen()) attention_.add(unsupported::kAttention);
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
    if (path_.is_cross() || is_vision_tower_ || is_bidirectional()) {
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

  bool is_bidirectional() const {
    return settings_.is_set("use_bidirectional_attention") || settings_.is_cleared("is_causal");
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
    } else if (defaults_.scale != 0) {
      attention_.scale = defaults_.scale;
    } else if (defaults_.query_scalar != 0) {
      attention_.scale = 1 / std::sqrt(defaults_.query_scalar);
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
      attention_.soft_cap = settings_.is_left_out("attn_logit_softcapping") ? defaults_.soft_cap : 0;
    }
  }

  // The size of the window of layers that have one. Null says that there is none.
  std::optional<int64_t> window_size() const {
    if (model_type_ == "gpt_neo") return settings_.count({"window_size"}).value_or(256);
    const char* const name = model_type_ == "modernbert" ? "local_attention" : "sliding_window";
    if (settings_.is_left_out(name) && defaults_.window != 0) return defaults_.window;
    return settings_.count({name});
  }

  bool uses_windows() const {
    if (defaults_.ignores_use_sliding_window) return window_size().has_value();
    const std::optional<bool> is_used = settings_.flag("use_sliding_window");
    return window_size() && is_used.value_or(!defaults_.needs_use_sliding_window);
  }

  // Whether this layer has a window, in a model that uses windows; empty if that depends on the layer's index and the
  // prefix contains no index.
  std::optional<bool> is_windowed() const {
    if (model_type_ == "gpt_neo") return is_local_in_gpt_neo();
    const std::optional<int64_t> layer = path_.layer();
    const bool has_types = !settings_.text("layer_types.0").empty();
    if (has_types && layer) return settings_.text("layer_types", *layer) == "sliding_attention";
    const auto or_default = [](std::optional<int64_t> stated, int64_t otherwise) {
      return stated || otherwise == 0 ? stated : otherwise;
    };
    const std::optional<int64_t> global =
        or_default(settings_.count({"global_attn_every_n_layers"}), defaults_.global_layers);
    const std::optional<int64_t> pattern =
        or_default(settings_.count({"sliding_window_pattern", "_sliding_window_pattern"}), defaults_.window_pattern);
    // EXAONE 4 may have a text in place of the number, such as "LLLG".
    const bool is_text = !settings_.text("sliding_window_pattern").empty();
    std::optional<double> first;
    if (!defaults_.ignores_max_window_layers) first = settings_.number("max_window_layers");
    if (!first && defaults_.max_window_layers != 0) first = static_cast<double>(defaults_.max_window_layers);
    if (!has_types && !global && !pattern && !is_text && !first) return true;
    if (!layer || is_text) return std::nullopt;
    if (global) return *layer % *global != 0;
    if (pattern) return (*layer + 1) % *pattern != 0;
    // Of the first layers of Qwen2's mixture of experts every other one.
    if (model_type_ == "qwen2_moe") return *layer % 2 == 0 && static_cast<double>(*layer) < *first;
    return static_cast<double>(*layer) >= *first;
  }

  void read_window() {
    if (family_ != nullptr) attention_.window = ModelWindow();
    if (path_.is_cross() || is_vision_tower_) return;
    const std::optional<bool> windowed = uses_windows() ? is_windowed() : false;
    if (!windowed) {
      attention_.window.reset();
      attention_.unknown.push_back(feature::kWindow);
    } else if (*windowed) {
      // In transformers such rows see one key more than causal ones, on each side. No golden values show it yet.
      const bool is_usually_causal = family_ == nullptr || family_->causal == CausalRule::Always;
      if (is_usually_causal && settings_.is_cleared("is_causal")) attention_.add(unsupported::kAttention);
      // The configured size counts the query's own token. Bidirectional Gemma 3 and ModernBERT have half of the window on
      // each side.
      const bool is_halved = model_type_ == "modernbert" ||
                             (model_type_.starts_with("gemma3") && settings_.is_set("use_bidirectional_attention"));
      const int64_t side = is_halved ? *window_size() / 2 : *window_size() - 1;
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

  ModelSettings settings_;
  const ModulePath& path_;
  std::string_view model_type_;
  const Family* family_;
  const FamilyDefaults& defaults_;
  // The vision tower of a model whose own settings describe a decoder.
  bool is_vision_tower_;
  int64_t head_size_;
  double usual_scale_;
  ModelAttention attention_;
};

}  // namespace

ModelAttention configured_attention(const ModelConfig& config, const std::string& model, const ModulePath& path,
                                    int64_t head_size) {
  return Configured(config, model, path, head_size).read();
}

}  // namespace heed
