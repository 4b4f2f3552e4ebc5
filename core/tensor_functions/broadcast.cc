// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/broadcast.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

bool is_number(DType dtype) { return is_floating(dtype) || is_integer(dtype); }

// Shorter rows than this are not worth a call for each.
constexpr int64_t kShortRow = 16;

}  // namespace

Shape broadcast_shape(std::initializer_list<Argument> tensors) {
  Shape shape;
  for (const Argument& argument : tensors) shape.rank = std::max(shape.rank, argument.tensor.rank());
  const Argument* having[kMaxRank] = {};
  for (const Argument& argument : tensors) {
    const int32_t missing = shape.rank - argument.tensor.rank();
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
      const int64_t size = axis < missing ? 1 : argument.tensor.dim(axis - missing);
      const Argument*& first = having[axis];
      if (first == nullptr || shape[axis] == 1) {
        shape[axis] = size;
        if (size != 1 || first == nullptr) first = &argument;
      } else if (size != 1 && size != shape[axis]) {
        fail(Status::InvalidArgument,
             "%s has " ARGUMENT("dims") " %s and %s has " ARGUMENT("dims") " %s, " WORD(
                 "which do not broadcast") ": axis %d of the result has %" PRId64 " and %" PRId64
                                           ", expected equal sizes, or 1",
             first->name, to_string(first->tensor.shape()).c_str(), argument.name,
             to_string(argument.tensor.shape()).c_str(), axis, shape[axis], size);
      }
    }
  }
  return shape;
}

void check_number(const Argument& argument) {
  if (is_number(argument.tensor.dtype())) return;
  fail(Status::InvalidArgument,
       "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") ", " DTYPE("BF16") ", " DTYPE("F64") ", " DTYPE(
           "I32") " or " DTYPE("I64") ": " WORD("copy it into a tensor of one of these first"),
       argument.name, term_of(argument.tensor.dtype()));
}

DType common_dtype(const Argument& a, const Argument& b) {
  check_number(a);
  check_number(b);
  const DType first = a.tensor.dtype();
  const DType second = b.tensor.dtype();
  if (first == second) return first;
  if (is_16_bit(first) && is_16_bit(second)) {
    fail(Status::InvalidArgument,
         "%s is %s and %s is %s, which have no common " WORD("dtype") ": copy one of them into " WORD(
             "a tensor") " of " DTYPE("F32") " first",
         a.name, term_of(first), b.name, term_of(second));
  }
  // The wider float, the float, or the wider integer.
  const auto rank = [](DType dtype) {
    if (dtype == DType::I32) return 0;
    if (dtype == DType::I64) return 1;
    if (is_16_bit(dtype)) return 2;
    return dtype == DType::F32 ? 3 : 4;
  };
  return rank(first) > rank(second) ? first : second;
}

void check_dtype(const Argument& result, DType expected, const char* what) {
  const DType dtype = result.tensor.dtype();
  if (dtype == expected || (is_16_bit(expected) && dtype == DType::F32)) return;
  if (is_16_bit(expected)) {
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") " or %s, %s", result.name, term_of(dtype),
         term_of(expected), what);
  }
  fail(Status::InvalidArgument, "%s is %s, expected %s, %s", result.name, term_of(dtype), term_of(expected), what);
}

void check_float_function(const Argument& tensor, const Argument& result) {
  const DType dtype = tensor.tensor.dtype();
  if (!is_floating(dtype)) {
    fail(Status::InvalidArgument,
         "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") ", " DTYPE("BF16") " or " DTYPE(
             "F64") ": copy it into " WORD("a tensor") " of one of these first",
         tensor.name, term_of(dtype));
  }
  check_has_axis(tensor);
  check_same_device(result, tensor);
  check_shape(result, tensor.tensor.shape(), "the " ARGUMENT("dims") " of " ARGUMENT("tensor"));
  check_dtype(result, dtype, "the " WORD("dtype") " of " ARGUMENT("tensor"));
  check_memory(result, tensor);
}

void check_in_place(const Argument& result, const Argument& input) {
  input.tensor.require_data(input.name);
  if (!overlaps(result.tensor, input.tensor) || result.tensor.is_same_as(input.tensor)) return;
  fail(Status::InvalidArgument,
       "%s shares memory with %s in another order or " WORD("dtype") ", expected separate memory, or %s itself",
       result.name, input.name, input.name);
}

void set_broadcast_operand(ElementwiseOperand& operand, const Tensor& tensor, const Shape& shape) {
  int32_t axes[kElementwiseRank];
  const int32_t missing = shape.rank - tensor.rank();
  for (int32_t i = 0; i < kElementwiseRank; ++i) {
    const int32_t axis = i - (kElementwiseRank - shape.rank) - missing;
    axes[i] = std::max(axis, -1);
  }
  set_operand(operand, tensor, axes);
}

void merge_axes(Sizes<kElementwiseRank>& sizes, std::initializer_list<ElementwiseOperand*> operands) {
  constexpr int kLast = kElementwiseRank - 1;
  const auto move = [&](int from, int to) {
    std::swap(sizes[from], sizes[to]);
    for (ElementwiseOperand* operand : operands) std::swap(operand->strides[from], operand->strides[to]);
  };
  // In the order of the last operand in memory, which is the result.
  const ElementwiseOperand& result = **(operands.end() - 1);
  int first = 0;
  while (first < kLast && sizes[first] == 1) ++first;
  for (int axis = first + 1; axis < kElementwiseRank; ++axis) {
    for (int at = axis; at > first && std::abs(result.strides[at - 1]) < std::abs(result.strides[at]); --at)
      move(at - 1, at);
  }
  int merged = kLast;
  for (int axis = kLast - 1; axis >= first; --axis) {
    if (sizes[axis] == 1) continue;
    const auto joins = [&](const ElementwiseOperand* operand) {
      return operand->given == 0 || operand->strides[axis] == operand->strides[merged] * sizes[merged];
    };
    if (sizes[merged] == 1) {
      move(axis, merged);
    } else if (std::all_of(operands.begin(), operands.end(), joins)) {
      sizes[merged] *= sizes[axis];
      sizes[axis] = 1;
    } else {
      --merged;
      if (axis != merged) move(axis, merged);
    }
  }
  if (sizes[kLast] >= kShortRow) return;
  const int longest = static_cast<int>(std::max_element(sizes, sizes + kElementwiseRank) - sizes);
  if (sizes[longest] > sizes[kLast]) move(longest, kLast);
}

}  // namespace heed
