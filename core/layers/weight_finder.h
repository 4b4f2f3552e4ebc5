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

struct FoundWeights {
  // The layout's; static.
  const char* title;
  // One for each parameter, in their order.
  std::vector<FoundWeight> weights;
};

// `possible`: names of parameters that layers of this kind can have, whatever the options, null-terminated; with those
// of `parameters` they are heed's own layout.
// Throws NotFound when no layout has all parameters under the prefix, InvalidArgument when several have or when the one
// that has holds another parameter, Unsupported when it holds what heed has no option for.
FoundWeights find_weights(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
                          const char* const* possible);

}  // namespace heed
