// SPDX-License-Identifier: Apache-2.0
// The kernels for x86-64 with AVX2, FMA and F16C.
#define HEED_ISA_NAMESPACE avx2
#define HEED_ISA_TEXT "avx2"
#define HEED_ISA_TABLE kAvx2Kernels
#define HEED_SIMD_AVX2

#include "backends/cpu/kernels/kernels-inl.h"
