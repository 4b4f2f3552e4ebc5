// SPDX-License-Identifier: Apache-2.0
// Projections: output[row][n] = sum over e of input[row][e] * weight[n][e] + bias[n].
//
// Outputs are lanes. A weight lies in panels of as many outputs as a tile is wide, [panel][e][lanes], so that a step of
// the micro-kernel reads vectors that lie side by side, and a panel is one stream. Inputs are read where they lie, one
// scalar at a time.
//
// Every output is one chain of FMAs in the order of e, begun with 0. Where the chain is cut into blocks, so that what a
// block reads stays in the caches, the sum so far is put aside in f32, which changes nothing: rows, tiles, blocks and
// threads leave no trace in the bits.
#pragma once

#include "backends/cpu/kernels/elements-inl.h"
#include "backends/cpu/kernels/linear.h"
#include "backends/cpu/kernels/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The tile of a projection: 8 x 3 sums, 3 vectors of the panel and a scalar are 28 of 32 registers; with 16 registers
// 6 x 2, 2 and a scalar are 15. Wide rather than high, because a step reads rows + vectors and the panel is what comes
// from far away: it is used `rows` times.
constexpr int kLinearRows = kTileRows;
constexpr int kLinearVectors = kRegisters >= 32 ? 3 : 2;
constexpr int64_t kPanelColumns = kLinearVectors * kLanes;

#ifndef KC
#define KC 1024
#endif
constexpr int64_t kBlockDepth = KC;
// Elements of the input that a block may have: half of a second-level cache of 1 MiB.
constexpr int64_t kBlockElements = 128 * 1024;

// ---- panels ---------------------------------------------------------------------------------------------------------

struct PanelRange {
  int64_t first_column;
  int64_t vectors;
};

HEED_INLINE int64_t vectors_of(int64_t output_size) { return (output_size + kLanes - 1) / kLanes; }

HEED_INLINE int64_t panels_of(int64_t output_size) {
  return (vectors_of(output_size) + kLinearVectors - 1) / kLinearVectors;
}

// All panels have kLinearVectors vectors but the last; where it would have one of three it takes one from the panel
// before, since a tile of one vector is bound by its loads.
HEED_INLINE PanelRange panel_at(int64_t output_size, int64_t panel) {
  const int64_t vectors = vectors_of(output_size);
  const int64_t count = panels_of(output_size);
  const bool shares = kLinearVectors == 3 && vectors % 3 == 1 && count > 1;
  int64_t first = panel * kLinearVectors;
  int64_t end = first + kLinearVectors;
  if (shares && panel == count - 1) --first;
  if (shares && panel == count - 2) --end;
  if (end > vectors) end = vectors;
  return {first * kLanes, end - first};
}

// ---- packing --------------------------------------------------------------------------------------------------------

// Columns first_column .. of a weight, elements e0 .. e1 - 1, to [e][vectors * kLanes] in f32; columns beyond are 0.
static void widen_panel(const KernelOperand& weight, int64_t output_size, PanelRange panel, int64_t e0, int64_t e1,
                        float* to) {
  const int64_t width = panel.vectors * kLanes;
  for (int64_t v = 0; v < panel.vectors; ++v) {
    const int64_t n0 = panel.first_column + v * kLanes;
    const int64_t count = output_size - n0 < kLanes ? output_size - n0 : kLanes;
    if (weight.strides[2] == 1) {
      for (int64_t e = e0; e < e1; ++e) {
        store(to + (e - e0) * width + v * kLanes,
              load_first_elements(element_address(weight, n0 + e * weight.strides[3]), weight.element_type, count));
      }
      continue;
    }
    int64_t e = e0;
    if (weight.strides[3] == 1) {
      for (; e + kLanes <= e1; e += kLanes) {
        Vec tile[kLanes];
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) {
          tile[lane] = lane < count ? load_elements(element_address(weight, (n0 + lane) * weight.strides[2] + e),
                                                    weight.element_type)
                                    : Vec{};
        }
        transpose(tile);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(to + (e + i - e0) * width + v * kLanes, tile[i]);
      }
    }
    for (; e < e1; ++e) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        to[(e - e0) * width + v * kLanes + lane] =
            lane < count
                ? load_element(element_address(weight, (n0 + lane) * weight.strides[2] + e * weight.strides[3]),
                               weight.element_type)
                : 0.0f;
      }
    }
  }
}

