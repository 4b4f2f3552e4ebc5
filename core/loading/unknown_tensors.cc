// SPDX-License-Identifier: Apache-2.0
#include "loading/unknown_tensors.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "families/load_accept.h"

namespace heed {
namespace {

// State that frameworks save and attention does not read: GPT-2's substitute for -inf, position numbers, seeds.
constexpr std::array kBuffers = {"masked_bias", "position_ids", "seed_generator_state"};

// Norms that models like BERT keep in the attention's module, after the output projection and the residual.
constexpr std::array kNorms = {"LayerNorm", "layer_norm", "layernorm", "output.LayerNorm", "output.layer_norm"};

// If the prefix names a whole transformer layer: its feed-forward part and the norms between its parts.
constexpr std::array kOtherModules = {"mlp",     "ffn",     "feed_forward", "fc1",   "fc2",
                                      "linear1", "linear2", "norm1",        "norm2", "norm3"};

// Tensors of a call that may lie beside the parameters in a file without a prefix. The names in kCallTensors may follow
// another word, as in "average_weights". kBounds are tolerances of its results.
constexpr std::array kCallTensors = {"queries", "keys",   "values",  "valid_lens",
                                     "mask",    "output", "weights", "log_sum_exp"};
constexpr std::array kBareCallTensors = {"query", "key", "value", "bias"};
constexpr std::array kBounds = {"bound", "deviation"};

// Tables that all layers, or all parts of one layer, share lie in an enclosing module.
constexpr std::array kSharedTables = {
    "relative_position_bias", "relative_attention_bias", "shared_position_bias", "shared_relative_position_bias",
    "rel_pos_bias",           "rel_pos_x_bias",          "rel_pos_y_bias"};

bool is_or_ends_in(std::string_view name, std::string_view word) {
  return name == word || (name.ends_with(word) && name[name.size() - word.size() - 1] == '_');
}

bool is_call_tensor(std::string_view name) {
  for (const std::string_view bound : kBounds) {
    if (name == bound) return true;
    if (is_or_ends_in(name, bound)) name.remove_suffix(bound.size() + 1);
  }
  return std::find(kBareCallTensors.begin(), kBareCallTensors.end(), name) != kBareCallTensors.end() ||
         std::any_of(kCallTensors.begin(), kCallTensors.end(),
                     [&](const char* word) { return is_or_ends_in(name, word); });
}

class OtherTensorFinder {
 public:
  OtherTensorFinder(const SafetensorsFile& file, std::string_view prefix, const FoundWeights& found)
      : file_(file), prefix_(prefix), found_(found), layout_name_(found.layout_name) {}

  OtherTensors find() const {
    OtherTensors unlisted;
    const std::string module = prefix_.empty() ? std::string() : prefix_ + found_.separator;
    for (size_t i = 0; i < file_.num_tensors(); ++i) {
      const std::string_view tensor = file_.name(i);
      if (!tensor.starts_with(module)) continue;
      const std::string name(tensor);
      if (is_found(name)) continue;
      const std::string_view below = tensor.substr(module.size());
      const bool is_passed_over = is_unread(name, below);
      if (is_passed_over || below.ends_with("inv_freq")) unlisted.unread.push_back(name);
      if (!is_passed_over && !is_harmless(below)) unlisted.unknown.push_back({name, found_.layout_name});
    }
    add_from_enclosing_modules(unlisted.unknown);
    return unlisted;
  }

 private:
  bool is_found(const std::string& name) const {
    return std::binary_search(found_.known.begin(), found_.known.end(), name) ||
           std::any_of(found_.changing.begin(), found_.changing.end(),
                       [&](const UnsupportedTensor& tensor) { return tensor.name == name; });
  }

  // Whether `below` is the module's name or the name of a tensor inside it.
  bool is_in(std::string_view below, std::string_view module) const {
    return below.starts_with(module) && (below.size() == module.size() || below[module.size()] == found_.separator);
  }

  template <size_t n>
  bool is_in_one_of(std::string_view below, const std::array<const char*, n>& modules) const {
    return std::any_of(modules.begin(), modules.end(), [&](const char* module) { return is_in(below, module); });
  }

  // Whether none of the model's classes in transformers reads the tensor.
  bool is_unread(const std::string& name, std::string_view below) const {
    const std::string_view last = below.substr(below.rfind(found_.separator) + 1);
    if (std::find(kBuffers.begin(), kBuffers.end(), last) != kBuffers.end()) return true;
    if (below == "bias" && is_causal_mask(name)) return true;
    // The first T5 files have one in the decoder's first cross attention, and no release of T5 read it.
    return prefix_.ends_with("EncDecAttention") && is_in(below, "relative_attention_bias");
  }

  bool is_harmless(std::string_view below) const {
    if (is_in_one_of(below, kOtherModules)) return true;
    const bool is_of_bert =
        layout_name_ == layout_name::kBert || layout_name_ == layout_name::kViT || layout_name_ == layout_name::kAlbert;
    if (is_of_bert && is_in_one_of(below, kNorms)) return true;
    if (below.find(found_.separator) != std::string_view::npos) return false;
    // No class with heed's own names keeps a tensor outside its projections, so a single tensor is data.
    if (layout_name_ == kOwnLayout && feature_of_tensor(below) == nullptr) return true;
    return prefix_.empty() && is_call_tensor(below);
  }

  // GPT-2's mask is (1, 1, positions, positions).
  bool is_causal_mask(const std::string& name) const {
    const Shape& shape = file_.find(name)->shape;
    return shape.rank == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
  }

  void add_from_enclosing_modules(std::vector<UnsupportedTensor>& unknown) const {
    // Cross attention has no relative positions: its queries and keys are two sequences.
    if (prefix_.ends_with("EncDecAttention")) return;
    for (size_t end = prefix_.rfind(found_.separator);; end = prefix_.rfind(found_.separator, end - 1)) {
      const bool is_outermost = end == std::string::npos;
      const std::string_view module = std::string_view(prefix_).substr(0, is_outermost ? 0 : end + 1);
      for (size_t i = 0; i < file_.num_tensors() && !prefix_.empty(); ++i) {
        const std::string_view name = file_.name(i);
        if (!name.starts_with(module) || is_found(std::string(name))) continue;
        const std::string_view below = name.substr(module.size());
        const bool is_shared = std::any_of(kSharedTables.begin(), kSharedTables.end(),
                                           [&](const char* table) { return below.starts_with(table); });
        if (is_shared) unknown.push_back({std::string(name), found_.layout_name});
      }
      if (is_outermost || end == 0) return;
    }
  }

  const SafetensorsFile& file_;
  std::string prefix_;
  const FoundWeights& found_;
  std::string_view layout_name_;
};

}  // namespace

OtherTensors other_tensors(const SafetensorsFile& file, std::string_view prefix, const FoundWeights& found) {
  return OtherTensorFinder(file, prefix, found).find();
}

}  // namespace heed
