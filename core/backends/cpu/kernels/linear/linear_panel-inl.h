// SPDX-License-Identifier: Apache-2.0
// The panels of a projection: its outputs, cut into as many columns as a tile has.
#pragma once

#include "backends/cpu/kernels/linear/linear.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The tile of a projection: 8 x 3 sums, 3 vectors of the panel and a scalar take 28 of 32 registers; with 16 registers
// 6 x 2, 2 and a scalar take 15. It is wide rather than high, because a step reads rows + vectors and the panel comes
// from far away: each of its vectors is used `rows` times.
constexpr int kLinearRows = kTileRows;
constexpr int kLinearVectors = kRegisters >= 32 ? 3 : 2;
constexpr int64_t kPanelColumns = kLinearVectors * kLanes;

struct PanelRange {
  int64_t first_column;
  int64_t vectors;
};

HEED_INLINE int64_t vectors_of(int64_t output_size) { return divide_up(output_size, kLanes); }

static int64_t panels_of(int64_t output_size) { return divide_up(vectors_of(output_size), kLinearVectors); }

// All panels but the last have kLinearVectors vectors. If the last one would have one of three, it takes one from the
// panel before, since a tile of one vector is limited by its loads.
HEED_INLINE PanelRange panel_at(int64_t output_size, int64_t panel) {
  const int64_t vectors = vectors_of(output_size);
  int64_t first = panel * kLinearVectors;
  int64_t end = first + kLinearVectors;
  if constexpr (kLinearVectors == 3) {
    const int64_t last = panels_of(output_size) - 1;
    if (vectors % 3 == 1 && last > 0) {
      if (panel == last) --first;
      if (panel == last - 1) --end;
    }
  }
  return {first * kLanes, smaller(end, vectors) - first};
}

static PackedRow packed_row(int64_t output_size, int64_t input_size, int64_t row) {
  PanelRange panel = panel_at(output_size, row / kPanelColumns);
  if (row >= panel.first_column + panel.vectors * kLanes) panel = panel_at(output_size, row / kPanelColumns + 1);
  return {panel.first_column * input_size + row - panel.first_column, panel.vectors * kLanes};
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
