// SPDX-License-Identifier: Apache-2.0
// What the layers of a model compute besides attention: norms, where they are, and the activation. By the model's
// config.json, and a table of families.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers/model_rope.h"
#include "layers/module_path.h"
#include "ops/activation.h"
#include "ops/norm.h"
#include "tensor/model_config.h"

namespace heed {

// The layer's side of the comparison with the model in a file.
struct LayerBlock {
  NormKind norm = NormKind::Layer;
  double epsilon = 0;
  bool norm_first = false;
  Activation activation = Activation::Relu;
};

// The layers of a model, as far as its configuration describes them.
struct ModelBlock {
  // Such as `model_type "bert" in config.json`.
  std::string source;
  std::vector<UnsupportedFeature> unsupported;
  // An empty one is not compared.
  std::optional<NormKind> norm;
  std::optional<double> epsilon;
  std::optional<bool> norm_first;
  std::optional<Activation> activation;
  // Norms multiply by 1 + weight: the parameter is the file's weight plus 1.
  bool adds_one = false;
};

// The layers of the model that is configured in the object `model` of the configuration; "": the whole.
ModelBlock configured_block(const ModelConfig& config, const std::string& model);

// What differs between the two, as members of the options of an encoder or decoder layer.
std::vector<std::string> differences(const LayerBlock& layer, const ModelBlock& model);

}  // namespace heed
