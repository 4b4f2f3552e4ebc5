// SPDX-License-Identifier: Apache-2.0
// Which kernels a context computes with: those for the widest ISA that the processor and the system support, unless the
// environment variable HEED_ISA names another.
#pragma once

#include <span>

#include "backends/cpu/kernels/kernel_table.h"
#include "base/error.h"
#include "platform/cpu_features.h"

namespace heed::cpu {

struct Isa {
  const KernelTable* kernels;
  // What its instructions need of the processor.
  platform::CpuFeatures features;

  const char* name() const { return kernels->isa; }
  bool is_available() const { return platform::has_cpu_features(features); }
};

// The ISAs of this build, from the narrowest to the widest; the first is always available. In isas_<processor>.cc.
std::span<const Isa> isas();

// The widest that is available, whatever HEED_ISA is.
const Isa& widest_isa();

// Fails with InvalidArgument where HEED_ISA names none of the available ISAs; the sentence lists them.
Status choose_kernels(const KernelTable** kernels, Error* failure);

}  // namespace heed::cpu
