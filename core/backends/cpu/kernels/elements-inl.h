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
  if (element_type == kF32) return load_first(reinterpret_cast<const float*>(from), count);
  uint16_t halves[kLanes] = {};
  __builtin_memcpy(halves, from, static_cast<size_t>(count) * sizeof(uint16_t));
  return element_type == kF16 ? load_f16(halves) : load_bf16(halves);
}

// One element, widened exactly.
static float load_element(const char* from, int32_t element_type) {
  return load_first_elements(from, element_type, 1)[0];
}

// `count` elements, `stride` elements apart, side by side as f32. Lanes after the last are written too: `to` has room
// for whole vectors.
static void widen_row(const char* from, int32_t element_type, int64_t stride, int64_t count, float* to) {
  if (stride != 1) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = load_element(from + i * stride * size_of_element(element_type), element_type);
    return;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(to + i, load_elements(from + i * size_of_element(element_type), element_type));
  if (i < count) store(to + i, load_first_elements(from + i * size_of_element(element_type), element_type, count - i));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
