// SPDX-License-Identifier: Apache-2.0
// Gradients of weights: weight_gradient[n][e] = sum over rows of output_gradient[row][n] * input[row][e].
//
// Lanes are elements of the input, and the output's gradients are the scalars. Both are copied to tiles, [row][lanes] and
// [row][outputs], so that a step of the micro-kernel reads two streams; in place each row is on another page, which takes up to
// twice the time. Every sum is one chain of FMAs in the order of the rows, which begins
// with what the gradient holds, or with 0. So it does not depend bitwise on tiles, blocks and threads, and sums over parts
// of the rows, one after another, have the bits of the sum over all of them.
#pragma once

#include "backends/cpu/kernels/linear/linear_panel-inl.h"
#include "backends/cpu/kernels/linear/micro_kernel-inl.h"
#include "backends/cpu/kernels/linear/weight_gradient.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Some of the rows that have a gradient.
struct RowBlock {
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
};

// Calls function(s, first row of it, number of rows, number of them that came before) for adjacent rows of a block in one batch
// element.
template <typename Function>
HEED_INLINE void for_each_run(const WeightGradientArguments& arguments, RowBlock block, const Function& function) {
  for (int64_t i = block.begin; i < block.end;) {
    const int64_t row = arguments.row_numbers[i];
    const int64_t s = row / arguments.rows;
    const int64_t most = smaller((s + 1) * arguments.rows - row, block.end - i);
    int64_t count = 1;
    while (count < most && arguments.row_numbers[i + count] == row + count) ++count;
    function(s, row - s * arguments.rows, count, i - block.begin);
    i += count;
  }
}

HEED_INLINE const float* float_at(const Operand& operand, int64_t index) {
  return static_cast<const float*>(operand.data) + index;
}

static bool has_gradient(const WeightGradientArguments& arguments, int64_t s, int64_t r) {
  const Operand& gradient = arguments.output_gradient;
  for (int64_t h = 0; h < arguments.output_size / arguments.head_size; ++h) {
    const float* row = float_at(gradient, h * gradient.strides[0] + s * gradient.strides[1] + r * gradient.strides[2]);
    int64_t d = 0;
    for (; gradient.strides[3] == 1 && d + kLanes <= arguments.head_size; d += kLanes) {
      if (any(load(row + d) != Vec{})) return true;
    }
    for (; d < arguments.head_size; ++d) {
      if (row[d * gradient.strides[3]] != 0) return true;
    }
  }
  return false;
}

// Writes the numbers of the rows that have a gradient other than 0, and how many there are.
static void rows_with_gradient(const WeightGradientArguments* arguments, int64_t* row_numbers, int64_t* num_rows) {
  *num_rows = 0;
  if (arguments->output_size == 0) return;
  int64_t count = 0;
  for (int64_t s = 0; s < arguments->batch; ++s) {
    for (int64_t r = 0; r < arguments->rows; ++r) {
      row_numbers[count] = s * arguments->rows + r;
      count += has_gradient(*arguments, s, r) ? 1 : 0;
    }
  }
  *num_rows = count;
}

struct GradientTile {
  const float* gradient;  // [depth][outputs]
  const float* panel;     // [depth][width]
  int64_t depth;
  float* sums;  // of an output in whole vectors
  int64_t sums_stride;
  bool begins_with_0;  // otherwise with the sums
};

template <int outputs, int vectors>
HEED_NOINLINE void gradient_tile(const GradientTile& tile) {
  Vec sums[outputs][vectors] = {};
#pragma GCC unroll 16
  for (int i = 0; i < outputs; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* const from = tile.sums + i * tile.sums_stride + v * kLanes;
      if (tile.begins_with_0)
        __builtin_prefetch(from, 1, 3);
      else
        sums[i][v] = load(from);
    }
  }
  multiply_tile<outputs, vectors>(tile.gradient, 1, outputs, tile.panel, vectors * kLanes, tile.depth, sums);
#pragma GCC unroll 16
  for (int i = 0; i < outputs; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(tile.sums + i * tile.sums_stride + v * kLanes, sums[i][v]);
  }
}

// Calls function(the number of outputs as a constant) for a number from 1 to kLinearRows.
template <int outputs>
struct NumOutputs {
  static constexpr int kCount = outputs;
};
template <typename Function>
HEED_INLINE void with_num_outputs(int64_t outputs, const Function& function) {
  switch (outputs) {
    case 1: return function(NumOutputs<1>{});
    case 2: return function(NumOutputs<2>{});
    case 3: return function(NumOutputs<3>{});
    case 4: return function(NumOutputs<4>{});
    case 5: return function(NumOutputs<5>{});
    default: break;
  }
  if constexpr (kLinearRows == 8) {
    if (outputs == 7) return function(NumOutputs<7>{});
    if (outputs == 8) return function(NumOutputs<8>{});
  }
  return function(NumOutputs<6>{});
}

