// SPDX-License-Identifier: Apache-2.0
// What the layers of a model compute besides attention: norms, where they are, and the activation. By the model's
// config.json, and a table of families.
#pragma once

#include <string>
#include <vector>

#include "families/model_config.h"
#include "ops/activation.h"
#include "ops/norm.h"

namespace heed {

// The layer's side of the comparison with the model in a file.
struct LayerBlock {
  NormKind norm = NormKind::Layer;
  double epsilon = 0;
  bool norm_first = false;
  bool output_norms = false;
  // Only of the layer: a model's is known by the names in its file.
  bool no_first_norm = false;
  double residual_scale = 1;
  Activation activation = Activation::Relu;
};

// The layers of a model by its configuration.
struct ModelBlock {
  // Such as `model_type "bert" in config.json`.
  std::string source;
  // Whether the family is in the table; otherwise the layers are unsupported.
  bool is_known = false;
  // What the layers compute and heed has no option for, in words for messages; null: nothing.
  const char* unsupported = nullptr;
  // If they are supported.
  LayerBlock layer;
  // Norms multiply by 1 + weight: the parameter is the file's weight plus 1.
  bool adds_one = false;
};

// The layers of the model that is configured in the object `model` of the configuration; "": the whole.
ModelBlock configured_block(const ModelConfig& config, const std::string& model);

// What differs from the model, as members of the options of an encoder or decoder layer.
std::vector<std::string> differences(const LayerBlock& layer, const LayerBlock& model);

}  // namespace heed
