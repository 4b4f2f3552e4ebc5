// SPDX-License-Identifier: Apache-2.0
// What follows the sums of a projection: bias, scale, soft cap, activation, factor and addend, and where the columns of a
// panel and the rows of a tile are in the output.
#pragma once

#include "backends/cpu/kernels/linear/linear.h"
#include "backends/cpu/kernels/linear/linear_panel-inl.h"
#include "backends/cpu/kernels/rows/activation-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- rows -----------------------------------------------------------------------------------------------------------

// Iterates over the wanted rows of a task.
struct RowCursor {
  const RowRange* ranges;  // null: all rows of each batch element
  int64_t rows;
  int64_t s;
  int64_t r;
  int64_t end;  // end of the wanted rows of batch element s

  // The row's offset in an operand with axes (-, s, r, -).
  int64_t offset_in(const Operand& operand) const { return s * operand.strides[1] + r * operand.strides[2]; }

  // There must be a next row.
  __attribute__((always_inline)) void advance() {
    ++r;
    while (r >= end) {
      ++s;
      r = ranges != nullptr ? ranges[s].first : 0;
      end = ranges != nullptr ? ranges[s].end : rows;
    }
  }
};

HEED_INLINE RowCursor first_row_of(const LinearArguments& arguments, const LinearTask& task) {
  const RowRange* ranges = arguments.parts[task.part].ranges;
  return {ranges, arguments.rows, task.first_batch, task.first_row,
          ranges != nullptr ? ranges[task.first_batch].end : arguments.rows};
}

// ---- outputs --------------------------------------------------------------------------------------------------------

// Columns of a panel that belong to one head.
struct Piece {
  int64_t first;   // column of the panel
  int64_t count;   // of columns
  int64_t head;    // of its first element
  int64_t d;       // the same
  int64_t offset;  // of its first element in an output row
};

// The output elements and the bias of a panel's columns.
struct PanelOutput {
  Piece pieces[kPanelColumns];
  int64_t num_pieces;
  // All columns are whole vectors of f32, in the output and in factor and addend: at these offsets in a row.
  bool is_whole;
  bool is_direct;  // and sums are stored as they are
  int64_t vector_offsets[kLinearVectors];
  int64_t factor_offsets[kLinearVectors];
  int64_t addend_offsets[kLinearVectors];
  const float* bias;  // null if there is none
  float bias_block[kPanelColumns];
};

// Whether something happens to sums, apart from the bias, before they are stored.
HEED_INLINE bool has_epilogue(const LinearPartArguments& part) {
  return part.sum.data != nullptr || part.activation != Activation::None || part.scale != 1 || part.soft_cap > 0 ||
         part.factor.data != nullptr || part.addend.data != nullptr;
}

static void find_pieces(const LinearPartArguments& part, PanelRange panel, PanelOutput& output) {
  const int64_t width = panel.vectors * kLanes;
  const int64_t left = part.output_size - panel.first_column;
  const int64_t end = panel.first_column + smaller(width, left);
  const int64_t* strides = part.output.strides;
  output.num_pieces = 0;
  const auto is_vectors = [](const Operand& operand) {
    return operand.data == nullptr || (operand.dtype == DType::F32 && operand.strides[3] == 1);
  };
  output.is_whole = width <= left && is_vectors(part.output) && is_vectors(part.factor) && is_vectors(part.addend);
  int64_t head = panel.first_column / part.head_size;
  for (int64_t n = panel.first_column; n < end; ++head) {
    const int64_t d = n - head * part.head_size;
    const int64_t count = smaller(part.head_size - d, end - n);
    output.pieces[output.num_pieces++] = {n - panel.first_column, count, head, d, head * strides[0] + d * strides[3]};
    output.is_whole = output.is_whole && count % kLanes == 0;
    n += count;
  }
  output.is_direct = output.is_whole && !has_epilogue(part);
  if (!output.is_whole) return;
  for (int64_t p = 0; p < output.num_pieces; ++p) {
    const Piece& piece = output.pieces[p];
    for (int64_t i = 0; i < piece.count; i += kLanes) {
      const int64_t v = (piece.first + i) / kLanes;
      output.vector_offsets[v] = piece.offset + i;
      output.factor_offsets[v] = piece.head * part.factor.strides[0] + piece.d + i;
      output.addend_offsets[v] = piece.head * part.addend.strides[0] + piece.d + i;
    }
  }
}

static void find_bias(const LinearPartArguments& part, PanelRange panel, PanelOutput& output) {
  output.bias = nullptr;
  if (part.bias.data == nullptr) return;
  const int64_t width = panel.vectors * kLanes;
  const int64_t left = part.output_size - panel.first_column;
  const int64_t count = smaller(width, left);
  const int64_t stride = part.bias.strides[3];
  if (part.bias.dtype == DType::F32 && stride == 1 && width <= left) {
    output.bias = static_cast<const float*>(part.bias.data) + panel.first_column;
    return;
  }
  output.bias = output.bias_block;
  // Writes whole vectors; columns beyond `count` become 0 and are not stored to the output.
  for (int64_t i = count / kLanes * kLanes; i < width; ++i) output.bias_block[i] = 0.0f;
  widen_row(element_address(part.bias, panel.first_column * stride), part.bias.dtype, stride, count, output.bias_block);
}