static void gradient_tile_of_size(int64_t outputs, int64_t vectors, const GradientTile& tile) {
  with_num_outputs(outputs, [&](auto number) {
    constexpr int kOutputs = decltype(number)::kCount;
    if (vectors == 1) return gradient_tile<kOutputs, 1>(tile);
    if constexpr (kLinearVectors == 3) {
      if (vectors == 3) return gradient_tile<kOutputs, 3>(tile);
    }
    return gradient_tile<kOutputs, 2>(tile);
  });
}

// The outputs of a task are cut into tiles, whose heights differ by at most one.
struct OutputTiles {
  int64_t first_output;
  int64_t num_outputs;

  int64_t count() const { return divide_up(num_outputs, kLinearRows); }
  // Outputs before a tile.
  int64_t before(int64_t tile) const { return num_outputs * tile / count(); }
};

// Copies the gradients of a task's outputs to `to`, [tile][row][output of the tile]. `rows_together` has the room that
// kWeightGradientChunkFloats says.
static void pack_gradients(const WeightGradientArguments& arguments, const OutputTiles& tiles, RowBlock block,
                           float* rows_together, float* to) {
  const Operand& gradient = arguments.output_gradient;
  const int64_t stride = row_stride(tiles.num_outputs) + kLanes;
  for_each_run(arguments, block, [&](int64_t s, int64_t r, int64_t rows, int64_t before) {
    for (int64_t first = 0; first < rows; first += kWeightGradientChunk) {
      const int64_t count = smaller(kWeightGradientChunk, rows - first);
      for (int64_t row = 0; row < count; ++row) {
        // Whole vectors are written: those of one head before those of the next.
        for (int64_t n = tiles.first_output; n < tiles.first_output + tiles.num_outputs;) {
          const int64_t head = n / arguments.head_size;
          const int64_t d = n - head * arguments.head_size;
          const int64_t size = smaller(arguments.head_size - d, tiles.first_output + tiles.num_outputs - n);
          const int64_t index = head * gradient.strides[0] + s * gradient.strides[1] +
                                (r + first + row) * gradient.strides[2] + d * gradient.strides[3];
          widen_row(element_address(gradient, index), DType::F32, gradient.strides[3], size,
                    rows_together + row * stride + n - tiles.first_output);
          n += size;
        }
      }
      for (int64_t t = 0; t < tiles.count(); ++t) {
        const int64_t begin = tiles.before(t);
        const float* from = rows_together + begin;
        float* tile = to + begin * block.size();
        with_num_outputs(tiles.before(t + 1) - begin, [&](auto number) {
          constexpr int kOutputs = decltype(number)::kCount;
          tile += (before + first) * kOutputs;
          for (int64_t row = 0; row < count; ++row)
            __builtin_memcpy(tile + row * kOutputs, from + row * stride, kOutputs * sizeof(float));
        });
      }
    }
  });
}

// The panels of the input that are copied together.
struct PanelGroup {
  int64_t first;
  int64_t count;
};
constexpr int64_t kPanelsTogether = kWeightGradientColumns / kPanelColumns;

// Copies the elements of some panels of the input's rows, times the scale, to `to`, [panel][row][width]; panels are `stride`
// floats apart. Lanes beyond the input are 0.
static void pack_input(const WeightGradientArguments& arguments, PanelGroup panels, RowBlock block, int64_t stride,
                       float* to) {
  const Operand& input = arguments.input;
  for_each_run(arguments, block, [&](int64_t s, int64_t r, int64_t rows, int64_t before) {
    for (int64_t first = 0; first < rows; first += kWeightGradientChunk) {
      const int64_t count = smaller(kWeightGradientChunk, rows - first);
      for (int64_t p = 0; p < panels.count; ++p) {
        const PanelRange panel = panel_at(arguments.input_size, panels.first + p);
        const int64_t width = panel.vectors * kLanes;
        const int64_t index =
            s * input.strides[1] + (r + first) * input.strides[2] + panel.first_column * input.strides[3];
        float* const rows_of_panel = to + p * stride + (before + first) * width;
        widen_rows(element_address(input, index), DType::F32, input.strides[2], input.strides[3], count,
                   smaller(width, arguments.input_size - panel.first_column), rows_of_panel);
        for (int64_t i = 0; arguments.scale != 1 && i < count * width; i += kLanes)
          store(rows_of_panel + i, load(rows_of_panel + i) * broadcast(arguments.scale));
      }
    }
  });
}

// The elements of a panel of one output's gradient.
struct GradientRow {
  float* data;
  int64_t stride;
  int64_t count;

  void load_to(float* to) const { widen_row(reinterpret_cast<const char*>(data), DType::F32, stride, count, to); }
  void store_from(const float* from) const {
    narrow_row(from, count, reinterpret_cast<char*>(data), DType::F32, stride);
  }
};

