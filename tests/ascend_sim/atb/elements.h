// SPDX-License-Identifier: Apache-2.0
// Converts elements of tensors to float, and back with one rounding, to nearest, ties to even. Infinities, NaNs and
// subnormals are kept. These are the chip's own conversions, unlike aclFloatToFloat16.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "acl/acl.h"

namespace ascend_sim::atb_library {

inline float float_of_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t rest = half & 0x7FFFU;
  if (rest >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  if (rest >= 0x0400U) return std::bit_cast<float>(sign | ((rest << 13) + (112U << 23)));
  // Subnormal: a multiple of 2^-24.
  const float magnitude = static_cast<float>(rest) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

inline uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t rest = bits & 0x7FFFFFFFU;
  if (rest > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);
  // From 65520 on, the result is infinity.
  if (rest >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);
  if (rest < 0x38800000U) {
    // Below 2^-14 adjacent numbers are 2^-24 apart. Adding 0.5 makes that the distance of the float's last bit.
    const float shifted = std::bit_cast<float>(rest) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t rounded = rest + 0xFFFU + (rest >> 13 & 1U);
  return static_cast<uint16_t>(sign | (rounded - (112U << 23)) >> 13);
}

inline float float_of_bf16(uint16_t bf16) { return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16); }

inline uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>(bits >> 16 | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

// Saturation mode: replaces an infinity by the largest finite number, and a NaN by 0. `infinity` is the bits of
// positive infinity.
template <class Bits>
void saturate(Bits infinity, size_t num_elements, Bits* elements) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  for (size_t i = 0; i < num_elements; ++i) {
    const Bits sign = elements[i] & kSign;
    const Bits rest = elements[i] & static_cast<Bits>(~kSign);
    if (rest >= infinity) elements[i] = rest == infinity ? static_cast<Bits>(sign | (infinity - 1)) : Bits{0};
  }
}

// Does nothing for a type that is not floating-point.
inline void saturate(aclDataType dtype, size_t num_elements, void* elements) {
  if (dtype == ACL_FLOAT) saturate(uint32_t{0x7F800000U}, num_elements, static_cast<uint32_t*>(elements));
  if (dtype == ACL_FLOAT16) saturate(uint16_t{0x7C00U}, num_elements, static_cast<uint16_t*>(elements));
  if (dtype == ACL_BF16) saturate(uint16_t{0x7F80U}, num_elements, static_cast<uint16_t*>(elements));
}

inline float round_to_half(float value) { return float_of_half(half_of_float(value)); }

// The type is ACL_FLOAT, ACL_FLOAT16 or ACL_BF16.
inline float round_to(aclDataType dtype, float value) {
  if (dtype == ACL_FLOAT16) return round_to_half(value);
  if (dtype == ACL_BF16) return float_of_bf16(bf16_of_float(value));
  return value;
}

inline void load_floats(aclDataType dtype, const void* from, size_t num_elements, float* to) {
  if (dtype == ACL_FLOAT) {
    std::memcpy(to, from, num_elements * sizeof(float));
    return;
  }
  const auto* const elements = static_cast<const uint16_t*>(from);
  for (size_t i = 0; i < num_elements; ++i)
    to[i] = dtype == ACL_FLOAT16 ? float_of_half(elements[i]) : float_of_bf16(elements[i]);
}

inline std::vector<float> load_floats(aclDataType dtype, const void* from, size_t num_elements) {
  std::vector<float> floats(num_elements);
  load_floats(dtype, from, num_elements, floats.data());
  return floats;
}

inline void store_floats(aclDataType dtype, const float* from, size_t num_elements, void* to) {
  if (dtype == ACL_FLOAT) {
    std::memcpy(to, from, num_elements * sizeof(float));
    return;
  }
  auto* const elements = static_cast<uint16_t*>(to);
  for (size_t i = 0; i < num_elements; ++i)
    elements[i] = dtype == ACL_FLOAT16 ? half_of_float(from[i]) : bf16_of_float(from[i]);
}

}  // namespace ascend_sim::atb_library
