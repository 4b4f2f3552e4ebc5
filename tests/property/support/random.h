// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every system, unlike those of the standard library's distributions.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed::property {

// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t mixed = (state_ ^ state_ >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return mixed ^ mixed >> 31;
  }

  // From 0 to count - 1.
  int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }

  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }

  // Log-uniform between low and high.
  double magnitude(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }

  bool chance(double probability) { return uniform(0.0, 1.0) < probability; }

  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(values.size())))];
  }

 private:
  uint64_t state_;
};

}  // namespace heed::property
