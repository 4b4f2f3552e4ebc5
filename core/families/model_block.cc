// SPDX-License-Identifier: Apache-2.0
#include "families/model_block.h"

#include <optional>
#include <string_view>

#include "base/shown_text.h"
#include "families/families.h"
#include "families/model_settings.h"

namespace heed {
namespace {

constexpr const char* kUnknownBlocks = "norms and activations that heed does not know";
constexpr const char* kActivation = "an activation that heed does not know";
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
  if (block.unsupported == nullptr && !activation) block.unsupported = kActivation;
  block.layer.output_norms = family.norms.also_behind_parts;
  block.layer.residual_scale = settings.number(Setting::ResidualMultiplier).value_or(1);
  return block;
}

}  // namespace heed
