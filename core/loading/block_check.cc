// SPDX-License-Identifier: Apache-2.0
#include "loading/block_check.h"

#include <string>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "families/model_numbers.h"

namespace heed {
namespace {

const char* text_of(NormKind norm) {
  return norm == NormKind::Rms ? CONSTANT("HEED_NORM_RMS") : CONSTANT("HEED_NORM_LAYER");
}

// What differs from the model, as members of the options of an encoder or decoder layer.
std::vector<std::string> differences(const LayerBlock& layer, const ModelLayer& model) {
  std::vector<std::string> found;
  if (model.norm != layer.norm)
    found.push_back(std::string(OPTION("norm->kind") " is ") + text_of(layer.norm) + ", expected " +
                    text_of(model.norm));
  if (!is_close(layer.epsilon, model.epsilon)) {
    // A float has seven digits.
    found.push_back(OPTION("norm->epsilon") " is " + std::string(DecimalText(layer.epsilon, 7).c_str()) +
                    ", expected " + number_text(model.epsilon));
  }
  if (model.norm_first != layer.norm_first) {
    found.push_back(std::string(OPTION("norm_first") " is ") +
                    (layer.norm_first ? FLAG("norm_first", "1") : FLAG("norm_first", "0")) + ", expected " +
                    (model.norm_first ? FLAG("norm_first", "1") : FLAG("norm_first", "0")));
  }
  if (model.output_norms != layer.output_norms) {
    found.push_back(std::string(OPTION("output_norms") " is ") +
                    (layer.output_norms ? FLAG("output_norms", "1") : FLAG("output_norms", "0")) + ", expected " +
                    (model.output_norms ? FLAG("output_norms", "1") : FLAG("output_norms", "0")));
  }
  if (!is_close(layer.residual_scale, model.residual_scale)) {
    found.push_back(OPTION("residual_scale") " is " + std::string(DecimalText(layer.residual_scale, 7).c_str()) +
                    ", expected " + number_text(model.residual_scale));
  }
  if (model.activation != layer.activation) {
    found.push_back(std::string(OPTION("feed_forward->activation") " is ") + row_of(layer.activation).constant +
                    ", expected " + row_of(model.activation).constant);
  }
  return found;
}

}  // namespace

void check_block(const SafetensorsFile& file, const LayerBlock& layer, const std::vector<ModelBlock>& models,
                 const LoadAccept& accept) {
  if (accept.has(feature::kBlock)) return;
  std::vector<std::string> found;
  for (const ModelBlock& model : models) {
    if (!model.unsupported.empty()) {
      fail(Status::Unsupported, "%s has layers with %s (by %s), and heed has no option for it%s",
           in_quotes(file.path()).c_str(), model.unsupported.c_str(), model.source.c_str(),
           accept.offer(feature::kBlock).c_str());
    }
    found = differences(layer, model.layer);
    if (found.empty()) return;
  }
  if (found.empty()) return;
  std::string all;
  for (const std::string& one : found) all += (all.empty() ? "" : "; ") + one;
  fail(Status::InvalidArgument, "%s is of a model with other options by %s: %s%s", in_quotes(file.path()).c_str(),
       models.back().source.c_str(), all.c_str(), accept.offer(feature::kBlock).c_str());
}

}  // namespace heed
