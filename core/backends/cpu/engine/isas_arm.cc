// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/isa.h"

namespace heed::cpu {
namespace {

// Every AArch64 processor has NEON.
constexpr Isa kIsas[] = {{&kPortableKernels, 0}, {&kNeonKernels, 0}};

}  // namespace

std::span<const Isa> isas() { return kIsas; }

}  // namespace heed::cpu