// Adds the products of a block of rows to the sums of a panel's columns. `packed`: the panel's rows of the input.
static void multiply_gradients(const WeightGradientArguments& arguments, const OutputTiles& tiles, PanelRange panel,
                               RowBlock block, const float* gradients, const float* packed) {
  const Operand& of_weight = arguments.weight_gradient;
  const int64_t width = panel.vectors * kLanes;
  const int64_t count = smaller(width, arguments.input_size - panel.first_column);
  const bool is_whole = count == width && of_weight.strides[3] == 1;
  float sums[kLinearRows * kPanelColumns] = {};
  for (int64_t t = 0; t < tiles.count(); ++t) {
    const int64_t begin = tiles.before(t);
    const int64_t outputs = tiles.before(t + 1) - begin;
    const auto row_of_output = [&](int64_t i) {
      float* data = static_cast<float*>(of_weight.data) + (tiles.first_output + begin + i) * of_weight.strides[2] +
                    panel.first_column * of_weight.strides[3];
      return GradientRow{data, of_weight.strides[3], count};
    };
    GradientTile tile = {};
    tile.gradient = gradients + begin * block.size();
    tile.panel = packed;
    tile.depth = block.size();
    tile.sums = sums;
    tile.sums_stride = width;
    tile.begins_with_0 = block.begin == 0 && arguments.accumulates_weight == 0;
    if (is_whole) {
      tile.sums = row_of_output(0).data;
      tile.sums_stride = of_weight.strides[2];
    }
    for (int64_t i = 0; !is_whole && !tile.begins_with_0 && i < outputs; ++i)
      row_of_output(i).load_to(sums + i * width);
    gradient_tile_of_size(outputs, panel.vectors, tile);
    for (int64_t i = 0; !is_whole && i < outputs; ++i) row_of_output(i).store_from(sums + i * width);
  }
}

// `scratch` has weight_gradient_floats floats.
static void weight_gradient_task(const WeightGradientArguments* arguments, const WeightGradientTask* task,
                                 float* scratch) {
  const int64_t num_rows = arguments->num_rows;
  const OutputTiles tiles = {task->first_output, task->end_output - task->first_output};
  const int64_t most_rows = smaller(num_rows, kWeightGradientRows);
  float* const gradients = scratch;
  float* const packed = gradients + most_rows * tiles.num_outputs;
  float* const rows_together = packed + most_rows * kPanelsTogether * kPanelColumns;
  RowBlock block = {0, 0};
  // Without rows there is one block too, which writes zeros.
  do {
    block = {block.end, smaller(num_rows, block.end + kWeightGradientRows)};
    pack_gradients(*arguments, tiles, block, rows_together, gradients);
    for (int64_t p = task->first_panel; p < task->end_panel; p += kPanelsTogether) {
      const PanelGroup panels = {p, smaller(kPanelsTogether, task->end_panel - p)};
      const int64_t stride = block.size() * kPanelColumns;
      pack_input(*arguments, panels, block, stride, packed);
      for (int64_t i = 0; i < panels.count; ++i) {
        multiply_gradients(*arguments, tiles, panel_at(arguments->input_size, p + i), block, gradients,
                           packed + i * stride);
      }
    }
  } while (block.end < num_rows);
}

// The bias gradients of at most kBiasVectors vectors of outputs of one head.
static void bias_gradient_task(const WeightGradientArguments* arguments, int64_t first_output, int64_t count) {
  const Operand& gradient = arguments->output_gradient;
  const Operand& of_bias = arguments->bias_gradient;
  const int64_t head = first_output / arguments->head_size;
  const int64_t first = head * gradient.strides[0] + (first_output - head * arguments->head_size) * gradient.strides[3];
  const GradientRow target = {static_cast<float*>(of_bias.data) + first_output * of_bias.strides[3], of_bias.strides[3],
                              count};
  const Vec scale = broadcast(arguments->scale);
  float sums[kBiasVectors * kLanes] = {};
  if (arguments->accumulates_bias != 0) target.load_to(sums);
  Vec vectors[kBiasVectors];
  for (int v = 0; v < kBiasVectors; ++v) vectors[v] = load(sums + v * kLanes);
  const bool is_whole = count == kBiasVectors * kLanes && gradient.strides[3] == 1;
  for_each_run(*arguments, {0, arguments->num_rows}, [&](int64_t s, int64_t r, int64_t rows, int64_t) {
    const float* row = float_at(gradient, first + s * gradient.strides[1] + r * gradient.strides[2]);
    for (int64_t i = 0; i < rows; ++i, row += gradient.strides[2]) {
#pragma GCC unroll 4
      for (int v = 0; v < kBiasVectors; ++v) {
        const int64_t left = count - v * kLanes;
        if (left <= 0) break;
        const Vec terms =
            is_whole ? load(row + v * kLanes)
                     : gather_first_elements(reinterpret_cast<const char*>(row + v * kLanes * gradient.strides[3]),
                                             DType::F32, gradient.strides[3], smaller(left, kLanes));
        vectors[v] = fma(terms, scale, vectors[v]);
      }
    }
  });
  for (int v = 0; v < kBiasVectors; ++v) store(sums + v * kLanes, vectors[v]);
  target.store_from(sums);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
