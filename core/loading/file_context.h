// SPDX-License-Identifier: Apache-2.0
// What a layer reads of a file besides its parameters: the configuration beside it, and the form of a prefix.
#pragma once

#include <optional>
#include <string_view>

#include "families/load_accept.h"
#include "families/model_config.h"
#include "loading/load_options.h"
#include "tensor/safetensors.h"

namespace heed {

// The config.json in the file's folder, if there is one and `accept` does not say otherwise: that of the options, or read
// here.
class SharedConfig {
 public:
  SharedConfig(const SafetensorsFile& file, const LoadAccept& accept, const LoadOptions& options);
  SharedConfig(const SharedConfig&) = delete;
  SharedConfig& operator=(const SharedConfig&) = delete;

  const std::optional<ModelConfig>& get() const { return given_ != nullptr ? *given_ : read_; }

 private:
  const std::optional<ModelConfig>* given_;
  std::optional<ModelConfig> read_;
};

// Removes a trailing separator: "encoder." becomes "encoder". The separator stays if the file's names continue with
// another one: in "key_.W_q.weight" the "_" belongs to the module's name "key_".
std::string_view without_separator(const SafetensorsFile& file, std::string_view prefix);

}  // namespace heed
