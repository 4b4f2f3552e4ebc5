// SPDX-License-Identifier: Apache-2.0
// Tensors in the module of an attention that no layout has: each may be a step of its computation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "layers/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

// Those of the file's tensors below the prefix that `found` neither knows nor has as changing, without those that
// are known to be harmless: buffers of causal masks, norms of the layer around, modules that are another's, and, of a
// file without a prefix, inputs and outputs that lie beside the parameters. Tables of relative positions that lie in a
// module around are among them.
std::vector<ChangingTensor> unknown_tensors(const SafetensorsFile& file, std::string_view prefix,
                                            const FoundWeights& found);

}  // namespace heed
