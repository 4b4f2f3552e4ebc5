// SPDX-License-Identifier: Apache-2.0
#include "training/element_loops.h"

#include <cstring>

namespace heed {

double sum_of_squares(const float* numbers, int64_t count) {
  constexpr int64_t kSums = 8;
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t lane = 0; lane < kSums; ++lane) {
      const auto number = static_cast<double>(numbers[i + lane]);
      sums[lane] += number * number;
    }
  }
  for (; i < count; ++i) {
    const auto number = static_cast<double>(numbers[i]);
    sums[i % kSums] += number * number;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

bool are_finite(const float* numbers, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t is_any = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, numbers + i, sizeof bits);
    is_any |= (bits & kExponent) == kExponent ? 1u : 0u;
  }
  return is_any == 0;
}

void scale_elements(float* numbers, int64_t count, double factor) {
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(static_cast<double>(numbers[i]) * factor);
}

void add_elements(float* sums, const float* addends, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] += addends[i];
}

}  // namespace heed
