// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, the counter-based random number generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers:
// as easy as 1, 2, 3" (SC 2011). The same counter and key give the same four words on every machine and in any order,
// so dropout needs no state and does not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>

namespace heed {

using PhiloxCounter = std::array<uint32_t, 4>;

// The last word of the counter says what a number is used for, so that one seed gives different numbers to each use.
// Dropout in attention puts the index of the batch element there, which would reach the values below only with some
// four billion batch elements; a dropout layer puts 0 there.
inline constexpr uint32_t kUniformUse = 0xFFFFFFFF;
inline constexpr uint32_t kNormalUse = 0xFFFFFFFE;
inline constexpr uint32_t kInitializeUse = 0xFFFFFFFD;
inline constexpr uint32_t kChildUse = 0xFFFFFFFC;

inline PhiloxCounter philox4x32(PhiloxCounter counter, uint64_t seed) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

}  // namespace heed
