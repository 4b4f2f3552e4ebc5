// SPDX-License-Identifier: Apache-2.0
// Between the storage types of operands and vectors of f32.
#pragma once

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

HEED_INLINE int64_t size_of_element(int32_t element_type) { return element_type == kF32 ? 4 : 2; }

// The address of an element of an operand of f32, F16 or BF16.
HEED_INLINE const char* element_address(const KernelOperand& operand, int64_t index) {
  return static_cast<const char*>(operand.data) + index * size_of_element(operand.element_type);
}

// Elements as types, for kernels that are compiled once for each.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};

HEED_INLINE Vec load(const F16* from) { return load_f16(&from->bits); }
HEED_INLINE Vec load(const BF16* from) { return load_bf16(&from->bits); }

// kLanes elements that lie side by side.
HEED_INLINE Vec load_elements(const char* from, int32_t element_type) {
  if (element_type == kF32) return load(reinterpret_cast<const float*>(from));
  const auto* halves = reinterpret_cast<const uint16_t*>(from);
  return element_type == kF16 ? load_f16(halves) : load_bf16(halves);
}

// The first `count` of them, the other lanes 0; nothing beyond is read.
HEED_INLINE Vec load_first_elements(const char* from, int32_t element_type, int64_t count) {
  if (count >= kLanes) return load_elements(from, element_type);
  if (element_type == kF32) return load_first(reinterpret_cast<const float*>(from), count);
  uint16_t halves[kLanes] = {};
  __builtin_memcpy(halves, from, static_cast<size_t>(count) * sizeof(uint16_t));
  return element_type == kF16 ? load_f16(halves) : load_bf16(halves);
}

// ---- storing --------------------------------------------------------------------------------------------------------
// To nearest even, overflow to infinity, subnormals kept: the bits of narrow_to_half and narrow_to_bfloat16.

// By integers, since the instruction that AVX-512 has for it makes 0 of subnormals.
HEED_INLINE HalfVec round_to_bf16(Vec value) {
  const IntVec bits = bits_of(value);
  // Half a unit less one, one more where the last bit is odd; a carry goes into the exponent, at the end up to
  // infinity.
  return __builtin_convertvector((bits + (0x7fff + ((bits >> 16) & 1))) >> 16, HalfVec);
}

HEED_INLINE HalfVec narrow(Vec value, int32_t element_type) {
  // NaN keeps its sign and loses the rest of its bits, which could round to infinity.
  const IntVec bits = bits_of(value);
  const Vec plain = select(value != value, from_bits((bits & ~0x007fffff) | 0x00400000), value);
  return element_type == kF16 ? round_to_f16(plain) : round_to_bf16(plain);
}

// kLanes elements side by side.
HEED_INLINE void store_elements(char* to, int32_t element_type, Vec value) {
  if (element_type == kF32) return store(reinterpret_cast<float*>(to), value);
  const HalfVec halves = narrow(value, element_type);
  __builtin_memcpy(to, &halves, sizeof halves);
}

// The first `count` of them; nothing beyond is written.
HEED_INLINE void store_first_elements(char* to, int32_t element_type, Vec value, int64_t count) {
  if (count >= kLanes) return store_elements(to, element_type, value);
  if (element_type == kF32) return store_first(reinterpret_cast<float*>(to), value, count);
  const HalfVec halves = narrow(value, element_type);
  __builtin_memcpy(to, &halves, static_cast<size_t>(count) * sizeof(uint16_t));
}

static inline void store_element(char* to, int32_t element_type, float value) {
  store_first_elements(to, element_type, broadcast(value), 1);
}

// ---- one by one and in rows -----------------------------------------------------------------------------------------

// One element, widened exactly.
static inline float load_element(const char* from, int32_t element_type) {
  return load_first_elements(from, element_type, 1)[0];
}

// The first `count` of elements that lie `stride` elements apart, the other lanes 0.
static inline Vec gather_first_elements(const char* from, int32_t element_type, int64_t stride, int64_t count) {
  if (stride == 1) return load_first_elements(from, element_type, count);
  float elements[kLanes] = {};
  for (int64_t i = 0; i < count; ++i)
    elements[i] = load_element(from + i * stride * size_of_element(element_type), element_type);
  return load(elements);
}

template <int32_t type>
HEED_INLINE void widen_side_by_side(const char* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(to + i, load_elements(from + i * size_of_element(type), type));
  if (i < count) store(to + i, load_first_elements(from + i * size_of_element(type), type, count - i));
}

// `count` elements, `stride` elements apart, side by side as f32. Lanes after the last are written too: `to` has room
// for whole vectors.
static inline void widen_row(const char* from, int32_t element_type, int64_t stride, int64_t count, float* to) {
  if (stride != 1) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = load_element(from + i * stride * size_of_element(element_type), element_type);
    return;
  }
  switch (element_type) {
    case kF16: return widen_side_by_side<kF16>(from, count, to);
    case kBF16: return widen_side_by_side<kBF16>(from, count, to);
    default: return widen_side_by_side<kF32>(from, count, to);
  }
}

// The way back, of f32 side by side; only `count` elements are read and written.
static inline void narrow_row(const float* from, int64_t count, char* to, int32_t element_type, int64_t stride) {
  const int64_t size = size_of_element(element_type);
  if (stride != 1) {
    for (int64_t i = 0; i < count; ++i) store_element(to + i * stride * size, element_type, from[i]);
    return;
  }
  for (int64_t i = 0; i < count; i += kLanes)
    store_first_elements(to + i * size, element_type, load_first(from + i, count - i), count - i);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
