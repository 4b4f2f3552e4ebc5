// SPDX-License-Identifier: Apache-2.0
// The probes that this processor can run, as parameters for tests of kernels.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/engine/isa.h"
#include "kernels/math_probe.h"

namespace heed::cpu {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

inline std::vector<MathProbe> available_probes() {
  std::vector<MathProbe> available;
#if defined(__x86_64__)
  const MathProbe all[] = {math_probe_portable(), math_probe_avx2(), math_probe_avx512()};
#elif defined(__aarch64__)
  const MathProbe all[] = {math_probe_portable(), math_probe_neon()};
#else
  const MathProbe all[] = {math_probe_portable()};
#endif
  for (const MathProbe& probe : all) {
    for (const Isa& isa : isas()) {
      if (std::strcmp(isa.name(), probe.isa) == 0 && isa.is_available()) available.push_back(probe);
    }
  }
  return available;
}

inline std::string name_of_probe(const testing::TestParamInfo<MathProbe>& info) { return info.param.isa; }

#define HEED_FOR_EVERY_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(Isas, suite, testing::ValuesIn(available_probes()), name_of_probe)

}  // namespace heed::cpu
