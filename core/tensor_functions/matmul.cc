// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/matmul.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "ops/linear.h"
#include "ops/matmul.h"
#include "tensor/walk.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

constexpr const char* kName = "heed_matmul";
constexpr const char* kOperation = "matmul";

// A tensor as a batch of matrices: batch axes, aligned at the end with those of the product, then rows and columns. A
// vector is one row or one column. The stride is 0 for axes of size 1, which are broadcast, and for tensors without
// elements, which may have no address.
struct Matrices {
  Dims batch_strides{};
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

Matrices matrices_of(const Tensor& tensor, bool has_rows, bool has_columns, int32_t batch_rank) {
  int32_t axis = tensor.rank();
  const auto take = [&](int64_t& stride) {
    --axis;
    stride = tensor.dim(axis) == 1 || tensor.num_elements() == 0 ? 0 : tensor.stride(axis);
    return tensor.dim(axis);
  };
  Matrices matrices;
  if (has_columns) matrices.columns = take(matrices.column_stride);
  if (has_rows) matrices.rows = take(matrices.row_stride);
  const int32_t num_batch_axes = axis;
  for (int32_t i = 1; i <= num_batch_axes; ++i) take(matrices.batch_strides[static_cast<size_t>(batch_rank - i)]);
  return matrices;
}

// The batch axes of the product.
Shape broadcast_batch(const Tensor& a, const Tensor& b) {
  const int32_t a_rank = std::max(a.rank() - 2, 0);
  const int32_t b_rank = std::max(b.rank() - 2, 0);
  Shape batch;
  batch.rank = std::max(a_rank, b_rank);
  const auto dim = [&batch](const Tensor& tensor, int32_t rank, int32_t axis) {
    const int32_t missing = batch.rank - rank;
    return axis < missing ? 1 : tensor.dim(axis - missing);
  };
  for (int32_t axis = 0; axis < batch.rank; ++axis) {
    const int64_t of_a = dim(a, a_rank, axis);
    const int64_t of_b = dim(b, b_rank, axis);
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      fail(Status::InvalidArgument,
           ARGUMENT("a") " has " ARGUMENT("dims") " %s and " ARGUMENT("b") " has " ARGUMENT(
               "dims") " %s, whose axes before the last two do not broadcast: expected equal sizes, or 1",
           to_string(a.shape()).c_str(), to_string(b.shape()).c_str());
    }
    batch[axis] = of_a == 1 ? of_b : of_a;
  }
  return batch;
}

// If a is a vector the product has no axis of rows, if b is a vector no axis of columns.
Shape product_shape(const Shape& batch, const Tensor& a, const Matrices& left, const Tensor& b, const Matrices& right) {
  Shape shape = batch;
  if (a.rank() > 1) shape[shape.rank++] = left.rows;
  if (b.rank() > 1) shape[shape.rank++] = right.columns;
  return shape;
}

// The longest batch axis along which b is broadcast, so that the same matrix serves the whole axis; -1 if there is
// none.
int32_t axis_of_one_b(const Shape& batch, const Matrices& right) {
  int32_t best = -1;
  for (int32_t axis = 0; axis < batch.rank; ++axis) {
    if (right.batch_strides[static_cast<size_t>(axis)] != 0 || batch[axis] == 1) continue;
    if (best < 0 || batch[axis] > batch[best]) best = axis;
  }
  return best;
}

// Axes (-, s, r, c): one batch axis or none, rows and columns.
Operand operand_of(const Tensor& tensor, const Matrices& matrices, int32_t batch_axis) {
  Operand operand;
  operand.dtype = tensor.dtype();
  operand.given = 1;
  operand.strides[1] = batch_axis < 0 ? 0 : matrices.batch_strides[static_cast<size_t>(batch_axis)];
  operand.strides[2] = matrices.row_stride;
  operand.strides[3] = matrices.column_stride;
  return operand;
}

// A product of two tensors as matrices. `batch` are the axes of the product before its rows and columns.
struct Product {
  const Tensor& a;
  const Tensor& b;
  const Tensor& product;
  Matrices left;
  Matrices right;
  Matrices result;
  Shape batch;
};

