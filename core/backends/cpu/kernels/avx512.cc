// SPDX-License-Identifier: Apache-2.0
// The kernels for x86-64 with AVX-512 F, BW, DQ and VL.
#define HEED_ISA_NAMESPACE avx512
#define HEED_ISA_TEXT "avx512"
#define HEED_ISA_TABLE kAvx512Kernels
#define HEED_SIMD_AVX512

#include "backends/cpu/kernels/kernels-inl.h"
