// SPDX-License-Identifier: Apache-2.0
// Whether a layer computes what the model of a file computes: what it does not is refused unless the caller accepts it.
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
  // All must outlive this. `attentions`: what is known of the model's.
  ModelCheck(const SafetensorsFile& file, std::string_view prefix, const LayerAttention& layer,
             const std::vector<ModelAttention>& attentions, const LoadAccept& accept);

  // Throws Unsupported where the model computes what heed has no option for, by these tensors of the file or as its
  // family does. The sentence names all of it.
  void require_supported(const std::vector<ChangingTensor>& tensors) const;

  // Throws InvalidArgument where the layer's options are not the model's. The sentence has all that differ.
  void require_options() const;

  // Tells the logger what the file does not say of the model, and what the layer computes there.
  void warn(const Logger& logger, const char* function) const;

 private:
  struct Finding {
    std::string text;
    // The name that `accept` takes.
    std::string accept;
  };

  std::vector<Finding> differences_of(const ModelAttention& model) const;
  // Of all that is known of the model, not accepted.
  std::vector<Finding> differences(std::string& source) const;
  std::string option_text(std::string_view feature) const;

  const SafetensorsFile& file_;
  std::string prefix_;
  const LayerAttention& layer_;
  const std::vector<ModelAttention>& attentions_;
  const LoadAccept& accept_;
};

// Throws Unsupported for the weight of a linear layer that is Conv1D's, (in, out), by its name, where neither its bias
// nor the family tells that it is (out, in). `weight`, `bias`: the file's tensors; bias may be NULL.
void require_linear_form(const SafetensorsFile& file, const SafetensorsEntry& weight, const SafetensorsEntry* bias,
                         const LoadAccept& accept);

// How a sentence goes on about what configured models have that heed has no option for; empty where they have nothing.
std::string besides_text(const std::vector<ModelAttention>& attentions);

}  // namespace heed
