// SPDX-License-Identifier: Apache-2.0
// For tests that run once for each ISA of the machine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "backends/cpu/engine/isa.h"

namespace heed::cpu {

inline std::vector<Isa> available_isas() {
  std::vector<Isa> available;
  std::ranges::copy_if(isas(), std::back_inserter(available), [](const Isa& isa) { return isa.is_available(); });
  return available;
}

inline std::string name_of_isa(const testing::TestParamInfo<Isa>& info) { return info.param.name(); }

}  // namespace heed::cpu
