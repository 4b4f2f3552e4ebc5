// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/matmul.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "ops/linear.h"
#include "tensor/walk.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

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
           "a has dims %s and b has dims %s, whose axes before the last two do not broadcast: expected equal sizes, or "
           "1",
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

}  // namespace

void matmul(const Tensor& a, const Tensor& b, const Tensor& product) {
  check_input({"a", a});
  check_input({"b", b});
  if (a.dtype() != b.dtype()) {
    fail(Status::InvalidArgument, "b is %s, but a is %s: expected the same dtype", name_of(b.dtype()),
         name_of(a.dtype()));
  }
  check_same_device({"b", b}, {"a", a});
  Shape batch = broadcast_batch(a, b);
  const Matrices left = matrices_of(a, a.rank() > 1, true, batch.rank);
  const Matrices right = matrices_of(b, true, b.rank() > 1, batch.rank);
  if (left.columns != right.rows) {
    fail(Status::InvalidArgument,
         "a has dims %s and b has dims %s, whose inner sizes are %" PRId64 " and %" PRId64 ": expected the same",
         to_string(a.shape()).c_str(), to_string(b.shape()).c_str(), left.columns, right.rows);
  }
  check_result({"product", product}, product_shape(batch, a, left, b, right), "the shape of a times b", {"a", a});
  check_memory({"product", product}, {"a", a});
  check_memory({"product", product}, {"b", b});
  if (product.num_elements() == 0) return;
  const Matrices result = matrices_of(product, a.rank() > 1, b.rank() > 1, batch.rank);

  const int32_t batch_axis = axis_of_one_b(batch, right);
  LinearProblem problem;
  problem.batch = batch_axis < 0 ? 1 : batch[batch_axis];
  problem.rows = left.rows;
  problem.input_size = left.columns;
  problem.input = operand_of(a, left, batch_axis);
  LinearPart& part = problem.parts[0];
  part.output_size = part.head_size = right.columns;
  // The columns of b are the rows of a weight (out, in).
  part.weight = operand_of(b, right, -1);
  std::swap(part.weight.strides[2], part.weight.strides[3]);
  part.output = operand_of(product, result, batch_axis);
  if (batch_axis >= 0) batch[batch_axis] = 1;

  const PooledCall call(context_of(product), "heed_matmul", "matmul", problem.op);
  walk<3>(batch, {left.batch_strides, right.batch_strides, result.batch_strides}, [&](const auto& offsets) {
    problem.input.data = a.element(offsets[0]);
    part.weight.data = b.element(offsets[1]);
    part.output.data = product.element(offsets[2]);
    call.run();
  });
}

}  // namespace heed
