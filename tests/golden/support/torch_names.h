// SPDX-License-Identifier: Apache-2.0
// PyTorch's names of parameters as heed's.
#pragma once

#include <string>
#include <vector>

namespace heed::golden {

// The parameters of heed whose rows, one below the other, are PyTorch's: "layers.0.self_attn.in_proj_bias" is
// "layers.0.self_attention.W_q.bias" and those of W_k and W_v. A name that is not PyTorch's own stays as it is.
std::vector<std::string> names_of_torch(std::string name);

}  // namespace heed::golden
