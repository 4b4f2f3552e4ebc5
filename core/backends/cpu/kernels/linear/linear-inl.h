// SPDX-License-Identifier: Apache-2.0
// Projections: output[row][n] = sum over e of input[row][e] * weight[n][e] + bias[n].
//
// Lanes are outputs. A weight is stored in panels that are as wide as a tile, [panel][e][lanes], so that a step of the
// micro-kernel reads contiguous vectors and a panel is one stream. Inputs are read in place, one scalar at a time.
//
// Every output is one chain of FMAs in the order of e, beginning with 0. The chain is cut into blocks, so that the data
// of a block stays in the caches; between blocks the sum is saved in f32, which does not change it. So the result does
// not depend bitwise on rows, tiles, blocks and threads.
#pragma once

#include "backends/cpu/kernels/linear/head_transform-inl.h"
#include "backends/cpu/kernels/linear/linear.h"
#include "backends/cpu/kernels/linear/linear_output-inl.h"
#include "backends/cpu/kernels/linear/linear_panel-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// The largest number of steps in a block. An input of up to kWholeDepth steps is one block; a longer one is cut into
// blocks of up to kBlockDepth. Saving the sums between blocks takes 2 * rows * vectors loads and stores, and each step
// takes rows * vectors FMAs: 1/128 of the work at 256 steps, less with more. A block of a panel (192 KiB at 1024 steps
// of 48 f32) is read once for each tile of rows from a second-level cache of 1 MiB: 192 bytes in the 12 cycles of an
// 8 x 48 step, 16 bytes a cycle, where such caches provide 32 to 64.
constexpr int64_t kWholeDepth = 1024;
constexpr int64_t kBlockDepth = 512;

// The elements of the input in one block of a task: 384 KiB of the second-level cache. As much is left for the panel
// block in use and the prefetched one, and the rest for outputs and sums. A panel is loaded into that cache once for
// all rows of a task, so that from 96 rows on memory has to provide at most 2 bytes a cycle.
constexpr int64_t kMaxTaskElements = 96 * 1024;
constexpr int64_t kMaxWholeTaskRows = 256;
// The largest numbers of rows and panels of a task with several blocks. Its saved sums take up to 1.1 MiB and are read
// and written once per block. Rows 4 KiB apart are copied once for this many panels: at 48 columns 1/2304 of the FMAs.
constexpr int64_t kMaxCutRows = 128;
constexpr int64_t kMaxCutPanels = 48;

constexpr int64_t kCacheLine = 64;
// The number of steps between two prefetches of the next panel; also how long before the end of a tile its outputs are
// prefetched. They take some 200 nanoseconds, longer than the latency of memory.
constexpr int64_t kPrefetchSteps = 64;
// A panel that few tiles use is read as fast as memory provides it. It is prefetched every few steps, this far ahead.
constexpr int64_t kFewTiles = 3;
constexpr int64_t kFewSteps = 8;
constexpr int64_t kFewBytesAhead = 2048;
// How far ahead a stream of few rows is prefetched, in steps: 3 KiB for each of four panels at 48 columns. Memory sends
// this much in its latency of some 100 nanoseconds, and it fits the first-level cache.
constexpr int64_t kStreamStepsAhead = 16;

// The number of blocks of an input.
HEED_INLINE int64_t blocks_of(int64_t input_size) {
  return input_size <= kWholeDepth ? 1 : divide_up(input_size, kBlockDepth);
}

// The number of steps of the longest block.
HEED_INLINE int64_t depth_of(int64_t input_size) { return divide_up(input_size, blocks_of(input_size)); }

static int64_t linear_max_rows(int64_t input_size) {
  const int64_t depth = depth_of(input_size);
  const int64_t most = blocks_of(input_size) == 1 ? kMaxWholeTaskRows : kMaxCutRows;
  return smaller(most, kMaxTaskElements / (depth > 0 ? depth : 1)) / kLinearRows * kLinearRows;
}

static int64_t linear_max_panels(int64_t input_size) { return blocks_of(input_size) == 1 ? INT64_MAX : kMaxCutPanels; }

// ---- packing --------------------------------------------------------------------------------------------------------

