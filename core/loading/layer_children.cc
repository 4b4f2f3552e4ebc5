// SPDX-License-Identifier: Apache-2.0
#include "loading/layer_children.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/logger.h"
#include "base/shown_text.h"
#include "families/load_accept.h"
#include "families/model_family.h"
#include "families/rules.h"
#include "layers/errors_of_member.h"
#include "loading/block_check.h"
#include "loading/file_context.h"

namespace heed {
namespace {

// Names that say nothing of the model: a configuration of an unknown family may lie beside them by chance.
bool is_general(std::string_view layout_name) {
  return layout_name == kOwnLayout || layout_name == layout_name::kPyTorchTransformer ||
         layout_name == layout_name::kKerasTransformer;
}

// DJL's TransformerEncoderBlock normalizes batches in place of rows, and its files have their means.
void refuse_batch_norms(const SafetensorsFile& file, std::string_view prefix) {
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string_view name = file.name(i);
    if (!name.starts_with(prefix) || !name.ends_with("Norm_runningMean")) continue;
    fail(Status::Unsupported,
         "%s has %s, of a batch norm as DJL's TransformerEncoderBlock has it, and heed has none: expected " WORD(
             "layer") " norms or RMS norms",
         in_quotes(file.path()).c_str(), in_quotes(name).c_str());
  }
}

bool has_child(const Layer& layer, ChildRole role) {
  for (size_t i = 0; i < layer.num_children(); ++i) {
    if (layer.child_role(i) == role) return true;
  }
  return false;
}

}  // namespace

ChildrenWithParameters children_with_parameters(const Layer& layer) {
  ChildrenWithParameters own;
  size_t num_layers = 0;  // before a child
  for (size_t i = 0; i < layer.num_children(); ++i) {
    const ChildRole role = layer.child_role(i);
    const size_t number = role == ChildRole::Layers ? num_layers++ : 0;
    if (layer.is_repeated(i) || layer.child_at(i).parameters().empty()) continue;
    own.children.push_back({layer.child_name(i), role, number});
    own.indices.push_back(i);
  }
  return own;
}

FoundWeights find_in_children(const Layer& layer, const LayerDescription& description, const SafetensorsFile& file,
                              std::string_view given_prefix, const LoadOptions& options, const AroundLayer& around) {
  const std::string_view prefix = without_separator(file, given_prefix);
  const ChildrenWithParameters own = children_with_parameters(layer);
  const std::vector<size_t>& indices = own.indices;
  const LoadAccept accept(options.accept, options.offers_accept);
  const SharedConfig config(file, accept, options);
  LoadOptions of_children = options;
  of_children.config = &config.get();
  const bool makes_own_rows = has_child(layer, ChildRole::Embedding) || has_child(layer, ChildRole::Patches) ||
                              has_child(layer, ChildRole::Audio);
  AroundLayer around_child;
  around_child.has_embedding = around.has_embedding || makes_own_rows;
  refuse_batch_norms(file, prefix);
  const ChildPrefixes children = find_child_prefixes(file, prefix, layer.kind(), own.children);
  FoundWeights all{children.layouts.empty() ? kOwnLayout : children.layouts.front()->name, {}};
  std::vector<size_t> norms;  // indices of their weights
  const SafetensorsEntry* table = nullptr;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Layer& child = layer.child_at(indices[i]);
    const ChildDescription of_child =
        description.children.empty() ? ChildDescription() : description.children[indices[i]];
    around_child.bias_option = of_child.bias_option;
    const auto find = [&] { return find_weights_of(child, file, children.prefixes[i], of_children, around_child); };
    FoundWeights found = of_child.options.empty() ? find() : ErrorsOfMember(of_child.options.c_str()).of(find);
    if (all.layout_name == kOwnLayout) all.layout_name = found.layout_name;
    if (layer.child_role(indices[i]) == ChildRole::Embedding) table = file.find(found.weights.front().name);
    if (found.is_norm) norms.push_back(all.weights.size());
    std::ranges::move(found.weights, std::back_inserter(all.weights));
    std::ranges::move(found.known, std::back_inserter(all.known));
  }
  std::vector<ModelBlock> models = configured_blocks(prefix, config.get());
  const bool is_called = options.config == nullptr;
  if (is_called && models.empty() && !is_general(all.layout_name)) {
    log(layer.context()->logger(), LogLevel::Warning,
        FUNCTION("%s") ": %s has no config.json, which says the epsilon of norms, the activation, and whether "
"norms multiply by 1 + weight as in Gemma: the " WORD("layer") "'s options hold, and 0 is added",
        options.function, in_quotes(file.path()).c_str());
  }
  if (is_general(all.layout_name)) std::erase_if(models, [](const ModelBlock& model) { return !model.is_known; });
  if (description.block) check_block(file, *description.block, models, accept);
  const bool adds_one = std::ranges::any_of(models, [](const ModelBlock& model) { return model.adds_one; });
  // heed's own files have the parameters themselves.
  for (const size_t norm : norms) all.weights[norm].adds_one = adds_one && all.layout_name != kOwnLayout;

  std::ranges::sort(all.known);
  std::vector<std::string> unread = left_over(file, prefix, children.layouts, all.known, [&](ChildRole child) {
    // The caller may look up ids and compute logits elsewhere; sinusoids may be in the file, too.
    if (makes_rows(child) || child == ChildRole::Output) return true;
    return follows_embedding(child) && (!around_child.has_embedding || has_child(layer, child));
  });
  std::erase_if(unread, [&](const std::string& name) {
    // The first files of BART have the version of fairseq's class. In BART and T5 both sides may have a copy of the
    // embedding that they share.
    const bool is_version = is_version_of_class(name);
    const bool is_copy =
        table != nullptr && name.ends_with(".embed_tokens.weight") && file.are_equal(*file.find(name), *table);
    if (is_version || is_copy) all.known.push_back(name);
    return is_version || is_copy ||
           accept.has_tensor(name, std::string_view(name).substr(prefix.empty() ? 0 : prefix.size() + 1));
  });
  if (unread.empty()) return all;
  const std::string more =
      unread.size() == 1 ? "" : ", nor " + std::to_string(unread.size() - 1) + " more tensors there";
  fail(Status::InvalidArgument,
       "%s has %s, which the " KIND("%s layer") " does not read%s: expected options with the layers, norms, "
"biases and attentions that the file has%s",
       in_quotes(file.path()).c_str(), in_quotes(file.name_in_file(unread.front())).c_str(), layer.kind(), more.c_str(),
       accept.is_offered() ? ", or the names of these tensors in accept" : "");
}

}  // namespace heed
