// SPDX-License-Identifier: Apache-2.0
#include "atb/refusal.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/kernel_interface.h"

namespace ascend_sim::atb_library {

atb::Status refuse(atb::Status code, const std::string& who, const std::string& reason) {
  static const bool is_logged = [] {
    const char* const wish = std::getenv("ASCEND_SIM_LOG");
    return wish != nullptr && std::string_view(wish) == "1";
  }();
  if (is_logged) std::fprintf(stderr, "ascend_sim: %s answers %d: %s\n", who.c_str(), code, reason.c_str());
  return code;
}

void violation(const std::string& sentence) { ascend_sim_kernel_violation(sentence.c_str()); }

}  // namespace ascend_sim::atb_library