// Widens columns of a weight, beginning with the panel's first, elements e0 .. e1 - 1, to [e][vectors * kLanes] in f32.
// Columns beyond the weight are 0.
static void widen_panel(const Operand& weight, int64_t output_size, PanelRange panel, int64_t e0, int64_t e1,
                        float* to) {
  const int64_t width = panel.vectors * kLanes;
  for (int64_t v = 0; v < panel.vectors; ++v) {
    const int64_t n0 = panel.first_column + v * kLanes;
    const int64_t count = smaller(output_size - n0, kLanes);
    if (weight.strides[2] == 1) {
      for (int64_t e = e0; e < e1; ++e) {
        store(to + (e - e0) * width + v * kLanes,
              load_first_elements(element_address(weight, n0 + e * weight.strides[3]), weight.dtype, count));
      }
      continue;
    }
    int64_t e = e0;
    if (weight.strides[3] == 1) {
      for (; e + kLanes <= e1; e += kLanes) {
        Vec tile[kLanes];
#pragma GCC unroll 16
        for (int lane = 0; lane < kLanes; ++lane) {
          tile[lane] = lane < count
                           ? load_elements(element_address(weight, (n0 + lane) * weight.strides[2] + e), weight.dtype)
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
                               weight.dtype)
                : 0.0f;
      }
    }
  }
}

static size_t packed_linear_bytes(int64_t output_size, int64_t input_size, DType dtype) {
  const auto column_bytes =
      static_cast<size_t>(vectors_of(output_size) * kLanes) * static_cast<size_t>(size_of_element(dtype));
  size_t num_bytes = 0;
  return __builtin_mul_overflow(column_bytes, input_size, &num_bytes) ? SIZE_MAX : num_bytes;
}

// ---- tiles ----------------------------------------------------------------------------------------------------------

struct LinearTile {
  const float* input;  // rows of one tile
  int64_t input_row;
  const void* panel;  // [depth][width]
  int64_t depth;
  float* sums;        // [rows][width]: the sums so far; and the results, unless they go to `rows`
  bool is_first;      // the sums so far are 0
  const float* bias;  // [width], added at the end, or null
  // Addresses of output rows, for whole vectors at vector_offsets, which are prefetched before the end. With is_direct the
  // results go there, otherwise to `sums`. Null: to `sums`.
  float* const* rows;
  const int64_t* vector_offsets;  // [vectors]
  bool is_direct;
  // The rows of an addend, at addend_offsets, which are prefetched too; null: none.
  const float* const* addend_rows;
  const int64_t* addend_offsets;
  // The address to prefetch into the second-level cache: prefetch_lines cache lines after each prefetch_steps.
  const char* prefetch;
  int64_t prefetch_lines;
  int64_t prefetch_steps;
};

template <int rows, int vectors, typename Element>
static void linear_tile(const LinearTile& tile) {
  Vec sums[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[i][v] = Vec{};
  }
  if (!tile.is_first) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[i][v] = load(tile.sums + (i * vectors + v) * kLanes);
    }
  }
  const auto* panel = static_cast<const Element*>(tile.panel);
  const char* prefetch = tile.prefetch;
  for (int64_t k = 0; k < tile.depth; k += tile.prefetch_steps) {
    const int64_t depth = smaller(tile.depth - k, tile.prefetch_steps);
    if (tile.rows != nullptr && tile.depth - k <= tile.prefetch_steps) {
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) __builtin_prefetch(tile.rows[i] + tile.vector_offsets[v], 1, 3);
      }
      for (int i = 0; i < rows && tile.addend_rows != nullptr; ++i) {
        for (int v = 0; v < vectors; ++v) __builtin_prefetch(tile.addend_rows[i] + tile.addend_offsets[v], 0, 3);
      }
    }
    multiply_tile<rows, vectors>(tile.input + k, tile.input_row, 1, panel + k * vectors * kLanes, vectors * kLanes,
                                 depth, sums);
    for (int64_t line = 0; line < tile.prefetch_lines; ++line) __builtin_prefetch(prefetch + line * kCacheLine, 0, 2);
    prefetch += tile.prefetch_lines * kCacheLine;
  }
  if (tile.bias != nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const Vec bias = load(tile.bias + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) sums[i][v] += bias;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      store(tile.is_direct ? tile.rows[i] + tile.vector_offsets[v] : tile.sums + (i * vectors + v) * kLanes,
            sums[i][v]);
    }
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

// ---- few rows -------------------------------------------------------------------------------------------------------
// With few rows a product is as fast as its weight is read. One stream does not use the whole memory bandwidth, and the
// sums of one row and one panel do not hide the latency of their FMAs. So several panels are read at the same time.

