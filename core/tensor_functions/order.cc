// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/order.h"

#include <cinttypes>
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "ops/cumulative_sum.h"
#include "ops/sort.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// The tensor's axes as those of a problem, with one of them last.
void set_axes_with_last(int32_t rank, int32_t last, int32_t (&axes)[kElementwiseRank]) {
  int32_t place = kElementwiseRank - 1;
  axes[place--] = last;
  for (int32_t axis = rank - 1; axis >= 0; --axis) {
    if (axis != last) axes[place--] = axis;
  }
  for (; place >= 0; --place) axes[place] = -1;
}

void set_sizes(Sizes<kElementwiseRank>& sizes, const Tensor& tensor, const int32_t (&axes)[kElementwiseRank]) {
  for (int32_t i = 0; i < kElementwiseRank; ++i) sizes[i] = axes[i] < 0 ? 1 : tensor.dim(axes[i]);
}

// The number of elements that a result has room for on the axis; the tensor's if the rank is another, which is refused later.
int64_t wanted_count(const Argument& result, const Argument& tensor, int32_t axis) {
  if (result.tensor.rank() != tensor.tensor.rank()) return tensor.tensor.dim(axis);
  const int64_t wanted = result.tensor.dim(axis);
  if (wanted > tensor.tensor.dim(axis)) {
    fail(Status::InvalidArgument,
         "%s has %" PRId64 " elements on axis %d, expected at most the %" PRId64 " of " ARGUMENT("tensor"), result.name,
         wanted, axis, tensor.tensor.dim(axis));
  }
  return wanted;
}

void sort_first(const Tensor& tensor, int32_t axis, bool descending, bool is_whole, const Tensor* values,
                const Tensor* indices) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const int32_t sorted = checked_axis(axis, input);
  if (values == nullptr && indices == nullptr)
    fail(Status::InvalidArgument, "values and indices are " WORD("NULL") ", expected at least one of them");
  tensor.require_data(input.name);
  Shape expected = tensor.shape();
  if (!is_whole) {
    expected[sorted] =
        wanted_count(values != nullptr ? Argument{"values", *values} : Argument{"indices", *indices}, input, sorted);
  }
  const auto check = [&](const Argument& result, DType dtype, const char* what) {
    check_same_device(result, input);
    check_shape(result, expected,
                is_whole ? "the " ARGUMENT("dims") " of " ARGUMENT("tensor")
                         : "those of " ARGUMENT("tensor") ", with as many as are wanted on the axis");
    if (result.tensor.dtype() != dtype) {
      fail(Status::InvalidArgument, "%s is %s, expected %s, %s", result.name, term_of(result.tensor.dtype()),
           term_of(dtype), what);
    }
    result.tensor.require_writable(result.name);
  };
  if (values != nullptr) {
    const Argument result = {"values", *values};
    check(result, tensor.dtype(), "the " WORD("dtype") " of " ARGUMENT("tensor"));
    check_in_place(result, input);
  }
  if (indices != nullptr) {
    const Argument result = {"indices", *indices};
    check(result, DType::I64, "since they are indices");
    check_memory(result, input);
    if (values != nullptr) check_memory(result, {"values", *values});
  }

  int32_t axes[kElementwiseRank];
  set_axes_with_last(tensor.rank(), sorted, axes);
  SortProblem problem;
  set_sizes(problem.sizes, tensor, axes);
  problem.num_wanted = expected[sorted];
  problem.descending = descending ? 1 : 0;
  set_operand(problem.input, tensor, axes);
  if (values != nullptr) set_operand(problem.values, *values, axes);
  if (indices != nullptr) set_operand(problem.indices, *indices, axes);
  const Tensor& result = values != nullptr ? *values : *indices;
  if (result.num_elements() == 0) return;
  PooledCall(context_of(result), is_whole ? "heed_sort" : "heed_top_k", "sorting", problem.op).run();
}

}  // namespace

void cumulative_sum(const Tensor& tensor, int32_t axis, const Tensor& result) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const Argument output = {"result", result};
  if (tensor.dtype() != DType::Bool) check_number(input);
  const int32_t summed = checked_axis(axis, input);
  check_same_device(output, input);
  check_shape(output, tensor.shape(), "the " ARGUMENT("dims") " of " ARGUMENT("tensor"));
  if (is_floating(tensor.dtype())) {
    check_dtype(output, tensor.dtype(), "the " WORD("dtype") " of " ARGUMENT("tensor"));
  } else {
    check_dtype(output, DType::I64, "as of sums of integers");
  }
  result.require_writable(output.name);
  check_in_place(output, input);
  if (result.num_elements() == 0) return;

  int32_t axes[kElementwiseRank];
  set_axes_with_last(tensor.rank(), summed, axes);
  CumulativeSumProblem problem;
  set_sizes(problem.sizes, tensor, axes);
  set_operand(problem.input, tensor, axes);
  set_operand(problem.output, result, axes);
  problem.compute = !is_floating(tensor.dtype()) ? DType::I64 : tensor.dtype() == DType::F64 ? DType::F64 : DType::F32;
  PooledCall(context_of(result), "heed_cumulative_sum", "cumulative sum", problem.op).run();
}

void sort(const Tensor& tensor, int32_t axis, bool descending, const Tensor* values, const Tensor* indices) {
  sort_first(tensor, axis, descending, true, values, indices);
}

void top_k(const Tensor& tensor, int32_t axis, bool largest, const Tensor* values, const Tensor* indices) {
  sort_first(tensor, axis, largest, false, values, indices);
}

}  // namespace heed