static size_t packed_linear_bytes(int64_t output_size, int64_t input_size, int32_t element_type) {
  return static_cast<size_t>(vectors_of(output_size) * kLanes) * static_cast<size_t>(input_size) *
         static_cast<size_t>(size_of_element(element_type));
}

static void pack_linear(const KernelOperand* weight, int64_t output_size, int64_t input_size, void* packed) {
  for (int64_t p = 0; p < panels_of(output_size); ++p) {
    const PanelRange panel = panel_at(output_size, p);
    const int64_t width = panel.vectors * kLanes;
    if (weight->element_type == kF32) {
      widen_panel(*weight, output_size, panel, 0, input_size,
                  static_cast<float*>(packed) + panel.first_column * input_size);
      continue;
    }
    uint16_t* to = static_cast<uint16_t*>(packed) + panel.first_column * input_size;
    for (int64_t e = 0; e < input_size; ++e) {
      for (int64_t column = 0; column < width; ++column) {
        const int64_t n = panel.first_column + column;
        to[e * width + column] =
            n < output_size
                ? static_cast<const uint16_t*>(weight->data)[n * weight->strides[2] + e * weight->strides[3]]
                : uint16_t{0};
      }
    }
  }
}

// ---- tiles ----------------------------------------------------------------------------------------------------------

struct LinearTile {
  const float* a;
  int64_t a_row;
  const void* b;
  int64_t depth;
  float* partial;      // [rows][width], sums so far; where they are read from and, unless this is the last block, put
  bool first;          // begins with 0
  bool last;           // ends in `output` or, where that is null, in `partial` with the bias
  const float* bias;   // [width], or null
  float* const* rows;  // or null: whole vectors, each at vector_offsets from the row
  const int64_t* vector_offsets;
};

template <int rows, int vectors, typename Element>
static void linear_tile(const LinearTile& tile) {
  Vec sums[rows][vectors];
  if (tile.first) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[i][v] = Vec{};
    }
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[i][v] = load(tile.partial + (i * vectors + v) * kLanes);
    }
  }
  multiply_tile<rows, vectors>(tile.a, tile.a_row, 1, static_cast<const Element*>(tile.b), vectors * kLanes, tile.depth,
                               sums);
  if (tile.last && tile.bias != nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Vec bias = load(tile.bias + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) sums[i][v] += bias;
    }
  }
  if (tile.last && tile.rows != nullptr) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) store(tile.rows[i] + tile.vector_offsets[v], sums[i][v]);
    }
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(tile.partial + (i * vectors + v) * kLanes, sums[i][v]);
  }
}

template <int vectors, typename Element>
static void linear_tile_of_rows(int64_t rows, const LinearTile& tile) {
  switch (rows) {
    case 1: return linear_tile<1, vectors, Element>(tile);
    case 2: return linear_tile<2, vectors, Element>(tile);
    case 3: return linear_tile<3, vectors, Element>(tile);
    case 4: return linear_tile<4, vectors, Element>(tile);
    case 5: return linear_tile<5, vectors, Element>(tile);
    case 6: return linear_tile<6, vectors, Element>(tile);
    default: break;
  }
  if constexpr (kLinearRows == 8) {
    if (rows == 7)
      linear_tile<7, vectors, Element>(tile);
    else
      linear_tile<8, vectors, Element>(tile);
  }
}

template <typename Element>
static void linear_tile_of_size(int64_t rows, int64_t vectors, const LinearTile& tile) {
  if (vectors == 1) return linear_tile_of_rows<1, Element>(rows, tile);
  if (vectors == 2) return linear_tile_of_rows<2, Element>(rows, tile);
  if constexpr (kLinearVectors == 3) linear_tile_of_rows<3, Element>(rows, tile);
}

// ---- outputs --------------------------------------------------------------------------------------------------------

// Columns of a panel that belong to one head.
struct Piece {
  int64_t first;  // column of the panel
  int64_t count;
  int64_t offset;  // of its first element in the output, within its row
};

struct PanelOutput {
  const KernelOperand* operand;
  Piece pieces[kPanelColumns];
  int64_t num_pieces;
  float bias[kPanelColumns];
  bool has_bias;
  // Whether whole vectors of f32 can be stored, and where.
  bool direct;
  int64_t vector_offsets[kLinearVectors];
};

