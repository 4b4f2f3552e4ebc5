// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/isa.h"

namespace heed::cpu {
namespace {

constexpr Isa kIsas[] = {{&kPortableKernels, 0}};

}  // namespace

std::span<const Isa> isas() { return kIsas; }

}  // namespace heed::cpu
