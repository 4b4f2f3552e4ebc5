// SPDX-License-Identifier: Apache-2.0
// What the layers of a model compute besides attention: norms, where they are, and the activation. By the model's
// config.json, and a table of families.
#pragma once

#include <string>
#include <string_view>

#include "families/family.h"
#include "families/model_config.h"
#include "families/model_settings.h"
#include "ops/activation.h"
#include "ops/norm.h"

namespace heed {

// One layer of a model. Whether it has a first norm is known by the names in the file.
struct ModelLayer {
  NormKind norm = NormKind::Layer;
  double epsilon = 0;
  bool norm_first = false;
  bool output_norms = false;
  double residual_scale = 1;
  Activation activation = Activation::Relu;
};

// The layers of a model by its configuration.
struct ModelBlock {
  // Such as `model_type "bert" in config.json`.
  std::string source;
  // Whether the family is in the table; otherwise the layers are unsupported.
  bool is_known = false;
  // What the layers compute and heed has no option for, in words for messages; "": nothing.
  std::string unsupported = {};
  // If they are supported.
  ModelLayer layer;
  // Norms multiply by 1 + weight: the parameter is the file's weight plus 1.
  bool adds_one = false;
};

// The layers of the model that is configured in the object `model` of the configuration; "": the whole.
ModelBlock configured_block(const ModelConfig& config, const std::string& model);

// ---- parts that some models of a family have and others lack: biases and gates ----------------------------------------

// Whether a model of these settings has the part; false of one that only its file tells.
bool has_part(const ModelSettings& settings, const Has& has);
// Whether feed-forward networks have a gate.
bool has_gate(const ModelSettings& settings, const FeedForwardRules& rules);
// The setting by which the model has a parameter of a layer, for sentences: ` with "attention_bias" true`. "": the family
// always has it.
std::string setting_for(const ModelSettings& settings, const Family& family, std::string_view parameter);

}  // namespace heed