static void find_output(const LinearPartArguments& part, PanelRange panel, PanelOutput& output) {
  const int64_t width = panel.vectors * kLanes;
  const int64_t end = panel.first_column + width < part.output_size ? panel.first_column + width : part.output_size;
  const int64_t* strides = part.output.strides;
  output.operand = &part.output;
  output.num_pieces = 0;
  output.direct = part.output.element_type == kF32 && strides[3] == 1 && end == panel.first_column + width;
  int64_t head = panel.first_column / part.head_size;
  for (int64_t n = panel.first_column; n < end; ++head) {
    const int64_t d = n - head * part.head_size;
    const int64_t count = part.head_size - d < end - n ? part.head_size - d : end - n;
    output.pieces[output.num_pieces++] = {n - panel.first_column, count, head * strides[0] + d * strides[3]};
    // Heads that lie side by side are one.
    output.direct = output.direct && (count % kLanes == 0);
    n += count;
  }
  if (output.direct) {
    for (int64_t p = 0; p < output.num_pieces; ++p) {
      const Piece& piece = output.pieces[p];
      for (int64_t v = 0; v * kLanes < piece.count; ++v)
        output.vector_offsets[piece.first / kLanes + v] = piece.offset + v * kLanes;
    }
  }
  output.has_bias = part.bias.data != nullptr;
  if (!output.has_bias) return;
  for (int64_t column = 0; column < width; ++column) {
    const int64_t n = panel.first_column + column;
    output.bias[column] =
        n < end ? load_element(element_address(part.bias, n * part.bias.strides[3]), part.bias.element_type) : 0.0f;
  }
}

HEED_INLINE void store_narrow(char* to, int32_t, const float* from, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(reinterpret_cast<float*>(to) + i, load(from + i));
  for (; i < count; ++i) reinterpret_cast<float*>(to)[i] = from[i];
}

// One row of a tile, [width] in f32, to where its pieces belong.
static void store_row(const PanelOutput& output, int64_t row_offset, const float* from) {
  const KernelOperand& operand = *output.operand;
  for (int64_t p = 0; p < output.num_pieces; ++p) {
    const Piece& piece = output.pieces[p];
    if (operand.strides[3] == 1) {
      store_narrow(const_cast<char*>(element_address(operand, row_offset + piece.offset)), operand.element_type,
                   from + piece.first, piece.count);
      continue;
    }
    for (int64_t i = 0; i < piece.count; ++i) {
      store_narrow(const_cast<char*>(element_address(operand, row_offset + piece.offset + i * operand.strides[3])),
                   operand.element_type, from + piece.first + i, 1);
    }
  }
}

// ---- an item --------------------------------------------------------------------------------------------------------

HEED_INLINE int64_t block_depth(int64_t num_rows, int64_t input_size, bool in_place) {
  if (in_place && num_rows <= kLinearRows) return input_size;
  return kBlockDepth;
}

struct InputRows {
  const float* data;
  int64_t stride;
};

// Rows first .. end - 1 of the whole, elements e0 .. e1 - 1.
static InputRows input_rows(const LinearArguments& arguments, const LinearItem& item, int64_t e0, int64_t e1,
                            float* block) {
  const KernelOperand& input = arguments.input;
  const int64_t s = item.first_row / arguments.rows;
  const int64_t r = item.first_row - s * arguments.rows;
  const int64_t num_rows = item.end_row - item.first_row;
  const bool uniform = r + num_rows <= arguments.rows || input.strides[1] == arguments.rows * input.strides[2];
  const int64_t index = s * input.strides[1] + r * input.strides[2] + e0 * input.strides[3];
  if (input.element_type == kF32 && input.strides[3] == 1 && uniform && (input.strides[2] % 1024 != 0 || num_rows == 1))
    return {static_cast<const float*>(input.data) + index, input.strides[2]};
  int64_t stride = (e1 - e0 + kLanes - 1) / kLanes * kLanes;
  if (stride % 1024 == 0) stride += kLanes;
  int64_t row = r;
  int64_t batch_item = s;
  for (int64_t i = 0; i < num_rows; ++i) {
    widen_row(element_address(input, batch_item * input.strides[1] + row * input.strides[2] + e0 * input.strides[3]),
              input.element_type, input.strides[3], e1 - e0, block + i * stride);
    if (++row == arguments.rows) {
      row = 0;
      ++batch_item;
    }
  }
  return {block, stride};
}

