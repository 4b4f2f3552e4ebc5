// SPDX-License-Identifier: Apache-2.0
// Packs blocks of weights for projections, unpacks them, and transposes blocks of files that hold weights transposed.
// Elements are copied bitwise.
//
// All are transposes of tiles with as many rows as a vector has lanes. Elements of 16 bits are moved in pairs, like
// one element of 32 bits, and the pairs are separated at the end.
#pragma once

#include "backends/cpu/kernels/linear/linear-inl.h"
#include "backends/cpu/kernels/linear/linear.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Copies one element; in a file it may have any address.
template <typename Unit>
HEED_INLINE void move_unit(const Unit* from, Unit* to) {
  __builtin_memcpy(to, from, sizeof(Unit));
}

// The number of elements in each of a tile's kLanes rows.
template <typename Unit>
constexpr int64_t kTileInputs = kLanes* static_cast<int64_t>(sizeof(float) / sizeof(Unit));

// to[e * to_stride + row] = from[row * from_stride + e] for kLanes rows of kTileInputs elements.
HEED_INLINE void transpose_tile(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Vec tile[kLanes];
#pragma GCC unroll 16
  for (int row = 0; row < kLanes; ++row) tile[row] = load(from + row * from_stride);
  transpose(tile);
#pragma GCC unroll 16
  for (int e = 0; e < kLanes; ++e) store(to + e * to_stride, tile[e]);
}

HEED_INLINE void store_halves(uint16_t* to, IntVec value) {
  const HalfVec halves = __builtin_convertvector(value, HalfVec);
  __builtin_memcpy(to, &halves, sizeof halves);
}

HEED_INLINE void transpose_tile(const uint16_t* from, int64_t from_stride, uint16_t* to, int64_t to_stride) {
  Vec tile[kLanes];
#pragma GCC unroll 16
  for (int row = 0; row < kLanes; ++row) __builtin_memcpy(&tile[row], from + row * from_stride, sizeof tile[row]);
  transpose(tile);
#pragma GCC unroll 16
  for (int pair = 0; pair < kLanes; ++pair) {
    const IntVec bits = bits_of(tile[pair]);
    store_halves(to + (2 * pair) * to_stride, bits & 0xffff);
    store_halves(to + (2 * pair + 1) * to_stride, (bits >> 16) & 0xffff);
  }
}

// to[column * to_stride + row] = from[row * from_stride + column].
template <typename Unit>
static void transpose_units(const Unit* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, Unit* to,
                            int64_t to_stride) {
  const int64_t tile_rows = num_rows / kLanes * kLanes;
  const int64_t tile_columns = num_columns / kTileInputs<Unit> * kTileInputs<Unit>;
  for (int64_t column = 0; column < tile_columns; column += kTileInputs<Unit>) {
    for (int64_t row = 0; row < tile_rows; row += kLanes)
      transpose_tile(from + row * from_stride + column, from_stride, to + column * to_stride + row, to_stride);
  }
  for (int64_t column = 0; column < num_columns; ++column) {
    const int64_t first_row = column < tile_columns ? tile_rows : 0;
    for (int64_t row = first_row; row < num_rows; ++row)
      move_unit(from + row * from_stride + column, to + column * to_stride + row);
  }
}

static void transpose_elements(const void* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, void* to,
                               int64_t to_stride, int64_t element_size) {
  if (element_size == 4) {
    transpose_units(static_cast<const float*>(from), from_stride, num_rows, num_columns, static_cast<float*>(to),
                    to_stride);
  } else {
    transpose_units(static_cast<const uint16_t*>(from), from_stride, num_rows, num_columns, static_cast<uint16_t*>(to),
                    to_stride);
  }
}

// Packs one vector of columns of a panel: `count` rows of a weight; the other lanes are 0.
template <typename Unit>
static void pack_rows(const Unit* from, int64_t row_stride, int64_t input_stride, int64_t count, int64_t num_inputs,
                      Unit* to, int64_t width) {
  int64_t e = 0;
  if (count == kLanes && input_stride == 1) {
    for (; e + kTileInputs<Unit> <= num_inputs; e += kTileInputs<Unit>)
      transpose_tile(from + e, row_stride, to + e * width, width);
  } else if (count == kLanes && row_stride == 1) {
    for (; e < num_inputs; ++e) __builtin_memcpy(to + e * width, from + e * input_stride, kLanes * sizeof(Unit));
  }
  for (; e < num_inputs; ++e) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const Unit zero{};
      move_unit(lane < count ? from + lane * row_stride + e * input_stride : &zero, to + e * width + lane);
    }
  }
}

// How many elements of a vector of columns are written before the next vector: 8 KiB at 16 columns of f32, so that a
// cache line shared by several vectors is still in the first-level cache.
constexpr int64_t kPackInputs = 128;

template <typename Unit>
static void pack_block(const PackArguments& arguments) {
  const auto* block = static_cast<const Unit*>(arguments.block.data);
  const int64_t row_stride = arguments.block.strides[2];
  const int64_t input_stride = arguments.block.strides[3];
  // The last panel may begin within the columns of the one before.
  for (int64_t p = larger(0, arguments.first_row / kPanelColumns - 1); p < panels_of(arguments.output_size); ++p) {
    const PanelRange panel = panel_at(arguments.output_size, p);
    if (panel.first_column >= arguments.end_row) break;
    const int64_t width = panel.vectors * kLanes;
    Unit* const packed = static_cast<Unit*>(arguments.packed) + panel.first_column * arguments.input_size;
    for (int64_t e = arguments.first_input; e < arguments.end_input; e += kPackInputs) {
      for (int64_t v = 0; v < panel.vectors; ++v) {
        const int64_t row = panel.first_column + v * kLanes;
        if (row < arguments.first_row || row >= arguments.end_row) continue;
        pack_rows(block + (row - arguments.first_row) * row_stride + (e - arguments.first_input) * input_stride,
                  row_stride, input_stride, smaller(arguments.output_size - row, kLanes),
                  smaller(arguments.end_input - e, kPackInputs), packed + e * width + v * kLanes, width);
      }
    }
  }
}

template <typename Unit>
static void unpack_block(const PackArguments& arguments) {
  auto* const block = static_cast<Unit*>(arguments.block.data);
  const int64_t row_stride = arguments.block.strides[2];
  for (int64_t p = larger(0, arguments.first_row / kPanelColumns - 1); p < panels_of(arguments.output_size); ++p) {
    const PanelRange panel = panel_at(arguments.output_size, p);
    if (panel.first_column >= arguments.end_row) break;
    const int64_t width = panel.vectors * kLanes;
    const int64_t first_row = larger(panel.first_column, arguments.first_row);
    const int64_t num_rows = smaller(panel.first_column + width, arguments.end_row) - first_row;
    if (num_rows <= 0) continue;
    const Unit* const packed = static_cast<const Unit*>(arguments.packed) + panel.first_column * arguments.input_size +
                               arguments.first_input * width + first_row - panel.first_column;
    transpose_units(packed, width, arguments.end_input - arguments.first_input, num_rows,
                    block + (first_row - arguments.first_row) * row_stride, row_stride);
  }
}

static void pack_linear(const PackArguments* arguments) {
  if (size_of_element(arguments->block.dtype) == sizeof(float))
    pack_block<float>(*arguments);
  else
    pack_block<uint16_t>(*arguments);
}

static void unpack_linear(const PackArguments* arguments) {
  if (size_of_element(arguments->block.dtype) == sizeof(float))
    unpack_block<float>(*arguments);
  else
    unpack_block<uint16_t>(*arguments);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
