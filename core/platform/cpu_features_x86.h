// SPDX-License-Identifier: Apache-2.0
// The part of cpu_features_x86.cc that tests call with numbers of their own.
#pragma once

#include <cstdint>

#include "platform/cpu_features.h"

namespace heed::platform {

// What the instructions CPUID and XGETBV return.
struct CpuidResult {
  uint32_t leaf1_ecx = 0;
  // Leaf 7, subleaf 0 and 1; 0 where the processor has no such leaf.
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_1_eax = 0;
  // The register states that the system saves; 0 where the processor or the system has no XSAVE.
  uint64_t xcr0 = 0;
};

CpuFeatures features_of(const CpuidResult& result) noexcept;

}  // namespace heed::platform
