// SPDX-License-Identifier: Apache-2.0
// Compares what a layer computes with what the model in a file computes. A difference is an error unless the caller
// accepts it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/logger.h"
#include "families/load_accept.h"
#include "families/model_attention.h"
#include "loading/weight_finder.h"
#include "tensor/safetensors.h"

namespace heed {

class ModelCheck {
 public:
  // The arguments must outlive this object. `attentions`: what is known about the model's attention.
  // `lacking`: tensors for which options are not set.
  ModelCheck(const SafetensorsFile& file, std::string_view prefix, const LayerAttention& layer,
             const std::vector<ModelAttention>& attentions, const std::vector<LackingWeight>& lacking,
             const LoadAccept& accept);

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
    // Instead of a long text, where there is no room for it.
    std::string brief = {};
  };

  // The tensor's name without the prefix.
  std::string_view below(std::string_view name) const;
  bool lacks(std::string_view feature) const;
  std::vector<Finding> lacking_options() const;
  std::vector<Finding> differences_of(const ModelAttention& model) const;
  void add_positions(const ModelAttention& model, std::vector<Finding>& found) const;
  void add_rotary(const ModelAttention& model, std::vector<Finding>& found) const;
  void add_relative_bias(const RelativeBiasOptions& expected, std::vector<Finding>& found) const;
  void add_norm(const ModelQkNorm& expected, std::vector<Finding>& found) const;
  // Whether the layer has what the feature is about, so that it matters which numbers it has.
  bool uses(std::string_view feature) const;
  // All differences that the caller does not accept. Sets `source` to the source of the first.
  std::vector<Finding> differences(std::string& source) const;
  std::string option_text(std::string_view feature) const;

  const SafetensorsFile& file_;
  std::string prefix_;
  const LayerAttention& layer_;
  const std::vector<ModelAttention>& attentions_;
  const std::vector<LackingWeight>& lacking_;
  const LoadAccept& accept_;
};

// Throws InvalidArgument if a table of positions has the position 0 in another row than the layer.
void require_first_row(const SafetensorsFile& file, int64_t layer_first_row, std::optional<int64_t> expected,
                       const LoadAccept& accept);

// Throws Unsupported if a linear layer's weight may be (in, out), since it has a name of Conv1D modules, unless the
// length of the bias shows that it is (out, in). `weight`, `bias`: tensors of the file; bias may be NULL.
void require_linear_form(const SafetensorsFile& file, const SafetensorsEntry& weight, const SafetensorsEntry* bias,
                         const LoadAccept& accept);

// Text to append to an error message: what the configured models have that heed has no option for. "" if nothing.
std::string unsupported_note(const std::vector<ModelAttention>& attentions);

}  // namespace heed
