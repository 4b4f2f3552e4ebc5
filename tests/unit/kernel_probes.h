// SPDX-License-Identifier: Apache-2.0
// The probes that the processor can run: tests of kernels are parameterised by them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/isa.h"
#include "kernels/math_probe.h"

namespace heed::cpu {

inline std::vector<MathProbe> available_probes() {
  std::vector<MathProbe> available;
#if defined(__x86_64__)
  const MathProbe all[] = {math_probe_portable(), math_probe_avx2(), math_probe_avx512(), math_probe_avx512_bf16()};
#elif defined(__aarch64__)
  const MathProbe all[] = {math_probe_portable(), math_probe_neon()};
#else
  const MathProbe all[] = {math_probe_portable()};
#endif
  const char* wish = std::getenv("HEED_ISA");
  const std::string kept = wish == nullptr ? "" : wish;
  for (const MathProbe& probe : all) {
    const KernelTable* kernels = nullptr;
    Error failure;
    setenv("HEED_ISA", probe.isa, 1);
    if (choose_kernels(&kernels, &failure) == Status::Ok) available.push_back(probe);
  }
  setenv("HEED_ISA", kept.c_str(), 1);
  return available;
}

inline std::string name_of_probe(const testing::TestParamInfo<MathProbe>& info) { return info.param.isa; }

#define HEED_FOR_EVERY_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(Isas, suite, testing::ValuesIn(available_probes()), name_of_probe)

}  // namespace heed::cpu
