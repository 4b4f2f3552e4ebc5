// SPDX-License-Identifier: Apache-2.0
// Which kernels a context computes with: those for the widest ISA that the processor and the system support, unless the
// environment variable HEED_ISA names another.
#pragma once

#include <span>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/error.h"

namespace heed::cpu {

struct Isa {
  const KernelTable* kernels;
  bool (*is_available)();

  const char* name() const { return kernels->isa; }
};

// Those of this build, from the narrowest to the widest; the first is always available.
std::span<const Isa> isas();

// The widest that is available, whatever HEED_ISA says.
const Isa& widest_isa();

// Fails with InvalidArgument when HEED_ISA names none of those available, which the sentence lists.
Status choose_kernels(const KernelTable** kernels, Error* failure);

}  // namespace heed::cpu
