// SPDX-License-Identifier: Apache-2.0
// The kernels for x86-64 with AVX-512 F, BW, DQ and VL.
#define HEED_ISA_NAMESPACE avx512
#define HEED_ISA_TEXT "avx512"
#define HEED_ISA_TABLE kAvx512Kernels
#define HEED_SIMD_AVX512

#include "backends/cpu/kernels/kernels-inl.h"

namespace heed::cpu {

// The functions of kAvx512Kernels: the kernels use no instruction of AVX-512 BF16, since these treat subnormal numbers as
// 0, which rule 15 of docs/semantics.md does not allow.
extern constexpr KernelTable kAvx512Bf16Kernels = [] {
  KernelTable kernels = kAvx512Kernels;
  kernels.isa = "avx512_bf16";
  return kernels;
}();

}  // namespace heed::cpu