// As a linear operation, whose weight is b.
void run_linear(const Product& product) {
  Shape batch = product.batch;
  const int32_t batch_axis = axis_of_one_b(batch, product.right);
  LinearProblem problem;
  problem.batch = batch_axis < 0 ? 1 : batch[batch_axis];
  problem.rows = product.left.rows;
  problem.input_size = product.left.columns;
  problem.input = operand_of(product.a, product.left, batch_axis);
  LinearPart& part = problem.parts[0];
  part.output_size = part.head_size = product.right.columns;
  // The columns of b are the rows of a weight (out, in).
  part.weight = operand_of(product.b, product.right, -1);
  std::swap(part.weight.strides[2], part.weight.strides[3]);
  part.output = operand_of(product.product, product.result, batch_axis);
  if (batch_axis >= 0) batch[batch_axis] = 1;

  const PooledCall call(context_of(product.product), kName, kOperation, problem.op);
  walk<3>(batch, {product.left.batch_strides, product.right.batch_strides, product.result.batch_strides},
          [&](const auto& offsets) {
            problem.input.data = product.a.element(offsets[0]);
            part.weight.data = product.b.element(offsets[1]);
            part.output.data = product.product.element(offsets[2]);
            call.run();
          });
}

void set_matrices(ElementwiseOperand& operand, const Tensor& tensor, const Matrices& matrices, int32_t batch_rank) {
  operand.data = tensor.data();
  operand.dtype = tensor.dtype();
  operand.given = 1;
  for (int32_t axis = 0; axis < batch_rank; ++axis)
    operand.strides[kMatmulRowAxis - batch_rank + axis] = matrices.batch_strides[static_cast<size_t>(axis)];
  operand.strides[kMatmulRowAxis] = matrices.row_stride;
  operand.strides[kMatmulColumnAxis] = matrices.column_stride;
}

// Of numbers that a linear operation does not take.
void run_matmul(const Product& product, DType compute) {
  MatmulProblem problem;
  problem.compute = compute;
  problem.inner_size = product.left.columns;
  const int32_t batch_rank = product.batch.rank;
  for (int32_t axis = 0; axis < batch_rank; ++axis)
    problem.sizes[kMatmulRowAxis - batch_rank + axis] = product.batch[axis];
  problem.sizes[kMatmulRowAxis] = product.left.rows;
  problem.sizes[kMatmulColumnAxis] = product.right.columns;
  set_matrices(problem.a, product.a, product.left, batch_rank);
  set_matrices(problem.b, product.b, product.right, batch_rank);
  set_matrices(problem.product, product.product, product.result, batch_rank);
  PooledCall(context_of(product.product), kName, kOperation, problem.op).run();
}

}  // namespace

void matmul(const Tensor& a, const Tensor& b, const Tensor& product) {
  const Argument first = {ARGUMENT("a"), a};
  const Argument second = {ARGUMENT("b"), b};
  const Argument output = {ARGUMENT("product"), product};
  const DType common = common_dtype(first, second);
  check_has_axis(first);
  check_has_axis(second);
  check_same_device(second, first);
  const Shape batch = broadcast_batch(a, b);
  const Matrices left = matrices_of(a, a.rank() > 1, true, batch.rank);
  const Matrices right = matrices_of(b, true, b.rank() > 1, batch.rank);
  if (left.columns != right.rows) {
    fail(Status::InvalidArgument,
         ARGUMENT("a") " has " ARGUMENT("dims") " %s and " ARGUMENT("b") " has " ARGUMENT(
             "dims") " %s, whose inner sizes are %" PRId64 " and %" PRId64 ": expected the same",
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str(), left.columns, right.rows);
  }
  check_same_device(output, first);
  check_shape(output, product_shape(batch, a, left, b, right), "the shape of " ARGUMENT("a") " times " ARGUMENT("b"));
  check_dtype(output, common, "the " WORD("dtype") " of the product");
  check_memory(output, first);
  check_memory(output, second);
  if (product.num_elements() == 0) return;
  const Matrices result = matrices_of(product, a.rank() > 1, b.rank() > 1, batch.rank);
  const Product matrices = {a, b, product, left, right, result, batch};
  if (is_computable(a.dtype()) && is_computable(b.dtype())) {
    run_linear(matrices);
  } else {
    run_matmul(matrices, compute_dtype(common));
  }
}

}  // namespace heed
