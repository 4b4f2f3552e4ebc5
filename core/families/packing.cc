// SPDX-License-Identifier: Apache-2.0
// Which modules pack queries, keys and values.
#include "families/rules.h"

namespace heed {

bool packs_in(const Family& family, std::string_view module) {
  if (family.packed_in == nullptr) return false;
  const std::string_view path = family.packed_in;
  return path.substr(path.rfind('.') + 1) == module;
}

bool packs_in(const Family& family, std::string_view module, const ModulePath& attention) {
  if (!packs_in(family, module)) return false;
  const std::string_view path = family.packed_in;
  return attention.ends_with(ModulePath(path.substr(0, path.rfind('.'))).parts());
}

}  // namespace heed
