// SPDX-License-Identifier: Apache-2.0
// Conversion of one element between any two dtypes: floats round to nearest even, float to integer truncates and
// saturates, with NaN as 0; integer to integer saturates; any non-zero number becomes true.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "tensor/dtype.h"

namespace heed {

// One byte; any non-zero byte is true, and true is written as 1.
struct Boolean {
  uint8_t byte;
};

namespace detail {

// Every source type is widened exactly to one of two types, double or int64_t.
inline double carry(double value) { return value; }
inline double carry(float value) { return value; }
inline double carry(Half value) { return widen(value); }
inline double carry(BFloat16 value) { return widen(value); }
inline int64_t carry(Boolean value) { return value.byte != 0 ? 1 : 0; }
template <typename Integer>
requires std::is_integral_v<Integer> int64_t carry(Integer value) { return value; }

// A double that a later rounding to f32, f16 or bf16 takes to the same number as the integer itself. An integer of more
// than 53 bits is truncated and the last bit of the double is set ("round to odd"), so that the second rounding does
// not see a tie that the integer does not have.
inline double to_odd_double(int64_t value) {
  const auto rounded = static_cast<double>(value);
  if (rounded >= 0x1p63) return std::bit_cast<double>(std::bit_cast<uint64_t>(0x1p63) - 1);
  const auto back = static_cast<int64_t>(rounded);
  if (back == value) return rounded;
  uint64_t bits = std::bit_cast<uint64_t>(rounded);
  // Rounded away from zero: step back towards it.
  if ((value > 0) == (back > value)) --bits;
  return std::bit_cast<double>(bits | 1);
}

template <typename Integer>
Integer truncate(double value) {
  // Both limits as doubles. The upper limit is one more than the largest value, which is exact for every integer type.
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<Integer>::lowest());
  constexpr double kPastHighest = -2.0 *
                                  static_cast<double>(std::numeric_limits<std::make_signed_t<Integer>>::lowest()) /
                                  (std::is_signed_v<Integer> ? 2 : 1);
  if (value != value) return 0;
  if (value <= kLowest) return std::numeric_limits<Integer>::lowest();
  if (value >= kPastHighest) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

template <typename Integer>
Integer saturate(int64_t value) {
  if (value < int64_t{std::numeric_limits<Integer>::lowest()}) return std::numeric_limits<Integer>::lowest();
  if (value > int64_t{std::numeric_limits<Integer>::max()}) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

}  // namespace detail

template <typename To, typename From>
To convert(From source) {
  const auto value = detail::carry(source);
  constexpr bool kFromInteger = std::is_same_v<decltype(value), const int64_t>;
  if constexpr (std::is_same_v<To, Boolean>) {
    return {static_cast<uint8_t>(value != 0 ? 1 : 0)};
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    double wide = 0;
    if constexpr (kFromInteger) {
      wide = detail::to_odd_double(value);
    } else {
      wide = value;
    }
    if constexpr (std::is_same_v<To, Half>) {
      return narrow_to_half(wide);
    } else {
      return narrow_to_bfloat16(wide);
    }
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (kFromInteger) {
    return detail::saturate<To>(value);
  } else {
    return detail::truncate<To>(value);
  }
}

// Calls visitor with a null pointer of the element's C++ type.
template <typename Visitor>
decltype(auto) visit_dtype(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::F32: return visitor(static_cast<float*>(nullptr));
    case DType::F16: return visitor(static_cast<Half*>(nullptr));
    case DType::BF16: return visitor(static_cast<BFloat16*>(nullptr));
    case DType::F64: return visitor(static_cast<double*>(nullptr));
    case DType::I32: return visitor(static_cast<int32_t*>(nullptr));
    case DType::I64: return visitor(static_cast<int64_t*>(nullptr));
    case DType::I8: return visitor(static_cast<int8_t*>(nullptr));
    case DType::U8: return visitor(static_cast<uint8_t*>(nullptr));
    case DType::Bool: break;
  }
  return visitor(static_cast<Boolean*>(nullptr));
}

}  // namespace heed
