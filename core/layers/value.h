// SPDX-License-Identifier: Apache-2.0
// The arrays that the operations of a call read and write: tensors of the caller, and arrays in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace heed {

struct LayerPath;

// An array in the workspace. It owns its memory from the first operation that uses it to the last one; at other times
// other arrays use the same bytes (placement.h).
struct Intermediate {
  DType dtype;
  int32_t rank;
  int64_t dims[kMaxRank];  // the first `rank` are set
  int64_t strides[kMaxRank];
  // The offset of element (0, 0, ...) from the array's first byte, in elements. Negative if the array stores only later
  // rows: then that element is never used.
  int64_t origin;
  // The bytes of the whole array, and of the part that this call stores, both rounded up to kMemoryAlignment. Rows that
  // no operation uses are not stored.
  int64_t num_bytes;
  int64_t num_held_bytes;
  // The first and the last phase that use the array; -1: none.
  int32_t first_use;
  int32_t last_use;
  bool is_saved;       // Schedule::save_arrays
  bool is_read;        // Schedule::drop_unread_steps
  LayerPath* owner;    // the layer that reserved it
  Intermediate* next;  // the owner's next array in the order of first use

  // Set by place_intermediates, or at the first use of a saved array. `slot`: the first of the arrays that share this memory.
  // `offset`: that array's offset in the workspace, or in the memory of saved arrays.
  Intermediate* slot;
  size_t offset;
};

// An operand of an operation: a tensor of the caller, an intermediate, or nothing. It is a reference; the array must
// outlive it. Layers in a tree pass values to each other, so that one child reads what another one wrote.
class Value {
 public:
  Value() = default;
  // Implicit, so that functions that take values also take tensors.
  Value(const Tensor* tensor) : tensor_(tensor) {}                     // NOLINT(*-explicit-*): null is not given
  Value(const Tensor& tensor) : tensor_(&tensor) {}                    // NOLINT(*-explicit-*)
  Value(Intermediate& intermediate) : intermediate_(&intermediate) {}  // NOLINT(*-explicit-*)

  bool is_given() const { return tensor_ != nullptr || intermediate_ != nullptr; }
  // Null if the value is none.
  const Tensor* tensor() const { return tensor_; }
  Intermediate* intermediate() const { return intermediate_; }

  // Only for a given value.
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

// Whether both refer to the same elements in the same order, so that one read serves both.
inline bool same_source(const Value& a, const Value& b) {
  if (a.tensor() != nullptr && b.tensor() != nullptr) return a.tensor()->is_same_as(*b.tensor());
  return a.intermediate() == b.intermediate() && a.tensor() == b.tensor();
}

}  // namespace heed
