// SPDX-License-Identifier: Apache-2.0
// Files whose tensors are below modules that transformers' classes do not have, as those of a wrapper that trained the
// model: "module.", "_orig_mod.", "0.auto_model.".
#pragma once

#include "families/family.h"
#include "families/model_config.h"
#include "tensor/safetensors.h"

namespace heed {

// Removes the prefix before the names of the model's layers, if it is before all names of the file. Throws NotFound, naming
// it and a tensor without, if it is not. Does nothing to a file that has the layers' usual names, or none of them.
void remove_unknown_prefix(SafetensorsFile& file, const ModelConfig& config, const Family& family);

}  // namespace heed
