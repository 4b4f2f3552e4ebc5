// SPDX-License-Identifier: Apache-2.0
#include "reference/philox.h"

#include <cmath>

namespace heed::reference {

std::array<uint32_t, 4> philox_4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;  // the golden ratio and sqrt(3) - 1, as fractions of 2^32
    key[1] += 0xBB67AE85;
  }
  return counter;
}

bool dropout_keeps(uint64_t seed, double dropout, int64_t b, int64_t h, int64_t q, int64_t k) {
  const std::array<uint32_t, 4> counter = {static_cast<uint32_t>(k / 4), static_cast<uint32_t>(q),
                                           static_cast<uint32_t>(h), static_cast<uint32_t>(b)};
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  const uint32_t word = philox_4x32_10(counter, key)[static_cast<size_t>(k % 4)];
  return static_cast<double>(word) >= std::floor(dropout * 0x1p32);
}

}  // namespace heed::reference
