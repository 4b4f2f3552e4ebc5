// SPDX-License-Identifier: Apache-2.0
// Blocks of a product of matrices of F32, F64, I32 or I64.
#pragma once

#include <stdint.h>

#include "tensor/dtype.h"

namespace heed::cpu {

// The largest block: rows and columns of the product, and products of each sum. Three blocks of 8-byte elements are in the
// second-level cache together.
inline constexpr int64_t kMatmulRows = 64;
inline constexpr int64_t kMatmulColumns = 64;
inline constexpr int64_t kMatmulInner = 128;

// The rows and the columns of a block are rounded up to multiples of these: a kernel reads and writes what is between.
inline constexpr int64_t kMatmulRowsUnit = 4;
inline constexpr int64_t kMatmulColumnsUnit = 32;

// sums[m, n] += sum over k of a[m, k] * b[k, n], in the order of k. The rows of a are kMatmulInner elements apart, those of b and
// of the sums kMatmulColumns. All have the dtype F32, F64, I32 or I64.
struct MatmulBlock {
  const void* a;
  const void* b;
  void* sums;
  int64_t num_rows;
  int64_t num_columns;
  int64_t inner_size;
  DType dtype;
};

}  // namespace heed::cpu
