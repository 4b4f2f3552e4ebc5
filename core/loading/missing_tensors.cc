// SPDX-License-Identifier: Apache-2.0
#include "loading/missing_tensors.h"

#include <algorithm>
#include <string>
#include <utility>

#include "layers/child_role.h"
#include "loading/block_layout.h"
#include "loading/layer_children.h"

namespace heed {
namespace {

void add_missing(const Layer& layer, const SafetensorsFile& file, const std::string& prefix, const Layouts& layouts,
                 std::vector<MissingTensor>& all) {
  if (layer.parameters().empty()) return;
  if (layer.num_own_parameters() != 0) {
    const char* const layout = layouts.tensors != nullptr ? layouts.tensors : layouts.layers;
    for (MissingTensor& tensor :
         missing_weights(file, prefix, layer.parameters(), layer.possible_parameters(), layout)) {
      const auto is_same = [&](const MissingTensor& other) { return other.name == tensor.name; };
      if (std::ranges::none_of(all, is_same)) all.push_back(std::move(tensor));
    }
    return;
  }
  const auto [children, indices] = children_with_parameters(layer);
  const bool is_one_layer = std::ranges::find(children, ChildRole::SelfAttention, &ChildInFile::role) != children.end();
  const ChildPrefixes found =
      find_child_prefixes(file, prefix, layer.kind(), children, is_one_layer ? layouts.layers : layouts.model);
  for (size_t i = 0; i < children.size(); ++i)
    add_missing(layer.child_at(indices[i]), file, found.prefixes[i], layouts, all);
}

}  // namespace

std::vector<MissingTensor> missing_tensors(const Layer& layer, const SafetensorsFile& file, std::string_view prefix,
                                           const Layouts& layouts) {
  std::vector<MissingTensor> all;
  add_missing(layer, file, std::string(prefix), layouts, all);
  return all;
}

}  // namespace heed
