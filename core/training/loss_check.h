// SPDX-License-Identifier: Apache-2.0
// Checks of the tensors of losses. They throw InvalidArgument.
#pragma once

#include "base/error.h"
#include "tensor/dtype_term.h"
#include "tensor/overlap.h"
#include "tensor_functions/check.h"

namespace heed {

inline void require_f32(const Argument& argument) {
  if (argument.tensor.dtype() == DType::F32) return;
  fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32"), argument.name, term_of(argument.tensor.dtype()));
}

// Of a result with the shape of `like`.
inline void require_result(const Argument& result, const Shape& shape, const char* what, const Argument& like) {
  check_same_device(result, like);
  check_shape(result, shape, what);
  require_f32(result);
  result.tensor.require_writable(result.name);
}

inline void require_separate(const Argument& result, const Argument& other) {
  require_separate(result.tensor, result.name, other.tensor, other.name);
}

// Of a gradient, which may be written over what it is the gradient of.
inline void require_separate_or_same(const Argument& gradient, const Argument& of) {
  if (gradient.tensor.is_same_as(of.tensor) || !overlaps(gradient.tensor, of.tensor)) return;
  fail(Status::InvalidArgument, "%s shares memory with %s, expected separate memory or the same elements",
       gradient.name, of.name);
}

}  // namespace heed
