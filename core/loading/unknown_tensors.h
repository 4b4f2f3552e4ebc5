// SPDX-License-Identifier: Apache-2.0
// Finds tensors in an attention's module that no layout lists. Each may change what the attention computes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loading/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

// The file's tensors below a prefix that are neither in FoundWeights::known nor in FoundWeights::changing.
struct OtherTensors {
  // Without those that are known to be harmless: `unread`, norms of the enclosing layer, other modules, and, if the prefix
  // is empty, inputs and outputs stored beside the parameters. With tables of relative positions in the enclosing modules.
  std::vector<UnsupportedTensor> unknown;
  // Full names of those that none of the model's classes reads, or that only repeat its configuration: masks, position
  // numbers, rotary frequencies (which are unknown, too), and a bias of T5's first files.
  std::vector<std::string> unread;
};
OtherTensors other_tensors(const SafetensorsFile& file, std::string_view prefix, const FoundWeights& found);

}  // namespace heed
