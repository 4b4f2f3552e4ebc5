// SPDX-License-Identifier: Apache-2.0
// The tail of the normal distribution's function Phi. For t >= 0, Phi(-t) = e^(-t^2/2) r(t), where r falls smoothly from 1/2 and is
// a quotient of polynomials with positive coefficients, so that no sum cancels (minimax of degrees 4 and 5 on [0, 14.5], relative
// error 0.1 units of f32's round-off, 2^-24). erfc(x) is 2 Phi(-sqrt(2) x).
#pragma once

#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// r(t)
HEED_INLINE Vec tail_quotient(Vec t) {
  Vec p = fma(t, broadcast(0.00411630620f), broadcast(0.0406332028f));
  p = fma(t, p, broadcast(0.183235062f));
  p = fma(t, p, broadcast(0.438294839f));
  p = fma(t, p, broadcast(0.5f));
  Vec q = fma(t, broadcast(0.0103179298f), broadcast(0.101858782f));
  q = fma(t, q, broadcast(0.469470431f));
  q = fma(t, q, broadcast(1.20250281f));
  q = fma(t, q, broadcast(1.67447466f));
  q = fma(t, q, broadcast(1.0f));
  return p / q;
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
