// SPDX-License-Identifier: Apache-2.0
#include "loading/missing_tensors.h"

#include <algorithm>
#include <string>

#include "families/layout_names.h"
#include "layers/child_role.h"
#include "loading/block_layout.h"
#include "loading/layer_children.h"

namespace heed {
namespace {

// The layout of the tensors within the modules of the family's layers: most have the name of the modules' layout.
std::string_view tensors_of(const Family& family) {
  const std::string_view layers = family.layouts.layers;
  if (layers == layout_name::kClip) return layout_name::kBart;
  if (layers == layout_name::kGemma2) return layout_name::kLlama;
  return layers == layout_name::kLlama && family.packed_in != nullptr ? layout_name::kPhi3 : layers;
}

void add_missing(const Layer& layer, const SafetensorsFile& file, const std::string& prefix, const Family& family,
                 MissingTensors& all) {
  if (layer.parameters().empty()) return;
  if (layer.num_own_parameters() != 0)
    return add_missing_weights(file, prefix, layer.parameters(), layer.possible_parameters(), tensors_of(family), all);
  const auto [children, indices] = children_with_parameters(layer);
  const bool is_one_layer = std::ranges::find(children, ChildRole::SelfAttention, &ChildInFile::role) != children.end();
  const ChildPrefixes found = find_child_prefixes(file, prefix, layer.kind(), children,
                                                  is_one_layer ? family.layouts.layers : family.layouts.model);
  for (size_t i = 0; i < children.size(); ++i)
    add_missing(layer.child_at(indices[i]), file, found.prefixes[i], family, all);
}

}  // namespace

MissingTensors missing_tensors(const Layer& layer, const SafetensorsFile& file, std::string_view prefix,
                               const Family& family) {
  MissingTensors all;
  add_missing(layer, file, std::string(prefix), family, all);
  return all;
}

}  // namespace heed
