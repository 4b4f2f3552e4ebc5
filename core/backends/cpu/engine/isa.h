// SPDX-License-Identifier: Apache-2.0
// Selects the kernels of a context: those for the widest ISA that the processor and the system support, or the ISA that
// the environment variable HEED_ISA names.
#pragma once

#include <span>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/error.h"
#include "platform/cpu_features.h"

namespace heed::cpu {

struct Isa {
  const KernelTable* kernels;
  // The processor features that its instructions require.
  platform::CpuFeatures features;

  const char* name() const { return kernels->isa; }
  bool is_available() const { return platform::has_cpu_features(features); }
};

// The ISAs of this build, from the narrowest to the widest; the first is always available. In isas_<processor>.cc.
std::span<const Isa> isas();

// The widest available ISA, whatever HEED_ISA is.
const Isa& widest_isa();

// Fails with InvalidArgument if HEED_ISA names no available ISA; the message lists the available ones.
Status choose_kernels(const KernelTable** kernels, Error* failure);

}  // namespace heed::cpu
