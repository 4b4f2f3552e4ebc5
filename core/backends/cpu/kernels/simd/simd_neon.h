// SPDX-License-Identifier: Apache-2.0
// The shim on AArch64's Advanced SIMD, which every such processor has: 4 lanes, 32 registers.
#pragma once

#include <arm_neon.h>

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int kLanes = 4;
constexpr int kRegisters = 32;

using Vec = float __attribute__((vector_size(16)));
using IntVec = int32_t __attribute__((vector_size(16)));
using LongVec = uint64_t __attribute__((vector_size(16)));
using HalfVec = uint16_t __attribute__((vector_size(8)));

// `value` in all lanes: one instruction if it is in memory.
HEED_INLINE Vec broadcast(float value) { return (Vec)vdupq_n_f32(value); }

HEED_INLINE Vec fma(Vec a, Vec b, Vec c) { return (Vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }

HEED_INLINE void accumulate(Vec& sum, Vec a, Vec b) { sum = fma(a, b, sum); }

// b if either is NaN, unlike FMAX, which returns NaN, and FMAXNM, which returns the other number.
HEED_INLINE Vec max(Vec a, Vec b) { return a > b ? a : b; }
HEED_INLINE Vec min(Vec a, Vec b) { return a < b ? a : b; }

HEED_INLINE Vec floor(Vec value) { return (Vec)vrndmq_f32((float32x4_t)value); }

HEED_INLINE LongVec multiply_low_halves(LongVec a, LongVec b) {
  return (LongVec)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
}

HEED_INLINE bool any(IntVec mask) { return vmaxvq_u32((uint32x4_t)mask) != 0; }

HEED_INLINE Vec load_f16(const uint16_t* from) { return (Vec)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))); }
HEED_INLINE Vec load_bf16(const uint16_t* from) { return (Vec)vshll_n_u16(vld1_u16(from), 16); }

HEED_INLINE HalfVec round_to_f16(Vec value) { return (HalfVec)vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)value)); }

HEED_INLINE IntVec load_bytes(const uint8_t* from) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return (IntVec)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(bytes))));
}
HEED_INLINE IntVec load_signed_bytes(const int8_t* from) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return (IntVec)vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(bytes))));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
