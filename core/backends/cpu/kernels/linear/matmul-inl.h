// SPDX-License-Identifier: Apache-2.0
// The product of two blocks of matrices of F32, F64, I32 or I64. Lanes are adjacent columns. Without FMA, so that
// all ISAs give the same bits.
#pragma once

#include "backends/cpu/kernels/linear/matmul.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Columns of two vectors and rows whose sums stay in registers.
template <typename T>
constexpr int64_t kMatmulTileColumns = 2 * static_cast<int64_t>(sizeof(Vec) / sizeof(T));
constexpr int64_t kMatmulTileRows = 4;

template <typename T>
HEED_INLINE void add_products(const MatmulBlock& block, int64_t row, int64_t column) {
  using Lanes __attribute__((vector_size(sizeof(Vec)))) = T;
  const T* a = static_cast<const T*>(block.a) + row * kMatmulInner;
  const T* b = static_cast<const T*>(block.b) + column;
  T* sums = static_cast<T*>(block.sums) + row * kMatmulColumns + column;
  Lanes tile[kMatmulTileRows][2];
  for (int64_t i = 0; i < kMatmulTileRows; ++i) __builtin_memcpy(tile[i], sums + i * kMatmulColumns, sizeof tile[i]);
  for (int64_t k = 0; k < block.inner_size; ++k) {
    Lanes columns[2];
    __builtin_memcpy(columns, b + k * kMatmulColumns, sizeof columns);
#pragma GCC unroll 4
    for (int64_t i = 0; i < kMatmulTileRows; ++i) {
      const Lanes factor = Lanes{} + a[i * kMatmulInner + k];
      tile[i][0] += factor * columns[0];
      tile[i][1] += factor * columns[1];
    }
  }
  for (int64_t i = 0; i < kMatmulTileRows; ++i) __builtin_memcpy(sums + i * kMatmulColumns, tile[i], sizeof tile[i]);
}

template <typename T>
HEED_NOINLINE void add_all_products(const MatmulBlock& block) {
  static_assert(kMatmulRowsUnit % kMatmulTileRows == 0 && kMatmulColumnsUnit % kMatmulTileColumns<T> == 0);
  for (int64_t column = 0; column < block.num_columns; column += kMatmulTileColumns<T>) {
    for (int64_t row = 0; row < block.num_rows; row += kMatmulTileRows) add_products<T>(block, row, column);
  }
}

// Integers are computed as unsigned ones, which wrap around.
static void matmul_block(const MatmulBlock* block) {
  switch (block->dtype) {
    case DType::F32: return add_all_products<float>(*block);
    case DType::F64: return add_all_products<double>(*block);
    case DType::I32: return add_all_products<uint32_t>(*block);
    case DType::I64: return add_all_products<uint64_t>(*block);
    case DType::F16:
    case DType::BF16:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
