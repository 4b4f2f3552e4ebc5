// SPDX-License-Identifier: Apache-2.0
// Which weights dropout keeps: a pure function of the weight's place and the seed, so that it is the same in any order
// and can be repeated.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "attention/problem.h"
#include "base/philox.h"

namespace heed::cpu {

class Dropout {
 public:
  explicit Dropout(const AttentionProblem& problem)
      : seed_(problem.dropout_seed),
        threshold_(static_cast<uint32_t>(std::floor(static_cast<double>(problem.dropout) * 0x1p32))) {}

  // Kept with probability 1 - dropout. Counter words (k / 4, q, h, b), of which word k mod 4 decides.
  bool keeps(int64_t b, int64_t h, int64_t q, int64_t k) const {
    const PhiloxCounter words = philox4x32(
        {static_cast<uint32_t>(k / 4), static_cast<uint32_t>(q), static_cast<uint32_t>(h), static_cast<uint32_t>(b)},
        seed_);
    return words[static_cast<size_t>(k % 4)] >= threshold_;
  }

 private:
  uint64_t seed_;
  uint32_t threshold_;
};

}  // namespace heed::cpu
