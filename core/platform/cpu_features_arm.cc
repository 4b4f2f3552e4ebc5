// SPDX-License-Identifier: Apache-2.0
// Every AArch64 processor has NEON, and heed has no AArch64 kernels for other features yet.
#include "platform/cpu_features.h"

namespace heed::platform {

CpuFeatures cpu_features() noexcept { return 0; }

// ISB waits some tens of cycles; YIELD takes one on most cores.
void pause_processor() noexcept { asm volatile("isb" ::: "memory"); }

}  // namespace heed::platform
