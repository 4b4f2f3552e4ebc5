// SPDX-License-Identifier: Apache-2.0
// The kernels for AArch64.
#define HEED_ISA_NAMESPACE neon
#define HEED_ISA_TEXT "neon"
#define HEED_ISA_TABLE kNeonKernels
#define HEED_SIMD_NEON

#include "backends/cpu/kernels/kernels-inl.h"