// The largest number of rows for which several panels are read, and the number of panels whose sums fit the registers.
constexpr int64_t kStreamRows = kRegisters >= 32 ? 4 : 3;
constexpr int kMaxStreams = 4;
template <int rows>
constexpr int kStreams = rows == 1 || (rows == 2 && kRegisters >= 32) ? kMaxStreams : 2;

// kStreams consecutive panels of full width, beginning at `panel`; sums are [panel][row][kPanelColumns].
template <int rows, typename Element>
static void stream_panels(const float* input, int64_t input_row, const Element* panel, int64_t depth, float* to) {
  constexpr int kPanels = kStreams<rows>;
  Vec sums[kPanels][rows][kLinearVectors];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kLinearVectors; ++v) sums[p][i][v] = Vec{};
    }
  }
#pragma GCC unroll 2
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      const Element* b = panel + (p * depth + k) * kPanelColumns;
      for (int v = 0; v < kLinearVectors; ++v)
        __builtin_prefetch(b + kStreamStepsAhead * kPanelColumns + v * kLanes, 0, 3);
      multiply_step<rows, kLinearVectors>(input + k, input_row, b, sums[p]);
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kLinearVectors; ++v) store(to + (p * rows + i) * kPanelColumns + v * kLanes, sums[p][i][v]);
    }
  }
}

