// SPDX-License-Identifier: Apache-2.0
// Which tensors of a file hold a layer's parameters: the layout is recognised by the names under a prefix.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/parameter.h"
#include "layers/weight_layout.h"
#include "tensor/safetensors.h"

namespace heed {

struct FoundWeight {
  // The tensor's whole name; it is in the file.
  std::string name;
  WeightSource source;
};

// A tensor of the file that changes what a layer computes.
struct ChangingTensor {
  std::string name;
  // Of the layout that has it beside its projections; static.
  const char* title;
};

struct FoundWeights {
  // The layout's; static.
  const char* title;
  // One for each parameter, in their order.
  std::vector<FoundWeight> weights;
  // Between the parts of a name.
  char separator = '.';
  // Whole names of all parameters that the layout has, sorted.
  std::vector<std::string> known = {};
  // What is known to change what the layer would compute.
  std::vector<ChangingTensor> changing = {};
};

// The title of heed's own layout.
inline constexpr const char* kOwnTitle = "heed";

// `possible`: names of parameters that layers of this kind can have, whatever the options, null-terminated; with those
// of `parameters` they are heed's own layout. `besides`: how a sentence about packed projections goes on, where the
// model has more that heed has no option for.
// Throws NotFound when no layout has all parameters under the prefix, InvalidArgument when several have or when the one
// that has holds another parameter, Unsupported when the projections are packed in a way that no layout has.
FoundWeights find_weights(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
                          const char* const* possible, std::string_view besides = {});

}  // namespace heed
