// SPDX-License-Identifier: Apache-2.0
// Compares what a layer computes with what the model in a file computes. A difference is an error unless the caller
// accepts it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/logger.h"
#include "layers/load_accept.h"
#include "layers/model_attention.h"
#include "layers/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

class ModelCheck {
 public:
  // The arguments must outlive this object. `attentions`: what is known about the model's attention.
  ModelCheck(const SafetensorsFile& file, std::string_view prefix, const LayerAttention& layer,
             const std::vector<ModelAttention>& attentions, const LoadAccept& accept);

  // Throws Unsupported if the model computes something that heed has no option for, known by these tensors or by its
  // family. The message lists all findings.
  void require_supported(const std::vector<UnsupportedTensor>& tensors) const;

  // Throws InvalidArgument if the layer's options differ from the model's. The message lists all differences.
  void require_options() const;

  // Logs which settings of the model the file does not say, and which values the layer uses for them.
  void warn(const Logger& logger, const char* function) const;

 private:
  struct Finding {
    std::string text;
    // The name that `accept` takes.
    std::string accept;
  };

  std::vector<Finding> differences_of(const ModelAttention& model) const;
  // All differences that the caller does not accept. Sets `source` to the source of the first.
  std::vector<Finding> differences(std::string& source) const;
  std::string option_text(std::string_view feature) const;

  const SafetensorsFile& file_;
  std::string prefix_;
  const LayerAttention& layer_;
  const std::vector<ModelAttention>& attentions_;
  const LoadAccept& accept_;
};

// Throws Unsupported if a linear layer's weight may be (in, out), since it has a name of Conv1D modules, unless the
// length of the bias shows that it is (out, in). `weight`, `bias`: tensors of the file; bias may be NULL.
void require_linear_form(const SafetensorsFile& file, const SafetensorsEntry& weight, const SafetensorsEntry* bias,
                         const LoadAccept& accept);

// Text to append to an error message: what the configured models have that heed has no option for. "" if nothing.
std::string unsupported_note(const std::vector<ModelAttention>& attentions);

}  // namespace heed
