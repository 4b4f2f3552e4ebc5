// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/reduce.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// Which axes of a tensor are reduced.
using ReducedAxes = std::array<bool, kMaxRank>;

// The dims that a result may have: without the axes, or with 1 in their place.
struct ResultShapes {
  ResultShapes(const Shape& shape, const ReducedAxes& is_reduced) : kept(shape) {
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
      if (is_reduced[static_cast<size_t>(axis)]) {
        kept[axis] = 1;
      } else {
        removed[removed.rank++] = shape[axis];
      }
    }
  }
  bool include(const Shape& shape) const { return shape == removed || shape == kept; }

  Shape removed;
  Shape kept;
};

bool is_arg(Reduction reduction) { return reduction == Reduction::ArgMax || reduction == Reduction::ArgMin; }

bool needs_an_element(Reduction reduction) {
  return is_arg(reduction) || reduction == Reduction::Max || reduction == Reduction::Min;
}

void check_dtypes(Reduction reduction, const Argument& tensor, const Argument& result) {
  const DType dtype = tensor.tensor.dtype();
  const bool is_bool = dtype == DType::Bool && reduction != Reduction::Norm;
  if (!is_bool) check_number(tensor);
  const bool is_whole = !is_floating(dtype);
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Prod:
      return is_whole ? check_dtype(result, DType::I64, "as of a sum or product of integers")
                      : check_dtype(result, dtype, "the " WORD("dtype") " of " ARGUMENT("tensor"));
    case Reduction::Mean:
    case Reduction::Norm:
      return is_whole ? check_dtype(result, DType::F32, "as of a mean or norm of integers")
                      : check_dtype(result, dtype, "the " WORD("dtype") " of " ARGUMENT("tensor"));
    case Reduction::Max:
    case Reduction::Min: return check_dtype(result, dtype, "the " WORD("dtype") " of " ARGUMENT("tensor"));
    case Reduction::ArgMax:
    case Reduction::ArgMin: return check_dtype(result, DType::I64, "since it is an index");
  }
}

// A mean of integers is computed in F64, where their sum cannot wrap around.
DType compute_dtype(Reduction reduction, DType dtype) {
  const bool is_wide = reduction == Reduction::Norm || (reduction == Reduction::Mean && !is_floating(dtype));
  if (is_wide || dtype == DType::F64) return DType::F64;
  return is_floating(dtype) ? DType::F32 : DType::I64;
}

// An axis of both operands. The stride of the output is 0 on axes that are reduced.
struct Axis {
  int64_t size;
  int64_t input_stride;
  int64_t output_stride;
};

// The axes of the problem, some of which may be joined.
class AxisList {
 public:
  // Behind the axes before it.
  void add(const Axis& axis) {
    if (axis.size == 1) return;
    if (count_ > 0) {
      Axis& last = axes_[count_ - 1];
      const bool joins =
          last.input_stride == axis.input_stride * axis.size && last.output_stride == axis.output_stride * axis.size;
      if (joins) {
        last = {last.size * axis.size, axis.input_stride, axis.output_stride};
        return;
      }
    }
    axes_[count_++] = axis;
  }

  // The order of outputs has no effect on them: adjacent ones are read together.
  void sort_by_stride() {
    std::sort(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(count_),
              [](const Axis& a, const Axis& b) { return std::abs(a.input_stride) > std::abs(b.input_stride); });
  }

  // As the axes before `end` of the problem.
  void set(ReduceProblem& problem, int end) const {
    for (size_t i = 0; i < count_; ++i) {
      const size_t axis = static_cast<size_t>(end) - count_ + i;
      problem.sizes[axis] = axes_[i].size;
      problem.input.strides[axis] = axes_[i].input_stride;
      problem.output.strides[axis] = axes_[i].output_stride;
    }
  }

  int32_t count() const { return static_cast<int32_t>(count_); }

 private:
  std::array<Axis, kMaxRank> axes_{};
  size_t count_ = 0;
};

