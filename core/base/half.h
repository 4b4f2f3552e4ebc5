// SPDX-License-Identifier: Apache-2.0
// The two 16-bit float formats as storage: exact widening to f32, and narrowing from f64 with one rounding.
//
// All narrowing starts from f64. f32, f16, bf16 and 32-bit integers widen to f64 exactly, so one routine with one
// rounding serves every source type. 64-bit integers are first rounded to odd (tensor/convert.h).
#pragma once

#include <bit>
#include <cstdint>

namespace heed {

// IEEE 754 binary16: 1 sign, 5 exponent, 10 mantissa bits.
struct Half {
  uint16_t bits;
};

// bfloat16: the upper half of a binary32; 1 sign, 8 exponent, 7 mantissa bits.
struct BFloat16 {
  uint16_t bits;
};

inline float widen(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

inline float widen(Half value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const uint32_t mantissa = value.bits & 0x3ffu;
  if (exponent == 0) {
    // Zero or subnormal: mantissa * 2^-24, exact in f32.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  // Infinity and NaN keep an exponent of all ones; for other numbers the exponent bias changes from 15 to 127.
  const uint32_t wide_exponent = exponent == 0x1fu ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide_exponent << 23 | mantissa << 13);
}

namespace detail {

// Rounds to nearest even into a format of 1 + exponent_bits + mantissa_bits = 16 bits; overflow gives infinity, NaN a
// quiet NaN.
template <int exponent_bits, int mantissa_bits>
uint16_t narrow_bits(double value) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr uint64_t kInfinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const auto exponent_field = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent_field == 0x7ff) {
    const uint64_t quiet = fraction != 0 ? uint64_t{1} << (mantissa_bits - 1) : 0;
    return static_cast<uint16_t>(sign | kInfinity | quiet);
  }
  if (exponent_field == 0) return sign;  // below 2^-1022, far less than half of the smallest subnormal of either format

  const int exponent = exponent_field - 1023;
  const uint64_t significand = fraction | uint64_t{1} << 52;
  // Bits of the significand to drop: those beyond the mantissa, and one more for each step below the smallest normal
  // exponent.
  const int below_normal = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
  const int dropped = 52 - mantissa_bits + below_normal;
  if (dropped > 53) return sign;  // less than half of the smallest subnormal
  uint64_t kept = significand >> dropped;
  const uint64_t rest = significand & ((uint64_t{1} << dropped) - 1);
  const uint64_t tie = uint64_t{1} << (dropped - 1);
  if (rest > tie || (rest == tie && (kept & 1) != 0)) ++kept;
  // `kept` contains the leading one, which adds one to the exponent field, as does a carry from rounding.
  const uint64_t exponent_base = below_normal != 0 ? 0 : static_cast<uint64_t>(exponent + kBias - 1);
  const uint64_t magnitude = (exponent_base << mantissa_bits) + kept;
  return static_cast<uint16_t>(sign | (magnitude < kInfinity ? magnitude : kInfinity));
}

}  // namespace detail

inline Half narrow_to_half(double value) { return {detail::narrow_bits<5, 10>(value)}; }

inline BFloat16 narrow_to_bfloat16(double value) { return {detail::narrow_bits<8, 7>(value)}; }

}  // namespace heed
