// SPDX-License-Identifier: Apache-2.0
// The sums over queries and over keys of attention backward. Each element is one chain, in the order of rows or of keys.
//
//   product                     a (rows x steps)       b (steps x lanes)       sums over
//   gradient of values, keys    rows, (d x query)      weights, [query][key]   queries, into a panel [d][key]
//   gradient of queries         dS, (query x key)      keys, [key][d]          keys, into rows [query][d]
#pragma once

#include "backends/cpu/kernels/attention/backward_memory-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Tiles of the products with keys, which have few steps: 4 x 4 has fewer loads and stores for each.
constexpr int kKeyTileRows = kRegisters >= 32 ? 4 : kTileRows;
constexpr int kKeyTileVectors = kRegisters >= 32 ? 4 : kTileVectors;

// sums[d][lane] += sum over rows of rows[r][d] * pairs[r][lane]; a sum that has not begun is written.
HEED_NOINLINE void add_to_panel(const float* rows, int64_t stride, const float* pairs, int64_t count, int64_t size,
                                bool begun, float* sums) {
  visit_tiles<kTileRows>(
      size, [&](auto tile_rows, int64_t d) __attribute__((always_inline)) {
        constexpr int kRows = decltype(tile_rows)::kNumber;
        float* to = sums + d * kPanelKeys;
        Vec tile[kRows][kTileVectors] = {};
        if (begun) {
#pragma GCC unroll 16
          for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
            for (int v = 0; v < kTileVectors; ++v) tile[i][v] = load(to + i * kPanelKeys + v * kLanes);
          }
        }
        multiply_tile<kRows, kTileVectors>(rows + d, 1, stride, pairs, kPanelKeys, count, tile);
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
          for (int v = 0; v < kTileVectors; ++v) store(to + i * kPanelKeys + v * kLanes, tile[i][v]);
        }
      });
}

// Like add_to_panel, without pairs that are not in `seen`, whose rows may hold numbers that are not finite. If all are finite,
// the sums have the same bits.
static void add_seen_to_panel(const float* rows, int64_t stride, const float* pairs, const int32_t* seen, int32_t which,
                              int64_t count, int64_t size, bool begun, float* sums) {
  for (int64_t d = 0; d < size; ++d) {
    for (int64_t v = 0; v < kPanelKeys; v += kLanes) {
      float* to = sums + d * kPanelKeys + v;
      Vec sum = begun ? load(to) : Vec{};
      for (int64_t r = 0; r < count; ++r) {
        const IntVec of_pair = load(seen + r * kPanelKeys + v);
        const Vec with_row = fma(broadcast(rows[r * stride + d]), load(pairs + r * kPanelKeys + v), sum);
        sum = select((of_pair == kSees) | (of_pair == which), with_row, sum);
      }
      store(to, sum);
    }
  }
}

template <int vectors>
HEED_INLINE void add_key_columns(const float* pairs, int64_t panel_pairs, int64_t num_panels, const float* keys,
                                 int64_t width, int64_t count, float* sums) {
  visit_tiles<kKeyTileRows>(
      count, [&](auto tile_rows, int64_t r) __attribute__((always_inline)) {
        constexpr int kRows = decltype(tile_rows)::kNumber;
        float* to = sums + r * width;
        Vec tile[kRows][vectors];
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v) tile[i][v] = load(to + i * width + v * kLanes);
        }
        for (int64_t p = 0; p < num_panels; ++p) {
          multiply_tile<kRows, vectors>(pairs + p * panel_pairs + r * kPanelKeys, kPanelKeys, 1,
                                        keys + p * kPanelKeys * width, width, kPanelKeys, tile);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v) store(to + i * width + v * kLanes, tile[i][v]);
        }
      });
}

// sums[r][d] += sum over the keys of the panels of pairs[panel][r][key] * keys[panel][key][d].
HEED_NOINLINE void add_to_rows(const float* pairs, int64_t panel_pairs, int64_t num_panels, const float* keys,
                               int64_t width, int64_t count, float* sums) {
  int64_t d = 0;
  for (; d + kKeyTileVectors * kLanes <= width; d += kKeyTileVectors * kLanes)
    add_key_columns<kKeyTileVectors>(pairs, panel_pairs, num_panels, keys + d, width, count, sums + d);
  if constexpr (kKeyTileVectors > 2) {
    for (; d + 2 * kLanes <= width; d += 2 * kLanes)
      add_key_columns<2>(pairs, panel_pairs, num_panels, keys + d, width, count, sums + d);
  }
  if (d < width) add_key_columns<1>(pairs, panel_pairs, num_panels, keys + d, width, count, sums + d);
}

// Like add_to_rows, without pairs that are not in `seen`, whose keys may hold numbers that are not finite.
static void add_seen_to_rows(const float* pairs, const int32_t* seen, int64_t panel_pairs, int64_t num_panels,
                             const float* keys, int64_t width, int64_t count, float* sums) {
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t d = 0; d < width; d += kLanes) {
      Vec sum = load(sums + r * width + d);
      for (int64_t k = 0; k < num_panels * kPanelKeys; ++k) {
        const int64_t pair = k / kPanelKeys * panel_pairs + r * kPanelKeys + k % kPanelKeys;
        if (seen[pair] == kSees) sum = fma(broadcast(pairs[pair]), load(keys + k * width + d), sum);
      }
      store(sums + r * width + d, sum);
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
