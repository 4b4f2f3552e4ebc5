// SPDX-License-Identifier: Apache-2.0
// The kernels for x86-64 with AVX-512 F, BW, DQ, VL, BF16 and VNNI.
#define HEED_ISA_NAMESPACE avx512_bf16
#define HEED_ISA_TEXT "avx512_bf16"
#define HEED_ISA_TABLE kAvx512Bf16Kernels
#define HEED_SIMD_AVX512

#include "backends/cpu/kernels/kernels-inl.h"
