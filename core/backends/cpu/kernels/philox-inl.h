#pragma once
#include "backends/cpu/kernels/simd.h"
namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {
static void philox_rounds(IntVec (&w)[4], uint64_t seed) {
  for (int i = 0; i < kLanes; ++i) {
    uint32_t c[4] = {(uint32_t)w[0][i], (uint32_t)w[1][i], (uint32_t)w[2][i], (uint32_t)w[3][i]};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int r = 0; r < 10; ++r) {
      uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
      uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(a >> 32) ^ c[3] ^ k1;
      c[1] = (uint32_t)b;
      c[3] = (uint32_t)a;
      c[0] = n0;
      c[2] = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int j = 0; j < 4; ++j) w[j][i] = (int32_t)c[j];
  }
}
static IntVec is_kept(IntVec word, uint32_t threshold) {
  IntVec r;
  for (int i = 0; i < kLanes; ++i) r[i] = (uint32_t)word[i] >= threshold ? -1 : 0;
  return r;
}
}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