// Multiplies one row of a tile, [width] in f32, by the operand's elements of its pieces, or adds these.
template <bool multiplies>
static void combine_row(const Operand& operand, const PanelOutput& output, int64_t row_offset, float* row) {
  for (int64_t p = 0; p < output.num_pieces; ++p) {
    const Piece& piece = output.pieces[p];
    const char* from =
        element_address(operand, row_offset + piece.head * operand.strides[0] + piece.d * operand.strides[3]);
    const int64_t step = operand.strides[3] * size_of_element(operand.dtype);
    for (int64_t i = 0; i < piece.count; i += kLanes) {
      const int64_t count = smaller(piece.count - i, kLanes);
      float* const to = row + piece.first + i;
      const Vec other = gather_first_elements(from + i * step, operand.dtype, operand.strides[3], count);
      const Vec value = load_first(to, count);
      store_first(to, multiplies ? value * other : value + other, count);
    }
  }
}

// Stores one row of a tile, [width] in f32, to the output elements of its pieces.
static void store_row(const Operand& operand, const PanelOutput& output, int64_t row_offset, const float* from) {
  for (int64_t p = 0; p < output.num_pieces; ++p) {
    const Piece& piece = output.pieces[p];
    char* to = const_cast<char*>(element_address(operand, row_offset + piece.offset));
    narrow_row(from + piece.first, piece.count, to, operand.dtype, operand.strides[3]);
  }
}

// The offsets of the rows of a tile in the operands of a part.
struct TileRows {
  int64_t output[kLinearRows] = {};
  int64_t factor[kLinearRows] = {};
  int64_t addend[kLinearRows] = {};
  int64_t sum[kLinearRows] = {};

  void set(const LinearPartArguments& part, const RowCursor& cursor, int64_t i) {
    output[i] = cursor.offset_in(part.output);
    factor[i] = cursor.offset_in(part.factor);
    addend[i] = cursor.offset_in(part.addend);
    sum[i] = cursor.offset_in(part.sum);
  }
};

// The rows of a tile in an operand of f32.
static void find_rows(const Operand& operand, const int64_t (&offsets)[kLinearRows], int64_t count, float** rows) {
  for (int64_t i = 0; i < count; ++i) rows[i] = static_cast<float*>(operand.data) + offsets[i];
}

// finish_rows where all columns are whole vectors of f32.
template <bool has_factor, bool has_addend>
static void finish_whole_rows(const LinearPartArguments& part, const PanelOutput& output, const TileRows& rows,
                              int64_t count, int64_t vectors, const float* sums) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t v = 0; v < vectors; ++v) {
      Vec value = load(sums + (i * vectors + v) * kLanes);
      if (has_factor)
        value *= load(static_cast<const float*>(part.factor.data) + rows.factor[i] + output.factor_offsets[v]);
      if (has_addend)
        value += load(static_cast<const float*>(part.addend.data) + rows.addend[i] + output.addend_offsets[v]);
      store(static_cast<float*>(part.output.data) + rows.output[i] + output.vector_offsets[v], value);
    }
  }
}

// Multiplies `count` sums by the scale and caps them; whole vectors.
static void scale_and_cap(const LinearPartArguments& part, int64_t count, float* sums) {
  if (part.scale != 1) {
    for (int64_t i = 0; i < count; i += kLanes) store(sums + i, load(sums + i) * broadcast(part.scale));
  }
  if (part.soft_cap > 0) cap_vectors<kLanes>(part.soft_cap, count / kLanes, sums);
}

// Stores one row of a tile to the elements of its pieces in the operand of sums.
static void store_sums(const Operand& operand, const PanelOutput& output, int64_t row_offset, const float* from) {
  for (int64_t p = 0; p < output.num_pieces; ++p) {
    const Piece& piece = output.pieces[p];
    const int64_t offset = row_offset + piece.head * operand.strides[0] + piece.d * operand.strides[3];
    char* to = const_cast<char*>(element_address(operand, offset));
    narrow_row(from + piece.first, piece.count, to, operand.dtype, operand.strides[3]);
  }
}

// Completes the sums of `count` rows of a tile, [count][width], which have their bias, and stores them.
static void finish_rows(const LinearPartArguments& part, const PanelOutput& output, const TileRows& rows, int64_t count,
                        int64_t width, float* sums) {
  for (int64_t i = 0; part.sum.data != nullptr && i < count; ++i)
    store_sums(part.sum, output, rows.sum[i], sums + i * width);
  if (part.scale != 1 || part.soft_cap > 0) scale_and_cap(part, count * width, sums);
  activate_row(part.activation, sums, count * width);
  if (output.is_whole) {
    const int64_t vectors = width / kLanes;
    if (part.factor.data != nullptr && part.addend.data != nullptr)
      return finish_whole_rows<true, true>(part, output, rows, count, vectors, sums);
    if (part.factor.data != nullptr) return finish_whole_rows<true, false>(part, output, rows, count, vectors, sums);
    if (part.addend.data != nullptr) return finish_whole_rows<false, true>(part, output, rows, count, vectors, sums);
    return finish_whole_rows<false, false>(part, output, rows, count, vectors, sums);
  }
  for (int64_t i = 0; i < count; ++i) {
    float* const row = sums + i * width;
    if (part.factor.data != nullptr) combine_row<true>(part.factor, output, rows.factor[i], row);
    if (part.addend.data != nullptr) combine_row<false>(part.addend, output, rows.addend[i], row);
    store_row(part.output, output, rows.output[i], row);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
