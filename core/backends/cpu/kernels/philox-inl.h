// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (base/philox.h says what it is) for as many counters at once as there are lanes: what dropout keeps.
//
// A round multiplies two words of 32 bits and needs both halves of the products, which processors give for every other
// lane. So even and odd lanes go through the rounds apart, as 64-bit lanes whose high halves are left as whatever they
// become: products ignore them, and nothing but exclusive ors and shifts to the right touches the words otherwise.
#pragma once

#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The rounds for every other lane of the words.
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

// words[i][lane] is word i of a lane's counter, and becomes word i of its random numbers.
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

// Whether a random word, which is unsigned, is not below the threshold.
HEED_INLINE IntVec is_kept(IntVec word, uint32_t threshold) {
  return (word ^ INT32_MIN) >= broadcast(static_cast<int32_t>(threshold ^ 0x80000000u));
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