static void multiply_panel(const LinearArguments& arguments, const LinearItem& item, InputRows input,
                           const PanelOutput& output, int64_t vectors, const void* b, int32_t b_type, int64_t depth,
                           bool first, bool last, float* partial) {
  const int64_t num_rows = item.end_row - item.first_row;
  const int64_t width = vectors * kLanes;
  const int64_t num_tiles = (num_rows + kLinearRows - 1) / kLinearRows;
  float tile_sums[kLinearRows * kPanelColumns];
  float* rows[kLinearRows];
  int64_t row = item.first_row;
  int64_t s = row / arguments.rows;
  int64_t r = row - s * arguments.rows;
  LinearTile tile;
  tile.a_row = input.stride;
  tile.b = b;
  tile.depth = depth;
  tile.first = first;
  tile.last = last;
  tile.bias = output.has_bias ? output.bias : nullptr;
  tile.vector_offsets = output.vector_offsets;
  tile.rows = output.direct ? rows : nullptr;
  for (int64_t t = 0; t < num_tiles; ++t) {
    // Tiles of rows that differ by one at most: a tile of one row would wait for its FMAs.
    const int64_t end = item.first_row + num_rows * (t + 1) / num_tiles;
    const int64_t count = end - row;
    const int64_t begin = row - item.first_row;
    tile.a = input.data + begin * input.stride;
    tile.partial = partial != nullptr ? partial + begin * width : tile_sums;
    int64_t offsets[kLinearRows];
    if (last) {
      for (int64_t i = 0; i < count; ++i) {
        offsets[i] = s * output.operand->strides[1] + r * output.operand->strides[2];
        rows[i] = static_cast<float*>(output.operand->data) + offsets[i];
        if (++r == arguments.rows) {
          r = 0;
          ++s;
        }
      }
    }
    if (b_type == kF32)
      linear_tile_of_size<float>(count, vectors, tile);
    else if (b_type == kF16)
      linear_tile_of_size<F16>(count, vectors, tile);
    else
      linear_tile_of_size<BF16>(count, vectors, tile);
    if (last && !output.direct) {
      for (int64_t i = 0; i < count; ++i) store_row(output, offsets[i], tile.partial + i * width);
    }
    row = end;
  }
}

static size_t linear_scratch_bytes(const LinearArguments* arguments, int64_t num_rows, int64_t num_panels) {
  (void)arguments;
  (void)num_rows;
  (void)num_panels;
  return 64 << 20;
}

static void linear_item(const LinearArguments* arguments, const LinearItem* item, void* scratch) {
  const int64_t num_rows = item->end_row - item->first_row;
  const int64_t input_size = arguments->input_size;
  float* block = static_cast<float*>(scratch);
  float* panel_block = block + 2 * 1024 * 1024;
  float* partial = panel_block + 1024 * 1024;
  const int64_t step = num_rows <= kLinearRows ? input_size : kBlockDepth;
  const bool cut = input_size > step;
  for (int64_t e0 = 0; e0 == 0 || e0 < input_size; e0 += step) {
    const int64_t e1 = e0 + step < input_size ? e0 + step : input_size;
    const InputRows input = input_rows(*arguments, *item, e0, e1, block);
    int64_t panel_index = item->first_panel;
    int64_t part_first = 0;
    float* panel_partial = partial;
    for (int32_t p = 0; p < arguments->num_parts && panel_index < item->end_panel; ++p) {
      const LinearPartArguments& part = arguments->parts[p];
      const int64_t count = panels_of(part.output_size);
      for (; panel_index < item->end_panel && panel_index < part_first + count; ++panel_index) {
        const PanelRange panel = panel_at(part.output_size, panel_index - part_first);
        PanelOutput output;
        find_output(part, panel, output);
        const void* b = panel_block;
        int32_t b_type = kF32;
        if (part.packed == nullptr) {
          widen_panel(part.weight, part.output_size, panel, e0, e1, panel_block);
        } else {
          b = static_cast<const char*>(part.packed) + (panel.first_column * input_size + e0 * panel.vectors * kLanes) *
                                                          size_of_element(part.weight.element_type);
          b_type = part.weight.element_type;
        }
        multiply_panel(*arguments, *item, input, output, panel.vectors, b, b_type, e1 - e0, e0 == 0, e1 == input_size,
                       cut ? panel_partial : nullptr);
        panel_partial += num_rows * panel.vectors * kLanes;
      }
      part_first += count;
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
