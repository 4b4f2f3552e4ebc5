// SPDX-License-Identifier: Apache-2.0
#include "atb/chip.h"

#include <string_view>

#include "acl/acl.h"

namespace ascend_sim::atb_library {

Chip chip() {
  const std::string_view soc = aclrtGetSocName();
  if (soc.find("Ascend310P") != std::string_view::npos) return Chip::Inference310P;
  if (soc.find("Ascend910_93") != std::string_view::npos) return Chip::A2;
  // Exactly "Ascend910B" is a name of a first-generation chip.
  constexpr std::string_view kA2 = "Ascend910B";
  if (soc.find(kA2) != std::string_view::npos) return soc.size() > kA2.size() ? Chip::A2 : Chip::First910;
  return soc.find("Ascend910") != std::string_view::npos ? Chip::First910 : Chip::Other;
}

}  // namespace ascend_sim::atb_library
