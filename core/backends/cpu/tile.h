// SPDX-License-Identifier: Apache-2.0
// The inner loop of everything the CPU computes: rank-1 updates of a tile.
//
// A tile keeps kLanes rows of the batch (queries, or rows of a projection) side by side in memory, so that one step is
// a scalar times a vector of lanes: no sum runs across lanes, every lane's arithmetic is that of a plain loop, and its
// result does not depend on which rows share its tile.
#pragma once

#include <cstdint>

namespace heed::cpu {

// Four vectors of SSE2 or two of AVX2: enough independent sums to cover the latency of an addition.
inline constexpr int64_t kLanes = 16;

// tile[i][lane] += sum over k of a[i * a_stride + k] * panel[k][lane], k ascending; tile is [rows][kLanes], panel
// [depth][kLanes].
inline void accumulate_products(const float* a, int64_t a_stride, const float* panel, int64_t depth, float* tile,
                                int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = a + i * a_stride;
    float sums[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] = tile[i * kLanes + lane];
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += row[k] * panel[k * kLanes + lane];
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) tile[i * kLanes + lane] = sums[lane];
  }
}

}  // namespace heed::cpu
