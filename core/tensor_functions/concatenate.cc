// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/concatenate.h"

#include <cinttypes>
#include <cstddef>
#include <cstdio>

#include "base/error.h"
#include "tensor/copy.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/check.h"

namespace heed {

void concatenate(std::span<const Tensor> tensors, int32_t axis, const Tensor& result) {
  const Argument output = {"result", result};
  const Tensor& first = tensors.front();
  const int32_t joined = checked_axis(axis, {"tensors[0]", first});
  Shape expected = first.shape();
  expected[joined] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    char name[40];
    std::snprintf(name, sizeof name, "tensors[%zu]", i);
    if (tensor.dtype() != first.dtype()) {
      fail(Status::InvalidArgument, "%s is %s, expected %s, the " WORD("dtype") " of tensors[0]", name,
           term_of(tensor.dtype()), term_of(first.dtype()));
    }
    Shape others = tensor.shape();
    if (others.rank == first.rank()) others[joined] = first.dim(joined);
    if (!(others == first.shape())) {
      fail(Status::InvalidArgument,
           "%s has " ARGUMENT("dims") " %s and tensors[0] has " ARGUMENT(
               "dims") " %s: expected the same on every axis but %d",
           name, to_string(tensor.shape()).c_str(), to_string(first.shape()).c_str(), joined);
    }
    if (__builtin_add_overflow(expected[joined], tensor.dim(joined), &expected[joined])) {
      fail(Status::InvalidArgument,
           "%s has %" PRId64 " elements on axis %d, expected fewer: with those before it they are too many", name,
           tensor.dim(joined), joined);
    }
    check_same_device({name, tensor}, {"tensors[0]", first});
  }
  check_same_device(output, {"tensors[0]", first});
  check_shape(output, expected, "those of the tensors, joined");
  if (result.dtype() != first.dtype()) {
    fail(Status::InvalidArgument, "result is %s, expected %s, the " WORD("dtype") " of tensors[0]",
         term_of(result.dtype()), term_of(first.dtype()));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    char name[40];
    std::snprintf(name, sizeof name, "tensors[%zu]", i);
    check_memory(output, {name, tensors[i]});
  }
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    copy_tensor(result.slice(joined, start, tensor.dim(joined)), tensor);
    start += tensor.dim(joined);
  }
}

}  // namespace heed
