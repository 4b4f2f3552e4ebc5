// SPDX-License-Identifier: Apache-2.0
// The micro-kernel of every product that heed computes: rank-1 updates of a tile that stays in registers,
//
//   sums[i][lanes] += sum over k of a[i * a_row + k * a_step] * b[k * b_step + lanes],   k ascending.
//
// a is read as scalars, which are broadcast, with any two strides; b as vectors. So no operand needs a transpose, and
// no sum runs across lanes: each element is the sum of a plain loop, in that loop's order, whatever shares its tile.
//
//   product                a (rows x steps)         b (steps x lanes)          tile
//   scores, transposed     keys (key x d)           queries, [d][lanes]        keys x queries
//   weighted values        values (d x key)         weights, [key][lanes]      d x queries
//   projection             inputs (row x e)         packed weight, [e][lanes]  rows x outputs
#pragma once

#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Two FMA units with a latency of 4 need 8 independent sums. A step loads `vectors` vectors and broadcasts `rows`
// scalars for rows * vectors FMAs, two loads and two FMAs a cycle: rows + vectors <= rows * vectors. 8 x 2 and 6 x 2
// satisfy both and leave registers for what is loaded; 8 x 2 also divides the usual head sizes.
constexpr int kTileVectors = 2;
constexpr int kTileRows = kRegisters >= 32 ? 8 : 6;

template <int rows, int vectors, typename Element>
HEED_INLINE void multiply_step(const float* a, int64_t a_row, const Element* b, Vec (&sums)[rows][vectors]) {
  Vec panel[vectors];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) panel[v] = load(b + v * kLanes);
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
    const Vec scalar = broadcast(a[i * a_row]);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) accumulate(sums[i][v], scalar, panel[v]);
  }
}

template <int rows, int vectors, typename Element>
HEED_INLINE void multiply_tile(const float* a, int64_t a_row, int64_t a_step, const Element* b, int64_t b_step,
                               int64_t depth, Vec (&sums)[rows][vectors]) {
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
#pragma GCC unroll 4
    for (int step = 0; step < 4; ++step)
      multiply_step<rows, vectors>(a + (k + step) * a_step, a_row, b + (k + step) * b_step, sums);
  }
  for (; k < depth; ++k) multiply_step<rows, vectors>(a + k * a_step, a_row, b + k * b_step, sums);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
