// SPDX-License-Identifier: Apache-2.0
#include "layers/block_layout.h"

#include <algorithm>
#include <optional>

#include "layers/weight_finder.h"
#include "layers/weight_layout.h"

namespace heed {
namespace {

// heed's own names: those of the children.
constexpr ChildModule kOwnEncoderLayer[] = {
    {"self_attention", "self_attention"}, {"feed_forward", "feed_forward"}, {"norm_1", "norm_1"}, {"norm_2", "norm_2"}};
constexpr ChildModule kOwnDecoderLayer[] = {{"self_attention", "self_attention"},
                                            {"cross_attention", "cross_attention"},
                                            {"feed_forward", "feed_forward"},
                                            {"norm_1", "norm_1"},
                                            {"norm_2", "norm_2"},
                                            {"norm_3", "norm_3"}};
// Also PyTorch's.
constexpr ChildModule kStack[] = {{"layers.*", "layers.*"}, {"norm", "norm"}};

constexpr ChildModule kPyTorchEncoderLayer[] = {
    {"self_attention", "self_attn"}, {"feed_forward", ""}, {"norm_1", "norm1"}, {"norm_2", "norm2"}};
constexpr ChildModule kPyTorchDecoderLayer[] = {{"self_attention", "self_attn"},
                                                {"cross_attention", "multihead_attn"},
                                                {"feed_forward", ""},
                                                {"norm_1", "norm1"},
                                                {"norm_2", "norm2"},
                                                {"norm_3", "norm3"}};

constexpr BlockLayout kBlockLayouts[] = {
    {kOwnTitle, "encoder_layer", kOwnEncoderLayer},
    {kOwnTitle, "decoder_layer", kOwnDecoderLayer},
    {kOwnTitle, "encoder", kStack},
    {kOwnTitle, "decoder", kStack},
    {layout_title::kPyTorchTransformer, "encoder_layer", kPyTorchEncoderLayer},
    {layout_title::kPyTorchTransformer, "decoder_layer", kPyTorchDecoderLayer},
};

// "layers.0" of the pattern "layers.*" gives "0"; nothing if it does not match. A pattern without '*' matches itself, with
// "".
std::optional<std::string_view> number_in(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (name.size() < before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

std::string joined(std::string_view prefix, std::string_view module) {
  std::string whole(prefix);
  if (!prefix.empty() && !module.empty()) whole += '.';
  return whole + std::string(module);
}

// The module of a child in a layout; nothing if the layout lacks it.
std::optional<std::string> module_of(const BlockLayout& layout, std::string_view child) {
  for (const auto& [pattern, module] : layout.modules) {
    const std::optional<std::string_view> number = number_in(child, pattern);
    if (!number) continue;
    std::string name = module;
    if (const size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, *number);
    return name;
  }
  return std::nullopt;
}

// Whether the file's tensor is in the module.
bool is_below(std::string_view name, std::string_view module) {
  return name.size() > module.size() && name.starts_with(module) && name[module.size()] == '.';
}

bool has_tensor_below(const SafetensorsFile& file, const std::string& module) {
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    if (is_below(file.name(i), module)) return true;
  }
  return false;
}

// The number of children whose modules the file has, without those that share a module.
size_t num_found(const SafetensorsFile& file, std::string_view prefix, const BlockLayout& layout,
                 std::span<const char* const> children) {
  size_t count = 0;
  for (const char* child : children) {
    const std::optional<std::string> module = module_of(layout, child);
    if (module && !module->empty() && has_tensor_below(file, joined(prefix, *module))) ++count;
  }
  return count;
}

}  // namespace

ChildPrefixes find_child_prefixes(const SafetensorsFile& file, std::string_view prefix, std::string_view kind,
                                  std::span<const char* const> children) {
  ChildPrefixes result;
  size_t most = 0;
  for (const BlockLayout& layout : kBlockLayouts) {
    if (kind != layout.kind) continue;
    const bool has_all = std::all_of(children.begin(), children.end(),
                                     [&](const char* child) { return module_of(layout, child).has_value(); });
    const size_t count = has_all ? num_found(file, prefix, layout, children) : 0;
    if (result.layout != nullptr && count <= most) continue;
    most = count;
    result.layout = &layout;
  }
  for (const char* child : children)
    result.prefixes.push_back(joined(prefix, result.layout == nullptr ? child : *module_of(*result.layout, child)));
  return result;
}

std::vector<std::string> left_over(const SafetensorsFile& file, std::string_view prefix, const BlockLayout& layout,
                                   std::span<const std::string> known) {
  std::vector<std::string> modules;
  for (const ChildModule& child : layout.modules) {
    const std::string_view module = child.module;
    const std::string_view list = module.substr(0, module.find(".*"));
    // Without a prefix the whole file is the layer's own module, and may have other things in it.
    if (!joined(prefix, list).empty()) modules.push_back(joined(prefix, list));
  }
  std::vector<std::string> others;
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string name(file.name(i));
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    const bool is_in_module =
        std::any_of(modules.begin(), modules.end(), [&](const std::string& module) { return is_below(name, module); });
    if (is_in_module) others.push_back(name);
  }
  return others;
}

}  // namespace heed
