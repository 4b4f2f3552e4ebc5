// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernels/linear/matmul.h"
#include "backends/cpu/operations.h"
#include "base/rounding.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// Elements of a block of a, of b and of the product.
constexpr int64_t kBlockOfA = kMatmulRows * kMatmulInner;
constexpr int64_t kBlockOfB = kMatmulInner * kMatmulColumns;
constexpr int64_t kBlockOfProduct = kMatmulRows * kMatmulColumns;

size_t worker_bytes(const MatmulProblem& problem) {
  return round_up_to_alignment(static_cast<size_t>(kBlockOfA + kBlockOfB + kBlockOfProduct) * size_of(problem.compute));
}

// A double, because plans are also made for shapes that are too large to run.
double count_tasks(const MatmulProblem& problem) {
  double count = static_cast<double>(divide_up(problem.sizes[kMatmulRowAxis], kMatmulRows)) *
                 static_cast<double>(divide_up(problem.sizes[kMatmulColumnAxis], kMatmulColumns));
  for (int axis = 0; axis < kMatmulRowAxis; ++axis) count *= static_cast<double>(problem.sizes[axis]);
  return count;
}

// A matrix of an operand: its first element, and its strides in elements.
struct Matrix {
  std::byte* data;
  int64_t row_stride;
  int64_t column_stride;
  DType dtype;

  std::byte* at(int64_t row, int64_t column) const {
    return data + (row * row_stride + column * column_stride) * static_cast<int64_t>(size_of(dtype));
  }
  int64_t column_step() const { return column_stride * static_cast<int64_t>(size_of(dtype)); }
};

// `index`: of the matrix in row-major order of the axes before the last two.
Matrix matrix_of(const MatmulProblem& problem, const ElementwiseOperand& operand, int64_t index) {
  int64_t offset = 0;
  for (int axis = kMatmulRowAxis - 1; axis >= 0 && index != 0; --axis) {
    offset += index % problem.sizes[axis] * operand.strides[axis];
    index /= problem.sizes[axis];
  }
  return {static_cast<std::byte*>(operand.data) + offset * static_cast<int64_t>(size_of(operand.dtype)),
          operand.strides[kMatmulRowAxis], operand.strides[kMatmulColumnAxis], operand.dtype};
}

// A block of scratch memory, whose rows are row_size elements of the dtype apart.
struct Block {
  std::byte* data;
  int64_t row_size;
  DType dtype;

  int64_t element_size() const { return static_cast<int64_t>(size_of(dtype)); }
  std::byte* at(int64_t row, int64_t column) const { return data + (row * row_size + column) * element_size(); }
  void set_zero(int64_t row, int64_t column, int64_t count) const {
    if (count > 0) std::memset(at(row, column), 0, static_cast<size_t>(count * element_size()));
  }

  // Copies a part of a matrix, and makes its rows and columns as many as a kernel reads.
  void pack(const Matrix& matrix, int64_t row, int64_t num_rows, int64_t column, int64_t num_columns) const {
    const int64_t whole_columns = std::min(row_size, round_up(num_columns, kMatmulColumnsUnit));
    for (int64_t i = 0; i < num_rows; ++i) {
      convert_elements(dtype, at(i, 0), element_size(), matrix.dtype, matrix.at(row + i, column), matrix.column_step(),
                       num_columns);
      set_zero(i, num_columns, whole_columns - num_columns);
    }
    for (int64_t i = num_rows; i % kMatmulRowsUnit != 0; ++i) set_zero(i, 0, whole_columns);
  }
};

// Computes one block of a product. `memory` has worker_bytes bytes.
void compute_product(const KernelTable& kernels, const MatmulProblem& problem, int64_t task, std::byte* memory) {
  const int64_t num_columns = problem.sizes[kMatmulColumnAxis];
  const int64_t num_rows = problem.sizes[kMatmulRowAxis];
  const int64_t column_blocks = divide_up(num_columns, kMatmulColumns);
  const int64_t column = task % column_blocks * kMatmulColumns;
  task /= column_blocks;
  const int64_t row_blocks = divide_up(num_rows, kMatmulRows);
  const int64_t row = task % row_blocks * kMatmulRows;
  const int64_t index = task / row_blocks;

  const Block of_a = {memory, kMatmulInner, problem.compute};
  const Block of_b = {of_a.at(kMatmulRows, 0), kMatmulColumns, problem.compute};
  const Block sums = {of_b.at(kMatmulInner, 0), kMatmulColumns, problem.compute};
  MatmulBlock block = {.a = of_a.data,
                       .b = of_b.data,
                       .sums = sums.data,
                       .num_rows = std::min(kMatmulRows, num_rows - row),
                       .num_columns = std::min(kMatmulColumns, num_columns - column),
                       .inner_size = 0,
                       .dtype = problem.compute};
  const Matrix a = matrix_of(problem, problem.a, index);
  const Matrix b = matrix_of(problem, problem.b, index);
  sums.set_zero(0, 0, round_up(block.num_rows, kMatmulRowsUnit) * kMatmulColumns);
  for (int64_t k = 0; k < problem.inner_size; k += kMatmulInner) {
    block.inner_size = std::min(kMatmulInner, problem.inner_size - k);
    of_a.pack(a, row, block.num_rows, k, block.inner_size);
    of_b.pack(b, k, block.inner_size, column, block.num_columns);
    kernels.matmul_block(&block);
  }
  const Matrix product = matrix_of(problem, problem.product, index);
  for (int64_t i = 0; i < block.num_rows; ++i) {
    convert_elements(product.dtype, product.at(row + i, column), product.column_step(), problem.compute, sums.at(i, 0),
                     sums.element_size(), block.num_columns);
  }
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const MatmulProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "matmul";
  plan.isa = kernels.isa;
  plan_loop_with_scratch(plan, count_tasks(problem), cost_of(problem).flops, worker_bytes(problem), num_workers);
  return plan;
}

void run_problem(const KernelTable& kernels, const MatmulProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  if (count_elements(problem.sizes) == 0) return;
  run_loop_with_scratch(plan, workers, scratch,
                        [&](int64_t task, std::byte* own) { compute_product(kernels, problem, task, own); });
}

}  // namespace heed::cpu
