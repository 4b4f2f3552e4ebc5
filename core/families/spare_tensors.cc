// SPDX-License-Identifier: Apache-2.0
// Tensors of files that add nothing to a model.
#include <algorithm>

#include "families/rules.h"

namespace heed {

bool is_version_of_class(std::string_view name) { return name.ends_with("coder.version"); }

bool is_spare_tensor(const Family& family, std::string_view name) {
  // Buffers that files of many families have.
  constexpr std::string_view kBuffers[] = {"position_ids", ".inv_freq"};
  if (std::ranges::any_of(kBuffers, [&](std::string_view ending) { return name.ends_with(ending); })) return true;
  if (family.positions.kind == PositionRule::Sinusoids && name.ends_with(".embed_positions.weight")) return true;
  return is_version_of_class(name);
}

}  // namespace heed
