// SPDX-License-Identifier: Apache-2.0
#include "families/model_block.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/decimal_text.h"
#include "base/shown_text.h"
#include "families/model_numbers.h"
#include "families/model_settings.h"

namespace heed {
namespace {

constexpr const char* kUnknownBlocks = "norms and activations that heed does not know";
constexpr const char* kActivation = "an activation that heed does not know";
constexpr const char* kExperts = "feed-forward networks of experts";

// The layers of a family of Hugging Face transformers, with the defaults of its configuration class.
struct BlockFamily {
  const char* model_type;
  NormKind norm;
  bool norm_first;
  const char* epsilon_setting;  // null: always the default
  double epsilon;
  const char* activation_setting;
  Activation activation;
  bool adds_one = false;
  bool output_norms = false;
  const char* unsupported = nullptr;
};

constexpr NormKind kLayerNorm = NormKind::Layer;
constexpr NormKind kRmsNorm = NormKind::Rms;
constexpr BlockFamily kBlockFamilies[] = {
    {"albert", kLayerNorm, false, "layer_norm_eps", 1e-12, "hidden_act", Activation::GeluTanh},
    {"bart", kLayerNorm, false, nullptr, 1e-5, "activation_function", Activation::Gelu},
    {"bert", kLayerNorm, false, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
    {"camembert", kLayerNorm, false, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
    {"clip_text_model", kLayerNorm, true, "layer_norm_eps", 1e-5, "hidden_act", Activation::GeluQuick},
    {"clip_vision_model", kLayerNorm, true, "layer_norm_eps", 1e-5, "hidden_act", Activation::GeluQuick},
    {"deit", kLayerNorm, true, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
    {"distilbert", kLayerNorm, false, nullptr, 1e-12, "activation", Activation::Gelu},
    {"electra", kLayerNorm, false, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
    {"gemma", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_act", Activation::GeluTanh, true},
    {"gemma2", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_activation", Activation::GeluTanh, true, true},
    {"gemma3_text", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_activation", Activation::GeluTanh, true, true},
    {"gpt2", kLayerNorm, true, "layer_norm_epsilon", 1e-5, "activation_function", Activation::GeluTanh},
    {"granite", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_act", Activation::Silu},
    {"llama", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_act", Activation::Silu},
    {"marian", kLayerNorm, false, nullptr, 1e-5, "activation_function", Activation::Gelu},
    {"mbart", kLayerNorm, true, nullptr, 1e-5, "activation_function", Activation::Gelu},
    {"mistral", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_act", Activation::Silu},
    {"mixtral", kRmsNorm, true, "rms_norm_eps", 1e-5, "hidden_act", Activation::Silu, false, false, kExperts},
    {"modernbert", kLayerNorm, true, "norm_eps", 1e-5, "hidden_activation", Activation::Gelu},
    {"mt5", kRmsNorm, true, "layer_norm_epsilon", 1e-6, "dense_act_fn", Activation::GeluTanh},
    {"opt", kLayerNorm, true, nullptr, 1e-5, "activation_function", Activation::Relu},
    {"phi3", kRmsNorm, true, "rms_norm_eps", 1e-5, "hidden_act", Activation::Silu},
    {"qwen2", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_act", Activation::Silu},
    {"qwen3", kRmsNorm, true, "rms_norm_eps", 1e-6, "hidden_act", Activation::Silu},
    {"roberta", kLayerNorm, false, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
    {"t5", kRmsNorm, true, "layer_norm_epsilon", 1e-6, "dense_act_fn", Activation::Relu},
    {"umt5", kRmsNorm, true, "layer_norm_epsilon", 1e-6, "dense_act_fn", Activation::GeluTanh},
    {"vit", kLayerNorm, true, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
    {"whisper", kLayerNorm, true, nullptr, 1e-5, "activation_function", Activation::Gelu},
    {"xlm-roberta", kLayerNorm, false, "layer_norm_eps", 1e-12, "hidden_act", Activation::Gelu},
};

// The names of activations in configurations.
constexpr struct {
  std::string_view name;
  Activation activation;
} kActivationNames[] = {
    {"gelu", Activation::Gelu},
    {"gelu_fast", Activation::GeluTanh},
    {"gelu_new", Activation::GeluTanh},
    {"gelu_python", Activation::Gelu},
    {"quick_gelu", Activation::GeluQuick},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"relu", Activation::Relu},
    {"silu", Activation::Silu},
    {"swish", Activation::Silu},
};

std::optional<Activation> activation_of(std::string_view name) {
  for (const auto& row : kActivationNames) {
    if (row.name == name) return row.activation;
  }
  return std::nullopt;
}

// The name of the activation in the configuration; "": the default. T5 has it in a text with more, as "gated-gelu", which
// stands for the approximation by tanh.
std::string_view activation_name(const ModelSettings& settings, const BlockFamily& family) {
  std::string_view name = settings.text(family.activation_setting);
  const bool is_of_t5 = family.activation_setting == std::string_view("dense_act_fn");
  // Gemma's first files have another setting, which later versions ignore.
  if (family.model_type == std::string_view("gemma") && !settings.text("hidden_activation").empty())
    name = settings.text("hidden_activation");
  if (!is_of_t5 || !name.empty()) return name;
  name = settings.text("feed_forward_proj");
  if (name == "gated-gelu") return "gelu_new";
  return name.starts_with("gated-") ? name.substr(6) : name;
}

const char* text_of(NormKind norm) { return norm == NormKind::Rms ? "HEED_NORM_RMS" : "HEED_NORM_LAYER"; }

const char* text_of(Activation activation) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: return "HEED_ACTIVATION_RELU";
    case Activation::Gelu: return "HEED_ACTIVATION_GELU";
    case Activation::GeluTanh: return "HEED_ACTIVATION_GELU_TANH";
    case Activation::GeluQuick: return "HEED_ACTIVATION_GELU_QUICK";
    case Activation::Silu: return "HEED_ACTIVATION_SILU";
  }
  return "none";
}

}  // namespace

ModelBlock configured_block(const ModelConfig& config, const std::string& model) {
  const ModelSettings settings(config, model);
  const std::string_view model_type = settings.text("model_type");
  ModelBlock block;
  block.source = "model_type \"" + shown(model_type) + "\" in config.json";
  const auto* const family = std::find_if(std::begin(kBlockFamilies), std::end(kBlockFamilies),
                                          [&](const BlockFamily& one) { return one.model_type == model_type; });
  if (family == std::end(kBlockFamilies)) {
    block.unsupported = kUnknownBlocks;
    return block;
  }
  block.is_known = true;
  block.unsupported = family->unsupported;
  block.layer.norm = family->norm;
  block.layer.norm_first = family->norm_first;
  if (model_type == "opt") block.layer.norm_first = !settings.is_cleared("do_layer_norm_before");
  block.layer.epsilon = family->epsilon;
  if (family->epsilon_setting != nullptr)
    block.layer.epsilon = settings.number(family->epsilon_setting).value_or(family->epsilon);
  block.adds_one = family->adds_one;
  const std::string_view name = activation_name(settings, *family);
  const std::optional<Activation> activation = name.empty() ? family->activation : activation_of(name);
  block.layer.activation = activation.value_or(Activation::None);
  if (block.unsupported == nullptr && !activation) block.unsupported = kActivation;
  block.layer.output_norms = family->output_norms;
  block.layer.residual_scale = settings.number("residual_multiplier").value_or(1);
  return block;
}

std::vector<std::string> differences(const LayerBlock& layer, const LayerBlock& model) {
  std::vector<std::string> found;
  if (model.norm != layer.norm)
    found.push_back(std::string("options->norm->kind is ") + text_of(layer.norm) + ", expected " + text_of(model.norm));
  if (!is_close(layer.epsilon, model.epsilon)) {
    // A float has seven digits.
    found.push_back("options->norm->epsilon is " + std::string(DecimalText(layer.epsilon, 7).c_str()) + ", expected " +
                    number_text(model.epsilon));
  }
  if (model.norm_first != layer.norm_first) {
    found.push_back(std::string("options->norm_first is ") + (layer.norm_first ? "1" : "0") + ", expected " +
                    (model.norm_first ? "1" : "0"));
  }
  if (model.output_norms != layer.output_norms) {
    found.push_back(std::string("options->output_norms is ") + (layer.output_norms ? "1" : "0") + ", expected " +
                    (model.output_norms ? "1" : "0"));
  }
  if (!is_close(layer.residual_scale, model.residual_scale)) {
    found.push_back("options->residual_scale is " + std::string(DecimalText(layer.residual_scale, 7).c_str()) +
                    ", expected " + number_text(model.residual_scale));
  }
  if (model.activation != layer.activation) {
    found.push_back(std::string("options->feed_forward->activation is ") + text_of(layer.activation) + ", expected " +
                    text_of(model.activation));
  }
  return found;
}

}  // namespace heed
