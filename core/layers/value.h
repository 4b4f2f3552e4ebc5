// SPDX-License-Identifier: Apache-2.0
// The arrays that the operations of a call read and write: tensors of the caller, and arrays in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace heed {

// An array in the workspace. Its memory is its own from the first operation that uses it to the last; before and after
// that other arrays have the same bytes (placement.h).
struct Intermediate {
  DType dtype;
  int32_t rank;
  int64_t dims[kMaxRank];  // the first `rank` are set
  int64_t strides[kMaxRank];
  // Where element (0, 0, ...) is, counted in elements from the array's first byte. Negative where the array holds only
  // later rows: the element is then never used.
  int64_t origin;
  // Bytes of the whole array, and of the part that this call holds, both rounded up to kMemoryAlignment. Rows that no
  // operation uses are not held.
  int64_t num_bytes;
  int64_t num_held_bytes;
  // The first and the last phase of the schedule that uses the array; -1: none.
  int32_t first_use;
  int32_t last_use;
  Intermediate* next;  // the array that is used first after this one

  // Set when it is placed: the first of the arrays that have this one's memory in turn, and of that array the offset in
  // the workspace.
  Intermediate* slot;
  size_t offset;
};

// What an operation reads or writes: a tensor of the caller or an intermediate, or nothing where it is not given. It is
// a reference: what it refers to outlives it. The layers of a tree hand values to each other, so that a child reads what
// another one wrote.
class Value {
 public:
  Value() = default;
  // Implicit, since each function that takes values takes tensors too.
  Value(const Tensor* tensor) : tensor_(tensor) {}                     // NOLINT(*-explicit-*): null is not given
  Value(const Tensor& tensor) : tensor_(&tensor) {}                    // NOLINT(*-explicit-*)
  Value(Intermediate& intermediate) : intermediate_(&intermediate) {}  // NOLINT(*-explicit-*)

  bool is_given() const { return tensor_ != nullptr || intermediate_ != nullptr; }
  // Null unless it is one.
  const Tensor* tensor() const { return tensor_; }
  Intermediate* intermediate() const { return intermediate_; }

  // Of a value that is given.
  DType dtype() const { return tensor_ != nullptr ? tensor_->dtype() : intermediate_->dtype; }
  int32_t rank() const { return tensor_ != nullptr ? tensor_->rank() : intermediate_->rank; }
  int64_t dim(int32_t axis) const { return tensor_ != nullptr ? tensor_->dim(axis) : intermediate_->dims[axis]; }
  int64_t stride(int32_t axis) const {
    return tensor_ != nullptr ? tensor_->stride(axis) : intermediate_->strides[axis];
  }
  Shape shape() const;
  bool is_empty() const {
    for (int32_t axis = 0; axis < rank(); ++axis) {
      if (dim(axis) == 0) return true;
    }
    return false;
  }

 private:
  const Tensor* tensor_ = nullptr;
  Intermediate* intermediate_ = nullptr;
};

inline Shape Value::shape() const {
  if (tensor_ != nullptr) return tensor_->shape();
  Shape shape;
  shape.rank = intermediate_->rank;
  for (int32_t axis = 0; axis < shape.rank; ++axis) shape[axis] = intermediate_->dims[axis];
  return shape;
}

// Whether both are the same elements in the same order, so that an operation may read them once for both.
inline bool same_source(const Value& a, const Value& b) {
  if (a.tensor() != nullptr && b.tensor() != nullptr) return a.tensor()->is_same_as(*b.tensor());
  return a.intermediate() == b.intermediate() && a.tensor() == b.tensor();
}

}  // namespace heed
