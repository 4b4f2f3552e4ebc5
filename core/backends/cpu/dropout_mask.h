// SPDX-License-Identifier: Apache-2.0
// What dropout keeps: a pure function of a number's place and the seed, so that it is the same in any order and can be
// repeated.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/philox.h"

namespace heed::cpu {

// What is kept has a random word that is not below this.
inline uint32_t dropout_threshold(float dropout) {
  return static_cast<uint32_t>(std::floor(static_cast<double>(dropout) * 0x1p32));
}

class DropoutMask {
 public:
  // Keeps with probability 1 - dropout.
  DropoutMask(float dropout, uint64_t seed) : seed_(seed), threshold_(dropout_threshold(dropout)) {}

  // The weight of attention at (b, h, q, k): counter words (k / 4, q, h, b), of which word k mod 4 decides.
  bool keeps(int64_t b, int64_t h, int64_t q, int64_t k) const {
    return keeps(philox4x32({static_cast<uint32_t>(k / 4), static_cast<uint32_t>(q), static_cast<uint32_t>(h),
                             static_cast<uint32_t>(b)},
                            seed_),
                 k);
  }

  // The words of four elements of a tensor, 4 * quad to 4 * quad + 3 in row-major order.
  PhiloxCounter words_of(int64_t quad) const {
    return philox4x32({static_cast<uint32_t>(quad), static_cast<uint32_t>(quad >> 32), 0, 0}, seed_);
  }
  bool keeps(const PhiloxCounter& words, int64_t i) const { return words[static_cast<size_t>(i % 4)] >= threshold_; }

 private:
  uint64_t seed_;
  uint32_t threshold_;
};

// What is kept is multiplied by this.
inline float dropout_scale(float dropout) { return static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout))); }

}  // namespace heed::cpu
