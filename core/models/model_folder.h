// SPDX-License-Identifier: Apache-2.0
// The whole model in a folder, as Hugging Face's libraries write it: config.json, and the weights in one .safetensors file
// or several with an index.
#pragma once

#include <memory>

#include "layers/layer.h"
#include "loading/load_options.h"

namespace heed {

// Makes the layer of the model's family and loads its weights. `options`: accept, progress and function. Throws Io if there are no such files, Unsupported for a
// family without a record of whole models or a setting that known_settings.h lacks, and what load throws.
std::shared_ptr<Layer> model_from_folder(const std::shared_ptr<Context>& context, const char* folder,
                                         const LoadOptions& options);

}  // namespace heed
