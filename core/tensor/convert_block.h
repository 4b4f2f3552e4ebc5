// SPDX-License-Identifier: Apache-2.0
// Conversion of a block of adjacent elements between F32 and the 16-bit dtypes, with the same results as convert(). The
// loops have no branches, so that compilers vectorize them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "tensor/convert.h"

namespace heed {

inline constexpr int64_t kConvertedBlock = 64;

// Whether convert_block exists for these types.
template <typename To, typename From>
inline constexpr bool kConvertsBlocks = (std::is_same_v<To, float> &&
                                         (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)) ||
                                        (std::is_same_v<From, float> &&
                                         (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>));

namespace detail {

inline constexpr uint32_t kF32Infinity = 0x7f800000;
inline constexpr uint32_t kF32Quiet = 0x00400000;

// All bits set or none.
inline uint32_t mask_of(bool condition) { return condition ? UINT32_MAX : 0; }

inline uint32_t f32_bits_of(BFloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  return (bits & 0x7fffffff) > kF32Infinity ? bits | kF32Quiet : bits;
}

inline uint32_t f32_bits_of(Half value) {
  const uint32_t magnitude = value.bits & 0x7fffu;
  // Exact, and not subnormal in F32.
  const auto subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f);
  const uint32_t normal = (magnitude << 13) + ((127 - 15) << 23);
  const uint32_t special = (magnitude << 13) | kF32Infinity | (kF32Quiet & mask_of(magnitude > 0x7c00));
  const uint32_t is_subnormal = mask_of(magnitude < 0x0400);
  const uint32_t is_normal = mask_of(magnitude < 0x7c00) & ~is_subnormal;
  const uint32_t bits = (subnormal & is_subnormal) | (normal & is_normal) | (special & ~(is_subnormal | is_normal));
  return bits | static_cast<uint32_t>(value.bits & 0x8000u) << 16;
}

// Rounds to nearest even: adds half a unit in the last kept place minus 1, plus 1 if the last kept bit is 1. A carry
// goes into the exponent, up to infinity.
inline uint16_t narrow_f32_bits(uint32_t bits, BFloat16) {
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const uint32_t nan = ((bits >> 16) & 0x8000) | 0x7fc0;
  return static_cast<uint16_t>((bits & 0x7fffffff) > kF32Infinity ? nan : rounded);
}

// For magnitudes of at least 2^-14, and for zero.
inline uint16_t narrow_f32_bits(uint32_t bits, Half) {
  const uint32_t magnitude = bits & 0x7fffffff;
  const uint32_t rounded = (magnitude - ((127 - 15) << 23) + 0x0fff + ((magnitude >> 13) & 1)) >> 13;
  const uint32_t large = magnitude > kF32Infinity ? 0x7e00 : 0x7c00;
  const uint32_t half = magnitude == 0 ? 0 : (magnitude < (uint32_t{127 + 16} << 23) ? rounded : large);
  return static_cast<uint16_t>(half | ((bits >> 16) & 0x8000));
}

// Whether narrow_f32_bits cannot convert the number, because the result would be subnormal.
inline bool is_too_small(uint32_t bits, Half) {
  const uint32_t magnitude = bits & 0x7fffffff;
  return magnitude != 0 && magnitude < (uint32_t{127 - 14} << 23);
}
inline bool is_too_small(uint32_t, BFloat16) { return false; }

}  // namespace detail

// Converts kConvertedBlock adjacent elements, at any address.
template <typename To, typename From>
requires kConvertsBlocks<To, From>
void convert_block(std::byte* destination, const std::byte* source) {
  constexpr size_t kCount = kConvertedBlock;
  From from[kCount];
  std::memcpy(from, source, sizeof from);
  if constexpr (std::is_same_v<To, float>) {
    uint32_t to[kCount];
    for (size_t i = 0; i < kCount; ++i) to[i] = detail::f32_bits_of(from[i]);
    std::memcpy(destination, to, sizeof to);
  } else {
    uint16_t to[kCount];
    uint32_t num_small = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const auto bits = std::bit_cast<uint32_t>(from[i]);
      to[i] = detail::narrow_f32_bits(bits, To{});
      num_small += detail::is_too_small(bits, To{}) ? 1 : 0;
    }
    // Blocks with such numbers are rare: the whole block is converted element by element.
    if (num_small > 0) {
      for (size_t i = 0; i < kCount; ++i) to[i] = convert<To>(from[i]).bits;
    }
    std::memcpy(destination, to, sizeof to);
  }
}

}  // namespace heed