template <int rows>
static void stream_panels_of_type(const float* input, int64_t input_row, const void* panel, DType dtype, int64_t depth,
                                  float* to) {
  if (dtype == DType::F32)
    stream_panels<rows>(input, input_row, static_cast<const float*>(panel), depth, to);
  else if (dtype == DType::F16)
    stream_panels<rows>(input, input_row, static_cast<const F16*>(panel), depth, to);
  else
    stream_panels<rows>(input, input_row, static_cast<const BF16*>(panel), depth, to);
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// The row stride of a block of copied rows, in floats. No multiple of 4 KiB, since such rows would map to the same sets
// of the first-level cache.
HEED_INLINE int64_t block_stride(int64_t depth) {
  const int64_t stride = row_stride(depth);
  return stride % 1024 == 0 ? stride + kLanes : stride;
}

struct InputRows {
  const float* data;
  int64_t stride;
};

// Whether the task's rows can be read in place: f32, contiguous elements, and one stride between all rows.
static bool reads_in_place(const LinearArguments& arguments, const LinearTask& task) {
  const Operand& input = arguments.input;
  const RowCursor first = first_row_of(arguments, task);
  const bool is_uniform = first.r + task.num_rows <= first.end ||
                          (first.ranges == nullptr && input.strides[1] == arguments.rows * input.strides[2]);
  // Rows at a distance of a multiple of 4 KiB share cache sets, and with more than one tile of rows they evict each
  // other.
  const bool collides = task.num_rows > kLinearRows && input.strides[2] % 1024 == 0;
  return input.dtype == DType::F32 && (input.strides[3] == 1 || arguments.input_size == 1) && is_uniform && !collides;
}

// Elements e0 .. e1 - 1 of the task's rows, in place or copied to `block`.
static InputRows input_rows(const LinearArguments& arguments, const LinearTask& task, int64_t e0, int64_t e1,
                            float* block) {
  const Operand& input = arguments.input;
  RowCursor cursor = first_row_of(arguments, task);
  const auto address = [&] { return element_address(input, cursor.offset_in(input) + e0 * input.strides[3]); };
  if (reads_in_place(arguments, task)) return {reinterpret_cast<const float*>(address()), input.strides[2]};
  const int64_t stride = block_stride(e1 - e0);
  for (int64_t i = 0; i < task.num_rows; ++i) {
    if (i > 0) cursor.advance();
    widen_row(address(), input.dtype, input.strides[3], e1 - e0, block + i * stride);
  }
  return {block, stride};
}

// ---- a task --------------------------------------------------------------------------------------------------------

// A panel, or a block of its steps.
struct PanelBlock {
  const void* data;
  DType dtype;
  int64_t vectors;
  int64_t depth;
  bool is_first;
  bool is_last;
  const char* next;  // what is read after it
  int64_t next_bytes;
};

// Multiplies all rows of the task by one panel. `sums` is [num_rows][width] if the panel has several blocks, otherwise
// the rows of one tile.
static void multiply_panel(const LinearArguments& arguments, const LinearTask& task, InputRows input,
                           const PanelBlock& panel, const PanelOutput& output, float* sums) {
  const LinearPartArguments& part = arguments.parts[task.part];
  const Operand& operand = part.output;
  const int64_t num_rows = task.num_rows;
  const int64_t width = panel.vectors * kLanes;
  const int64_t num_tiles = divide_up(num_rows, kLinearRows);
  const bool is_one_block = panel.is_first && panel.is_last;
  float* rows[kLinearRows];
  float* addend_rows[kLinearRows];
  TileRows offsets;
  LinearTile tile;
  tile.input_row = input.stride;
  tile.panel = panel.data;
  tile.depth = panel.depth;
  tile.is_first = panel.is_first;
  tile.bias = panel.is_last ? output.bias : nullptr;
  const bool is_whole = panel.is_last && output.is_whole;
  tile.rows = is_whole ? rows : nullptr;
  tile.vector_offsets = output.vector_offsets;
  tile.is_direct = is_whole && output.is_direct;
  tile.addend_rows = is_whole && part.addend.data != nullptr ? addend_rows : nullptr;
  tile.addend_offsets = output.addend_offsets;
  tile.prefetch = panel.next;
  tile.prefetch_steps = kPrefetchSteps;
  const int64_t tile_prefetches = divide_up(panel.depth, kPrefetchSteps);
  tile.prefetch_lines =
      num_tiles == 0 || panel.depth == 0 ? 0 : divide_up(panel.next_bytes, kCacheLine * num_tiles * tile_prefetches);
  if (num_tiles <= kFewTiles) {
    tile.prefetch_steps = kFewSteps;
    tile.prefetch_lines = divide_up(kFewSteps * width * size_of_element(panel.dtype), kCacheLine);
    tile.prefetch = static_cast<const char*>(panel.data) + kFewBytesAhead;
  }
  RowCursor cursor = first_row_of(arguments, task);
  int64_t begin = 0;
  for (int64_t t = 0; t < num_tiles; ++t) {
    // Tile heights differ by at most one, since a tile of one row would wait for its FMAs.
    const int64_t count = num_rows * (t + 1) / num_tiles - begin;
    tile.input = input.data + begin * input.stride;
    tile.sums = is_one_block ? sums : sums + begin * width;
    if (panel.is_last) {
      for (int64_t i = 0; i < count; ++i) {
        if (begin + i > 0) cursor.advance();
        offsets.set(part, cursor, i);
      }
      if (is_whole) find_rows(operand, offsets.output, count, rows);
      if (tile.addend_rows != nullptr) find_rows(part.addend, offsets.addend, count, addend_rows);
    }
    if (panel.dtype == DType::F32)
      linear_tile_of_size<float>(count, panel.vectors, tile);
    else if (panel.dtype == DType::F16)
      linear_tile_of_size<F16>(count, panel.vectors, tile);
    else
      linear_tile_of_size<BF16>(count, panel.vectors, tile);
    if (panel.is_last && !output.is_direct) finish_rows(part, output, offsets, count, width, tile.sums);
    if (num_tiles > kFewTiles) tile.prefetch += tile.prefetch_lines * kCacheLine * tile_prefetches;
    begin += count;
  }
}

// The number of panels that stay in one task, so that it has whole heads: a multiple of the streams, since they are read
// together. If one panel would be left over, the last unit takes it too, since the panel before it may end early
// (panel_at).
static int64_t linear_head_unit(int64_t head_size) {
  // The columns of the streams and the size of a head have the greatest common divisor `divisor`.
  int64_t divisor = kMaxStreams * kPanelColumns;
  for (int64_t rest = head_size; rest != 0;) {
    const int64_t next = divisor % rest;
    divisor = rest;
    rest = next;
  }
  return kMaxStreams * (head_size / divisor);
}

// The largest number of panels in a task.
HEED_INLINE int64_t most_task_panels(int64_t num_panels, int64_t head_size) {
  const int64_t most = head_size > 0 ? larger(kMaxCutPanels, linear_head_unit(head_size)) + 1 : kMaxCutPanels;
  return smaller(num_panels, most);
}

static size_t linear_scratch_bytes(int64_t input_size, int64_t num_rows, int64_t num_panels, int32_t is_packed,
                                   int64_t head_size) {
  const int64_t depth = depth_of(input_size);
  int64_t floats = num_rows * block_stride(depth) + kLinearRows * kPanelColumns;
  if (is_packed == 0) floats += depth * kPanelColumns;
  if (blocks_of(input_size) > 1) floats += num_rows * most_task_panels(num_panels, head_size) * kPanelColumns;
  floats += transform_floats(head_size);
  return static_cast<size_t>(floats) * sizeof(float);
}

// The address of element e0 of a packed panel.
HEED_INLINE const char* packed_panel(const LinearPartArguments& part, int64_t input_size, PanelRange range,
                                     int64_t e0) {
  const int64_t index = range.first_column * input_size + e0 * range.vectors * kLanes;
  return static_cast<const char*>(part.packed) + index * size_of_element(part.weight.dtype);
}

// Computes the task's panels in whole groups of streams; returns the first panel that remains.
template <int rows>
static int64_t stream_task(const LinearArguments& arguments, const LinearTask& task) {
  const LinearPartArguments& part = arguments.parts[task.part];
  const InputRows input = input_rows(arguments, task, 0, arguments.input_size, nullptr);
  float sums[kStreams<rows> * rows * kPanelColumns];
  RowCursor cursor = first_row_of(arguments, task);
  TileRows offsets;
  for (int64_t i = 0; i < rows; ++i) {
    if (i > 0) cursor.advance();
    offsets.set(part, cursor, i);
  }
  PanelOutput output;
  int64_t first = task.first_panel;
  for (; first + kStreams<rows> <= task.end_panel; first += kStreams<rows>) {
    if (panel_at(part.output_size, first + kStreams<rows> - 1).vectors != kLinearVectors) break;
    stream_panels_of_type<rows>(input.data, input.stride,
                                packed_panel(part, arguments.input_size, panel_at(part.output_size, first), 0),
                                part.weight.dtype, arguments.input_size, sums);
    for (int64_t p = 0; p < kStreams<rows>; ++p) {
      const PanelRange range = panel_at(part.output_size, first + p);
      find_pieces(part, range, output);
      find_bias(part, range, output);
      float* const panel_sums = sums + p * rows * kPanelColumns;
      for (int64_t i = 0; i < rows && output.bias != nullptr; ++i) {
        float* const row = panel_sums + i * kPanelColumns;
        for (int64_t n = 0; n < kPanelColumns; n += kLanes) store(row + n, load(row + n) + load(output.bias + n));
      }
      finish_rows(part, output, offsets, rows, kPanelColumns, panel_sums);
    }
  }
  return first;
}

static int64_t stream_task_of_rows(const LinearArguments& arguments, const LinearTask& task) {
  switch (task.num_rows) {
    case 1: return stream_task<1>(arguments, task);
    case 2: return stream_task<2>(arguments, task);
    case 3: return stream_task<3>(arguments, task);
    default: break;
  }
  if constexpr (kStreamRows == 4) return stream_task<4>(arguments, task);
  return task.first_panel;
}

// Transforms the heads of panels first_panel .. end_panel - 1 of the task's output rows.
static void transform_heads(const LinearArguments& arguments, const LinearTask& task, int64_t first_panel,
                            int64_t end_panel, float* scratch) {
  const LinearPartArguments& part = arguments.parts[task.part];
  const HeadTransform& transform = *part.transform;
  const int64_t head_size = part.transform_head_size;
  float* weight = scratch + row_stride(head_size);
  float* widened = weight + row_stride(head_size);
  const DType dtype = part.output.dtype;
  const PanelRange last = panel_at(part.output_size, end_panel - 1);
  const int64_t end_column = smaller(last.first_column + last.vectors * kLanes, part.output_size);
  const int64_t end_head = end_column / head_size;
  for (int64_t head = panel_at(part.output_size, first_panel).first_column / head_size; head < end_head; ++head) {
    if (transform.norm != NormKind::None) load_norm_weight(transform, head_size, head, scratch, weight);
    RowCursor cursor = first_row_of(arguments, task);
    for (int64_t i = 0; i < task.num_rows; ++i) {
      if (i > 0) cursor.advance();
      char* to = static_cast<char*>(part.output.data) +
                 (head * part.output.strides[0] + cursor.offset_in(part.output)) * size_of_element(dtype);
      const float* rotations =
          static_cast<const float*>(transform.rotations.data) + cursor.offset_in(transform.rotations);
      if (dtype == DType::F32) {
        transform_head_in_place(transform, head_size, weight, rotations, scratch, reinterpret_cast<float*>(to));
        continue;
      }
      widen_row(to, dtype, 1, head_size, widened);
      transform_head_in_place(transform, head_size, weight, rotations, scratch, widened);
      narrow_row(widened, head_size, to, dtype, 1);
    }
  }
}

// Transforms the heads of a task unit by unit, as soon as the unit's panels are complete and still in the caches.
class HeadTransformer {
 public:
  HeadTransformer(const LinearArguments& arguments, const LinearTask& task, float* scratch)
      : arguments_(arguments),
        task_(task),
        part_(arguments.parts[task.part]),
        scratch_(scratch),
        done_(task.first_panel) {
    unit_ = part_.transform != nullptr ? linear_head_unit(part_.transform_head_size) : 0;
  }

  // Panels before end_panel are complete.
  void finish(int64_t end_panel) {
    if (unit_ == 0 || end_panel == done_) return;
    // The end of the last panel but one may be within a head (panel_at).
    const bool ends_unit = end_panel % unit_ == 0 && end_panel + 1 < panels_of(part_.output_size);
    if (end_panel < task_.end_panel && !ends_unit) return;
    transform_heads(arguments_, task_, done_, end_panel, scratch_);
    done_ = end_panel;
  }

 private:
  const LinearArguments& arguments_;
  const LinearTask& task_;
  const LinearPartArguments& part_;
  float* scratch_;
  int64_t done_;  // the panels before it are transformed
  int64_t unit_;  // 0: nothing is transformed
};

static void linear_task(const LinearArguments* arguments, const LinearTask* task, void* scratch) {
  const LinearPartArguments& part = arguments->parts[task->part];
  if (task->num_rows == 0) return;
  const int64_t num_rows = task->num_rows;
  const int64_t input_size = arguments->input_size;
  const bool is_packed = part.packed != nullptr;
  // One tile in place is not cut into blocks: its rows stay in the first-level cache, and the panel is read once.
  const bool is_stream = is_packed && num_rows <= kLinearRows && reads_in_place(*arguments, *task);
  const int64_t num_blocks = is_stream ? 1 : blocks_of(input_size);
  auto* transform_block = static_cast<float*>(scratch);
  float* input_block = transform_block + transform_floats(part.transform != nullptr ? part.transform_head_size : 0);
  HeadTransformer heads(*arguments, *task, transform_block);
  float* panel_block = input_block + num_rows * block_stride(depth_of(input_size));
  float* sums = is_packed ? panel_block : panel_block + depth_of(input_size) * kPanelColumns;
  int64_t first_panel = task->first_panel;
  if (is_stream && num_rows <= kStreamRows) first_panel = stream_task_of_rows(*arguments, *task);
  PanelOutput output;
  for (int64_t block = 0; block < num_blocks && first_panel < task->end_panel; ++block) {
    // input_size * block / num_blocks might overflow.
    const int64_t e0 = block * depth_of(input_size);
    const int64_t e1 = num_blocks == 1 ? input_size : smaller(input_size, e0 + depth_of(input_size));
    const InputRows input = input_rows(*arguments, *task, e0, e1, input_block);
    float* panel_sums = sums;
    for (int64_t p = first_panel; p < task->end_panel; ++p) {
      const PanelRange range = panel_at(part.output_size, p);
      PanelBlock panel = {};
      panel.vectors = range.vectors;
      panel.depth = e1 - e0;
      panel.is_first = block == 0;
      panel.is_last = block == num_blocks - 1;
      if (panel.is_last) {
        find_pieces(part, range, output);
        find_bias(part, range, output);
      }
      if (is_packed) {
        panel.dtype = part.weight.dtype;
        panel.data = packed_panel(part, input_size, range, e0);
        if (p + 1 < task->end_panel) {
          const PanelRange next = panel_at(part.output_size, p + 1);
          panel.next = packed_panel(part, input_size, next, e0);
          panel.next_bytes = panel.depth * next.vectors * kLanes * size_of_element(panel.dtype);
        }
      } else {
        panel.dtype = DType::F32;
        panel.data = panel_block;
        widen_panel(part.weight, part.output_size, range, e0, e1, panel_block);
      }
      multiply_panel(*arguments, *task, input, panel, output, panel_sums);
      if (num_blocks > 1) panel_sums += num_rows * range.vectors * kLanes;
      if (panel.is_last) heads.finish(p + 1);
    }
  }
  heads.finish(task->end_panel);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
