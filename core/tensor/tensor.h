// SPDX-License-Identifier: Apache-2.0
// A strided array of elements over shared storage. A Tensor is a value: copies share the storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/memory.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace heed {

class Tensor {
 public:
  // Row-major zeros. `subject` as for row_major_strides.
  static Tensor zeros(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape,
                      const char* subject = ARGUMENT("dims") " is");
  // The same with undefined elements, for callers that write all of them.
  static Tensor undefined(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape,
                          const char* subject = ARGUMENT("dims") " is");

  // A shape alone: row-major, without memory. `subject` as for row_major_strides.
  static Tensor without_data(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape,
                             const char* subject = ARGUMENT("dims") " is");

  // A row-major copy of the elements at `data`, which are in host memory, dense, in row-major order and of that dtype.
  // `data` may be null if there are no elements.
  static Tensor copy_of(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const void* data);

  // A tensor in the caller's memory; see heed_tensor_wrap. strides null: row-major. data null: shape-only.
  static Tensor wrap(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const Dims* strides,
                     void* data);

  // Row-major elements at `data`, in memory of the device of `of`, which the caller keeps; null: a shape alone. Allocates nothing.
  static Tensor borrowed(const Tensor& of, DType dtype, const Shape& shape, void* data);

  // From now on the last tensor that uses the wrapped memory calls release(user, data). Cannot fail.
  void release_with(Storage::Release release, void* user) noexcept { storage_->release_with(release, user, data_); }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int32_t rank() const { return shape_.rank; }
  int64_t dim(int32_t axis) const { return shape_[axis]; }
  int64_t stride(int32_t axis) const { return strides_[static_cast<size_t>(axis)]; }
  const Dims& strides() const { return strides_; }
  int64_t num_elements() const { return num_elements_; }
  size_t num_bytes() const { return static_cast<size_t>(num_elements_) * size_of(dtype_); }
  // The element at index (0, 0, ...).
  std::byte* data() const { return data_; }
  // The element that is `offset` elements after data().
  std::byte* element(int64_t offset) const { return data_ + offset * static_cast<int64_t>(size_of(dtype_)); }
  bool has_data() const { return data_ != nullptr || num_elements_ == 0; }
  // Whether the processor can access the elements directly; if not, use HostImage.
  bool is_on_host() const { return storage_->memory()->is_host(); }
  bool is_row_major() const;
  // Whether both tensors have the same elements in memory, in the same order.
  bool is_same_as(const Tensor& other) const;
  bool is_read_only() const { return read_only_; }
  // Whether no other tensor has the same storage.
  bool is_only_user() const { return storage_.use_count() == 1; }
  const char* device_name() const { return storage_->memory()->device_name(); }
  const std::shared_ptr<const Memory>& memory() const { return storage_->memory(); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // A view of the same elements; writing through it or its views is refused.
  Tensor read_only() const;

  // Views. Those that take arguments from callers throw InvalidArgument or Unsupported as heed.h says.
  Tensor view(const Shape& shape, const Dims* strides, int64_t offset) const;
  Tensor reshape(const Shape& shape) const;
  Tensor transpose(const int32_t* axes) const;
  Tensor slice(int32_t axis, int64_t start, int64_t length) const;

  // Throws unless the tensor is writable: not read-only, with data, and no two elements at one address. `name` is the
  // argument's name.
  void require_writable(const char* name) const;
  // Throws for a shape-only tensor.
  void require_data(const char* name) const;

 private:
  Tensor() = default;
  // Without storage.
  static Tensor row_major(DType dtype, const Shape& shape, const char* subject);
  static Tensor allocate(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const char* subject,
                         Contents contents);
  Tensor derived(const Shape& shape, const Dims& strides, std::byte* data) const;

  DType dtype_ = DType::F32;
  bool read_only_ = false;
  Shape shape_;
  Dims strides_{};
  int64_t num_elements_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<Storage> storage_;
};

// "(2, 4, 100)", for messages.
std::string to_string(const Shape& shape);

// The strides of a dense tensor with the last axis fastest; zero-sized axes count as one. Throws InvalidArgument if the
// size in bytes overflows. `subject` begins that sentence; callers that compute the dims themselves pass their own.
Dims row_major_strides(const Shape& shape, DType dtype, const char* subject = ARGUMENT("dims") " is");

// The axis counted from 0; a negative axis counts from the end. -1 if the axis is out of range.
inline int32_t normalize_axis(int32_t axis, int32_t rank) {
  if (axis >= rank || axis < -rank) return -1;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace heed
