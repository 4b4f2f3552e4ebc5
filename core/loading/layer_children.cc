// SPDX-License-Identifier: Apache-2.0
// Finds the parameters of a layer that is made of others in a file, child by child.
#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/logger.h"
#include "base/shown_text.h"
#include "families/load_accept.h"
#include "families/model_block.h"
#include "families/model_family.h"
#include "layers/errors_of_member.h"
#include "layers/layer.h"
#include "loading/block_layout.h"
#include "loading/file_context.h"
#include "loading/weight_finder.h"

namespace heed {
namespace {

// Fails if the layer computes something else than the models' layers; it has to fit one of them.
void check_block(const SafetensorsFile& file, const LayerBlock& layer, const std::vector<ModelBlock>& models,
                 const LoadAccept& accept) {
  if (accept.has(feature::kBlock)) return;
  std::vector<std::string> found;
  for (const ModelBlock& model : models) {
    if (model.unsupported != nullptr) {
      fail(Status::Unsupported,
           "%s has layers with %s (by %s), and heed has no option for it; with accept \"%s\" it is loaded all the same",
           in_quotes(file.path()).c_str(), model.unsupported, model.source.c_str(), feature::kBlock);
    }
    found = differences(layer, model.layer);
    if (found.empty()) return;
  }
  if (found.empty()) return;
  std::string all;
  for (const std::string& one : found) all += (all.empty() ? "" : "; ") + one;
  fail(Status::InvalidArgument,
       "%s is of a model with other options by %s: %s; with accept \"%s\" it is loaded all the same",
       in_quotes(file.path()).c_str(), models.back().source.c_str(), all.c_str(), feature::kBlock);
}

// Names that say nothing of the model: a configuration of an unknown family may lie beside them by chance.
bool is_general(std::string_view title) {
  return title == kOwnTitle || title == layout_title::kPyTorchTransformer || title == layout_title::kKerasTransformer;
}

// DJL's TransformerEncoderBlock normalizes batches in place of rows, and its files have their means.
void refuse_batch_norms(const SafetensorsFile& file, std::string_view prefix) {
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string_view name = file.name(i);
    if (!name.starts_with(prefix) || !name.ends_with("Norm_runningMean")) continue;
    fail(Status::Unsupported,
         "%s has %s, of a batch norm as DJL's TransformerEncoderBlock has it, and heed has none: expected layer norms "
         "or RMS norms",
         in_quotes(file.path()).c_str(), in_quotes(name).c_str());
  }
}

}  // namespace

FoundWeights Layer::find_in_children(const SafetensorsFile& file, std::string_view given_prefix,
                                     const LoadOptions& options) const {
  const std::string_view prefix = without_separator(file, given_prefix);
  std::vector<const char*> names;
  std::vector<size_t> indices;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (children_[i].is_repeated || children_[i].layer->parameters_.empty()) continue;
    names.push_back(children_[i].name.c_str());
    indices.push_back(i);
  }
  const LoadAccept accept(options.accept);
  const SharedConfig config(file, accept, options);
  LoadOptions of_children = options;
  of_children.config = &config.get();
  const auto has_child = [this](std::string_view name) {
    return std::ranges::any_of(children_, [&](const Child& child) { return name == child.name; });
  };
  of_children.has_embedding =
      options.has_embedding || has_child("embedding") || has_child("patches") || has_child("audio");
  refuse_batch_norms(file, prefix);
  const ChildPrefixes children = find_child_prefixes(file, prefix, kind(), names);
  FoundWeights all{children.layouts.empty() ? kOwnTitle : children.layouts.front()->title, {}};
  std::vector<size_t> norms;  // indices of their weights
  const SafetensorsEntry* table = nullptr;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Layer& child = *children_[indices[i]].layer;
    of_children.bias_option = bias_option_of_child(indices[i]);
    const auto find = [&] { return child.find_in(file, children.prefixes[i], of_children); };
    const std::string member = options_of_child(indices[i]);
    FoundWeights found = member.empty() ? find() : ErrorsOfMember(member.c_str()).of(find);
    if (all.title == kOwnTitle) all.title = found.title;
    if (children_[indices[i]].name == "embedding") table = file.find(found.weights.front().name);
    if (child.kind() == std::string_view("layer_norm")) norms.push_back(all.weights.size());
    std::ranges::move(found.weights, std::back_inserter(all.weights));
    std::ranges::move(found.known, std::back_inserter(all.known));
  }
  std::vector<ModelBlock> models = configured_blocks(prefix, config.get());
  const bool is_called = options.config == nullptr;
  if (is_called && models.empty() && !is_general(all.title)) {
    log(context_->logger(), LogLevel::Warning,
        "%s: %s has no config.json, which says the epsilon of norms, the activation, and whether norms multiply by 1 + "
        "weight as in Gemma: the layer's options hold, and 0 is added",
        options.function, in_quotes(file.path()).c_str());
  }
  if (is_general(all.title)) std::erase_if(models, [](const ModelBlock& model) { return !model.is_known; });
  if (const std::optional<LayerBlock> block = layer_block()) check_block(file, *block, models, accept);
  const bool adds_one = std::ranges::any_of(models, [](const ModelBlock& model) { return model.adds_one; });
  // heed's own files have the parameters themselves.
  for (const size_t norm : norms) all.weights[norm].adds_one = adds_one && all.title != kOwnTitle;

  std::ranges::sort(all.known);
  std::vector<std::string> others = left_over(file, prefix, children.layouts, all.known, [&](std::string_view child) {
    // The caller may look up ids and compute logits elsewhere; sinusoids may be in the file, too.
    if (child == "embedding" || child == "patches" || child == "audio" || child == "output") return true;
    const bool is_of_embedding = child == "token_type_embedding" || child == "positions" || child == "embedding_norm" ||
                                 child == "embedding_projection";
    return is_of_embedding && (!of_children.has_embedding || has_child(child));
  });
  std::erase_if(others, [&](const std::string& name) {
    // The first files of BART have the version of fairseq's class. In BART and T5 both sides may have a copy of the
    // embedding that they share.
    const bool is_version = name.ends_with("coder.version");
    const bool is_copy =
        table != nullptr && name.ends_with(".embed_tokens.weight") && file.are_equal(*file.find(name), *table);
    if (is_version || is_copy) all.known.push_back(name);
    return is_version || is_copy ||
           accept.has_tensor(name, std::string_view(name).substr(prefix.empty() ? 0 : prefix.size() + 1));
  });
  if (others.empty()) return all;
  const std::string more =
      others.size() == 1 ? "" : ", nor " + std::to_string(others.size() - 1) + " more tensors there";
  fail(Status::InvalidArgument,
       "%s has %s, which the %s layer does not read%s: expected options with the layers, norms, biases and attentions "
       "that the file has, or the names of these tensors in accept",
       in_quotes(file.path()).c_str(), in_quotes(others.front()).c_str(), kind(), more.c_str());
}

}  // namespace heed
