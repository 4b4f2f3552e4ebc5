// SPDX-License-Identifier: Apache-2.0
#include "families/model_block.h"

#include <optional>
#include <string_view>

#include "base/shown_text.h"
#include "families/families.h"

namespace heed {
namespace {

constexpr const char* kUnknownBlocks = "norms and activations that heed does not know";
constexpr const char* kExperts = "feed-forward networks of experts";

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

// The name of the activation in the configuration; "": the default.
std::string_view activation_name(const ModelSettings& settings, const FeedForwardRules& family) {
  const std::string_view name = settings.text(family.activation);
  if (!name.empty()) return name;
  const std::string_view older = settings.text(family.older_activation);
  if (!family.older_says_gate || !older.starts_with("gated-")) return older;
  // It stands for the approximation by tanh.
  return older == "gated-gelu" ? "gelu_new" : older.substr(6);
}

bool is_norm_first(const ModelSettings& settings, const Norms& family) {
  switch (family.place) {
    case NormPlace::Behind: break;
    case NormPlace::Before: return true;
    case NormPlace::BeforeUnlessUnset: return !settings.is_cleared(family.place_by);
  }
  return false;
}

// The text that says whether there is a gate, as "gated-gelu"; "": another setting says it.
std::string_view text_of_gate(const ModelSettings& settings, const FeedForwardRules& rules) {
  return rules.older_says_gate ? settings.text(rules.older_activation) : std::string_view();
}

// Which part of layers the parameter is of. Norms and what is around layers have a "bias" alone. The weight beside a gate has
// another name in T5 than one without.
const Has& part_of(const ModelSettings& settings, const Family& family, std::string_view parameter) {
  if (parameter == "W_gate.weight" || (parameter == "W_1.weight" && has_gate(settings, family.feed_forward)))
    return family.feed_forward.gate;
  if (parameter == "W_o.bias") return family.attention.output_bias;
  if (parameter == "bias") return family.norms.biases;
  if (!parameter.starts_with("W_") || !parameter.ends_with(".bias")) return kAlways;
  const char projection = parameter[2];
  return projection == 'q' || projection == 'k' || projection == 'v' ? family.attention.qkv_biases
                                                                     : family.feed_forward.biases;
}

}  // namespace

ModelBlock configured_block(const ModelConfig& config, const std::string& model) {
  const ModelSettings settings(config, model);
  const std::string_view model_type = settings.text(Setting::ModelType);
  ModelBlock block;
  block.source = "model_type \"" + shown(model_type) + "\" in config.json";
  const Family& family = family_of(model_type);
  if (!knows_blocks(family)) {
    block.unsupported = kUnknownBlocks;
    return block;
  }
  block.is_known = true;
  if (family.feed_forward.has_experts) block.unsupported = kExperts;
  block.layer.norm = family.norms.kind;
  block.layer.norm_first = is_norm_first(settings, family.norms);
  block.layer.epsilon = settings.number(family.norms.epsilon.name).value_or(family.norms.epsilon.otherwise);
  block.adds_one = family.norms.adds_one;
  const std::string_view name = activation_name(settings, family.feed_forward);
  const std::optional<Activation> activation = name.empty() ? family.feed_forward.usual : activation_of(name);
  block.layer.activation = activation.value_or(Activation::None);
  if (block.unsupported.empty() && !activation)
    block.unsupported = "the activation " + in_quotes(name) + ", which heed does not know";
  block.layer.output_norms = family.norms.also_behind_parts;
  block.layer.residual_scale = settings.number(Setting::ResidualMultiplier).value_or(1);
  return block;
}

bool has_part(const ModelSettings& settings, const Has& has) {
  switch (has.when) {
    case Has::When::Never:
    case Has::When::InFile: return false;
    case Has::When::Always: return true;
    case Has::When::IfSet: return settings.is_set(has.by);
    case Has::When::UnlessUnset: break;
  }
  return !settings.is_cleared(has.by);
}

bool has_gate(const ModelSettings& settings, const FeedForwardRules& rules) {
  const std::string_view text = text_of_gate(settings, rules);
  return text.empty() ? has_part(settings, rules.gate) : text.starts_with("gated-");
}

std::string setting_for(const ModelSettings& settings, const Family& family, std::string_view parameter) {
  const Has& has = part_of(settings, family, parameter);
  if (has.by == Setting::None) return "";
  const std::string_view text = text_of_gate(settings, family.feed_forward);
  const bool is_text = &has == &family.feed_forward.gate && !text.empty();
  std::string words = " with ";
  words += in_quotes(name_of(is_text ? family.feed_forward.older_activation : has.by));
  words += ' ';
  words += is_text ? in_quotes(text) : "true";
  if (!is_text && settings.is_left_out(has.by)) words += ", which is the default";
  return words;
}

}  // namespace heed