void run(const char* function, Reduction reduction, const Tensor& tensor, const ReducedAxes& is_reduced,
         const Tensor& result) {
  const Argument output = {"result", result};
  check_same_device(output, {ARGUMENT("tensor"), tensor});
  check_memory(output, {ARGUMENT("tensor"), tensor});
  int64_t length = 1;
  for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
    if (is_reduced[static_cast<size_t>(axis)]) length *= tensor.dim(axis);
  }
  if (result.num_elements() == 0) return;
  if (length == 0 && needs_an_element(reduction)) {
    fail(Status::InvalidArgument,
         ARGUMENT("tensor") " has " ARGUMENT("dims") " %s and no element along the axes that are reduced, expected one for "
                            "a maximum or minimum",
         to_string(tensor.shape()).c_str());
  }

  ReduceProblem problem;
  problem.reduction = reduction;
  problem.compute = compute_dtype(reduction, tensor.dtype());
  problem.input.data = tensor.data();
  problem.input.dtype = tensor.dtype();
  problem.output.data = result.data();
  problem.output.dtype = result.dtype();
  problem.input.given = problem.output.given = 1;
  AxisList kept;
  AxisList reduced;
  const bool keeps_axes = result.rank() == tensor.rank();
  int32_t result_axis = 0;
  for (int32_t axis = 0; axis < tensor.rank(); ++axis) {
    if (is_reduced[static_cast<size_t>(axis)]) {
      reduced.add({tensor.dim(axis), tensor.stride(axis), 0});
      continue;
    }
    kept.add({tensor.dim(axis), tensor.stride(axis), result.stride(keeps_axes ? axis : result_axis)});
    ++result_axis;
  }
  kept.sort_by_stride();
  problem.num_reduced = std::max(1, reduced.count());
  reduced.set(problem, kElementwiseRank);
  kept.set(problem, kElementwiseRank - problem.num_reduced);
  PooledCall(context_of(result), function, "reduction", problem.op).run();
}

}  // namespace

void reduce(Reduction reduction, const Tensor& tensor, int32_t axis, const Tensor& result) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const Argument output = {"result", result};
  // A number has no axis; as a result of one element it is reduced along all.
  const int32_t normal_axis = normalize_axis(axis, std::max(tensor.rank(), 1));
  if (normal_axis < 0) {
    fail(Status::InvalidArgument, "axis is %d, but " ARGUMENT("tensor") " has " ARGUMENT("dims") " %s of rank %d", axis,
         to_string(tensor.shape()).c_str(), tensor.rank());
  }
  check_dtypes(reduction, input, output);
  ReducedAxes is_reduced{};
  if (tensor.rank() > 0) is_reduced[static_cast<size_t>(normal_axis)] = true;
  const ResultShapes expected(tensor.shape(), is_reduced);
  if (!expected.include(result.shape())) {
    if (result.num_elements() != 1) {
      fail(Status::InvalidArgument,
           "result has " ARGUMENT("dims") " %s, expected %s or %s, those of " ARGUMENT(
               "tensor") " without axis %d, or one element for all axes",
           to_string(result.shape()).c_str(), to_string(expected.removed).c_str(), to_string(expected.kept).c_str(),
           normal_axis);
    }
    is_reduced.fill(true);
  }
  run("heed_reduce", reduction, tensor, is_reduced, result);
}

void reduce_axes(Reduction reduction, const Tensor& tensor, const int32_t* axes, int32_t num_axes,
                 const Tensor& result) {
  ReducedAxes is_reduced{};
  if (axes == nullptr) is_reduced.fill(true);
  for (int32_t i = 0; axes != nullptr && i < num_axes; ++i) {
    const int32_t axis = normalize_axis(axes[i], tensor.rank());
    if (axis < 0) {
      fail(Status::InvalidArgument, "axes[%d] is %d, but " ARGUMENT("tensor") " has " ARGUMENT("dims") " %s of rank %d",
           i, axes[i], to_string(tensor.shape()).c_str(), tensor.rank());
    }
    if (is_reduced[static_cast<size_t>(axis)]) {
      fail(Status::InvalidArgument, "axes[%d] is %d, but axis %d is among the axes before it: expected each axis once",
           i, axes[i], axis);
    }
    is_reduced[static_cast<size_t>(axis)] = true;
  }
  const bool is_one_or_all = axes == nullptr || num_axes == 1 || num_axes == tensor.rank();
  if (is_arg(reduction) && !is_one_or_all)
    fail(Status::InvalidArgument, "axes has %d axes, expected one of them, or all, for an index", num_axes);
  const Argument input = {ARGUMENT("tensor"), tensor};
  const Argument output = {"result", result};
  check_dtypes(reduction, input, output);
  const ResultShapes expected(tensor.shape(), is_reduced);
  if (!expected.include(result.shape())) {
    fail(Status::InvalidArgument,
         "result has " ARGUMENT("dims") " %s, expected %s or %s, those of " ARGUMENT(
             "tensor") " without the axes that are reduced",
         to_string(result.shape()).c_str(), to_string(expected.removed).c_str(), to_string(expected.kept).c_str());
  }
  run("heed_reduce_axes", reduction, tensor, is_reduced, result);
}

}  // namespace heed
