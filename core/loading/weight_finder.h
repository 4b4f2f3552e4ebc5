// SPDX-License-Identifier: Apache-2.0
// Finds the tensors of a file that hold a layer's parameters. The layout is recognised by the tensors' names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/description.h"
#include "layers/parameter.h"
#include "loading/weight_layout.h"
#include "tensor/safetensors.h"

namespace heed {

struct FoundWeight {
  // The tensor's full name in the file.
  std::string name;
  WeightSource source;
  // The parameter is the tensor plus 1.
  bool adds_one = false;
};

// A tensor of the file for a parameter that the layer has not, since an option for it is not set.
struct LackingWeight {
  std::string name;
  // The option: one of namespace feature; static.
  std::string_view feature;
};

// A tensor of the file that changes what a layer computes.
struct UnsupportedTensor {
  std::string name;
  // The name of the layout that lists this tensor; static.
  const char* layout_name;
};

struct FoundWeights {
  // The name of the layout; static.
  const char* layout_name;
  // One for each parameter of the layer, in the same order.
  std::vector<FoundWeight> weights;
  // The character between the modules of a name.
  char separator = '.';
  // Full names of all parameters in the layout, sorted, including those that the layer lacks.
  std::vector<std::string> known = {};
  // Tensors of the file that change what the layer would compute.
  std::vector<UnsupportedTensor> changing = {};
  // Tensors of the file for norms, sinks and relative biases that the layer's options lack.
  std::vector<LackingWeight> lacking = {};
  // Whether they are those of a norm (LayerDescription::is_norm).
  bool is_norm = false;
};

// The name of heed's own layout.
inline constexpr const char* kOwnLayout = "heed";

// A parameter of a module, in the form of whichever layout the file has it. `entry` is null if the file lacks it.
struct StoredParameter {
  const SafetensorsEntry* entry = nullptr;
  const WeightSource* source = nullptr;
};
StoredParameter find_parameter(const SafetensorsFile& file, const std::string& module, std::string_view parameter);

// The tensors that a file lacks.
struct MissingTensors {
  std::vector<std::string> names;    // each once
  std::string_view first_parameter;  // of those that the first of them holds; static
};

// What errors say of the layer and its model, beside the names of parameters and tensors.
struct WeightSentences {
  // The option, with its value, by which the caller gives the layer its parameter "bias", where a layer around it decides
  // that. Null: the option in the table of the kind of layer.
  const char* bias_option = nullptr;
  BiasesOption biases = {};
  // Appended to the error about packed projections: what else the model has that heed has no option for.
  std::string_view besides = {};
};

// `parameters`: the parameters of this layer. `possible`: those that a layer of this kind can have with any options. Both
// together are heed's own layout.
// Throws NotFound when no layout has all parameters under the prefix; InvalidArgument when several layouts have them,
// or when the matching layout has another parameter that the layer lacks, except those in FoundWeights::lacking;
// Unsupported when the projections are packed in a way that no layout describes.
FoundWeights find_weights(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
                          std::span<const PossibleParameter> possible, const WeightSentences& sentences);

// Adds the tensors of these parameters that the file lacks under the prefix, by the names of the layout that has most of the
// others; if the file has none, by those of the layout of that name. As for find_weights.
void add_missing_weights(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
                         std::span<const PossibleParameter> possible, std::string_view layout_name,
                         MissingTensors& all);

}  // namespace heed
