// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes that reports overflow: a checked_ function returns false if the result does not fit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed {

[[nodiscard]] inline bool checked_multiply(int64_t a, int64_t b, int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

[[nodiscard]] inline bool checked_add(int64_t a, int64_t b, int64_t& sum) {
  return !__builtin_add_overflow(a, b, &sum);
}

// Returns the largest or smallest int64_t on overflow. For limits, where these values mean "unlimited".
inline int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

}  // namespace heed
