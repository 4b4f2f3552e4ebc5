// SPDX-License-Identifier: Apache-2.0
// Which kernels this process runs: those for the widest ISA that the processor and the system support, unless the
// environment variable HEED_ISA names another.
#pragma once

#include "backends/cpu/kernels/kernel_table.h"
#include "base/error.h"

namespace heed::cpu {

// Fails with InvalidArgument when HEED_ISA names no ISA of this build, or one that
// this processor lacks; the sentence lists those available.
Status choose_kernels(const KernelTable** kernels, Error* failure);

// The widest that the processor supports, whatever HEED_ISA says.
const KernelTable& best_kernels();

}  // namespace heed::cpu
