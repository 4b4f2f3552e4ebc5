// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (see base/philox.h) for kLanes counters at a time: the random words of dropout.
//
// A round multiplies two 32-bit words and needs both halves of the products, which processors compute for every other
// lane. So even and odd lanes go through the rounds separately, as 64-bit lanes whose high halves are undefined:
// products ignore the high halves, and all else is exclusive ors and right shifts of products.
#pragma once

#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Computes the rounds for every other lane of the words.
HEED_INLINE void philox_rounds(LongVec (&words)[4], uint64_t seed) {
  const LongVec multiplier0 = LongVec{} + 0xD2511F53u;
  const LongVec multiplier1 = LongVec{} + 0xCD9E8D57u;
  auto key0 = static_cast<uint32_t>(seed);
  auto key1 = static_cast<uint32_t>(seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const LongVec product0 = multiply_low_halves(words[0], multiplier0);
    const LongVec product1 = multiply_low_halves(words[2], multiplier1);
    words[0] = (product1 >> 32) ^ words[1] ^ key0;
    words[1] = product1;
    words[2] = (product0 >> 32) ^ words[3] ^ key1;
    words[3] = product0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

// words[i][lane] is word i of a lane's counter. It becomes word i of the lane's random numbers.
HEED_INLINE void philox_rounds(IntVec (&words)[4], uint64_t seed) {
  LongVec even[4];
  LongVec odd[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    even[i] = reinterpret_cast<LongVec>(words[i]);
    odd[i] = even[i] >> 32;
  }
  philox_rounds(even, seed);
  philox_rounds(odd, seed);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) words[i] = reinterpret_cast<IntVec>((odd[i] << 32) | (even[i] & UINT32_MAX));
}

// Whether a random word, as an unsigned number, is at least the threshold.
HEED_INLINE IntVec is_kept(IntVec word, uint32_t threshold) {
  return (word ^ INT32_MIN) >= broadcast(static_cast<int32_t>(threshold ^ 0x80000000u));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
