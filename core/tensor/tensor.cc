// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "tensor/dtype_term.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

// The bytes that a strided tensor touches: the offsets of the lowest one and of one past the highest, from the element
// at index (0, 0, ...).
struct Extent {
  int64_t first = 0;
  int64_t end = 0;
};

bool has_elements(const Shape& shape) {
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (shape[axis] == 0) return false;
  }
  return true;
}

// The caller's strides, or row-major ones. Strides that are never used (of axes of size 0 or 1, and of tensors without
// elements) are replaced by row-major ones, so that arithmetic on strides never overflows.
Dims usable_strides(const Shape& shape, const Dims* strides, DType dtype) {
  // Also called if strides are given, because it checks that the number of elements does not overflow.
  Dims usable = row_major_strides(shape, dtype);
  if (strides == nullptr || !has_elements(shape)) return usable;
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    const auto index = static_cast<size_t>(axis);
    if (shape[axis] > 1) usable[index] = (*strides)[index];
  }
  return usable;
}

Extent extent_of(const Shape& shape, const Dims& strides, DType dtype) {
  if (!has_elements(shape)) return {};
  Extent extent;
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    int64_t reach = 0;
    int64_t& bound = strides[static_cast<size_t>(axis)] < 0 ? extent.first : extent.end;
    if (!checked_multiply(shape[axis] - 1, strides[static_cast<size_t>(axis)], reach) ||
        !checked_add(bound, reach, bound)) {
      fail(Status::InvalidArgument,
           "strides[%d] is %" PRId64 ", which over a dim of %" PRId64 " overflows, expected steps that fit in 64 bits",
           axis, strides[static_cast<size_t>(axis)], shape[axis]);
    }
  }
  const auto element = static_cast<int64_t>(size_of(dtype));
  if (!checked_add(extent.end, 1, extent.end) || !checked_multiply(extent.first, element, extent.first) ||
      !checked_multiply(extent.end, element, extent.end)) {
    fail(Status::InvalidArgument,
         "strides over " ARGUMENT("dims") " %s reach beyond what memory can address, expected at most 2^63 - 1 bytes",
         to_string(shape).c_str());
  }
  return extent;
}

int64_t count_elements(const Shape& shape) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < shape.rank; ++axis) count *= shape[axis];
  return count;
}

// Computes the strides of a view in another shape with the same, non-zero number of elements. Returns false if no view
// has this shape.
//
// Axes of size 1 are skipped, since their strides are never used. The other axes are walked from the last one, in
// groups: the old and the new axes of a group have the same product of sizes. A group can get strides for its new axes
// if and only if each old axis continues the next one, stride[i] == dim[i + 1] * stride[i + 1].
bool strides_of_reshape(const Shape& shape, const Dims& strides, const Shape& new_shape, Dims& new_strides) {
  int32_t axis = shape.rank - 1;
  int32_t new_axis = new_shape.rank - 1;
  int64_t step = 1;      // of the next new axis
  int64_t reached = 1;   // product of the old axes of this group
  int64_t consumed = 1;  // product of the new ones
  for (; new_axis >= 0; --new_axis) {
    const auto index = static_cast<size_t>(new_axis);
    if (new_shape[new_axis] == 1) {
      new_strides[index] = step;
      continue;
    }
    if (consumed == reached) {
      while (shape[axis] == 1) --axis;
      step = strides[static_cast<size_t>(axis)];
      reached = shape[axis--];
      consumed = 1;
    }
    new_strides[index] = step;
    consumed *= new_shape[new_axis];
    // The step after the last old axis may be larger than any stride of the tensor. If it overflows, no old axis can
    // continue it.
    const bool fits = checked_multiply(step, new_shape[new_axis], step);
    while (reached < consumed) {
      if (!fits) return false;
      while (shape[axis] == 1) --axis;
      const int64_t continued = step / consumed * reached;
      if (strides[static_cast<size_t>(axis)] != continued) return false;
      reached *= shape[axis--];
    }
    // Only axes of size 1 can come before the next old axis.
    if (!fits) step = 1;
  }
  return true;
}

void check_permutation(const int32_t* axes, int32_t rank) {
  uint32_t seen = 0;
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t axis = normalize_axis(axes[i], rank);
    if (axis < 0) {
      fail(Status::InvalidArgument, "axes[%d] is %d, expected %d to %d for " WORD("a tensor") " of rank %d", i, axes[i],
           -rank, rank - 1, rank);
    }
    if ((seen >> axis & 1u) != 0) {
      fail(Status::InvalidArgument,
           "axes[%d] is %d, an axis that is named before it, expected each of the %d axes once", i, axes[i], rank);
    }
    seen |= 1u << axis;
  }
}

}  // namespace

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + ")";
}

Dims row_major_strides(const Shape& shape, DType dtype, const char* subject) {
  Dims strides{};
  int64_t stride = 1;
  for (int32_t axis = shape.rank - 1; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = stride;
    if (!checked_multiply(stride, std::max<int64_t>(shape[axis], 1), stride)) {
      fail(Status::InvalidArgument, "%s %s, whose product overflows, expected at most 2^63 - 1 elements", subject,
           to_string(shape).c_str());
    }
  }
  int64_t num_bytes = 0;
  if (!checked_multiply(stride, static_cast<int64_t>(size_of(dtype)), num_bytes)) {
    fail(Status::InvalidArgument, "%s %s, whose size in bytes overflows, expected at most 2^63 - 1 bytes", subject,
         to_string(shape).c_str());
  }
  return strides;
}

Tensor Tensor::zeros(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const char* subject) {
  return allocate(std::move(memory), dtype, shape, subject, Contents::Zeros);
}

Tensor Tensor::undefined(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const char* subject) {
  return allocate(std::move(memory), dtype, shape, subject, Contents::Undefined);
}

Tensor Tensor::allocate(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const char* subject,
                        Contents contents) {
  Tensor tensor = row_major(dtype, shape, subject);
  tensor.storage_ = Storage::allocate(std::move(memory), tensor.num_bytes(), contents);
  tensor.data_ = tensor.storage_->begin();
  return tensor;
}

Tensor Tensor::without_data(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape,
                            const char* subject) {
  Tensor tensor = row_major(dtype, shape, subject);
  tensor.storage_ = Storage::wrap(std::move(memory), nullptr, 0);
  return tensor;
}

Tensor Tensor::row_major(DType dtype, const Shape& shape, const char* subject) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.strides_ = row_major_strides(shape, dtype, subject);
  tensor.num_elements_ = count_elements(shape);
  return tensor;
}

Tensor Tensor::copy_of(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const void* data) {
  Tensor tensor = undefined(std::move(memory), dtype, shape);
  tensor.memory()->copy(tensor.data(), data, tensor.num_bytes(), Direction::ToDevice);
  return tensor;
}

Tensor Tensor::borrowed(const Tensor& of, DType dtype, const Shape& shape, void* data) {
  Tensor tensor = row_major(dtype, shape, ARGUMENT("dims") " is");
  tensor.data_ = static_cast<std::byte*>(data);
  tensor.storage_ = of.storage_;
  return tensor;
}

Tensor Tensor::wrap(std::shared_ptr<const Memory> memory, DType dtype, const Shape& shape, const Dims* strides,
                    void* data) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.strides_ = usable_strides(shape, strides, dtype);
  tensor.num_elements_ = count_elements(shape);
  const Extent extent = extent_of(shape, tensor.strides_, dtype);
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address % size_of(dtype) != 0) {
    fail(Status::InvalidArgument, "data is %p, expected an address aligned to the %zu bytes of an element of %s", data,
         size_of(dtype), term_of(dtype));
  }
  if (data != nullptr && (address + static_cast<uintptr_t>(extent.end) < address ||
                          address + static_cast<uintptr_t>(extent.first) > address)) {
    fail(Status::InvalidArgument,
         "strides over " ARGUMENT(
             "dims") " %s reach from data beyond what memory can address, expected every element inside it",
         to_string(shape).c_str());
  }
  tensor.data_ = static_cast<std::byte*>(data);
  std::byte* begin = data == nullptr ? nullptr : tensor.data_ + extent.first;
  const size_t num_bytes = data == nullptr ? 0 : static_cast<size_t>(extent.end) - static_cast<size_t>(extent.first);
  tensor.storage_ = Storage::wrap(std::move(memory), begin, num_bytes);
  return tensor;
}

bool Tensor::is_row_major() const {
  int64_t expected = 1;
  for (int32_t axis = rank() - 1; axis >= 0; --axis) {
    if (dim(axis) != 1 && stride(axis) != expected) return false;
    expected *= dim(axis);
  }
  return true;
}

bool Tensor::is_same_as(const Tensor& other) const {
  // Shape-only tensors have no address, so their storage is compared.
  if (data_ != other.data_ || (data_ == nullptr && storage_ != other.storage_)) return false;
  if (dtype_ != other.dtype_ || !(shape_ == other.shape_)) return false;
  for (int32_t axis = 0; axis < rank(); ++axis) {
    if (dim(axis) != 1 && stride(axis) != other.stride(axis)) return false;
  }
  return true;
}

Tensor Tensor::derived(const Shape& shape, const Dims& strides, std::byte* data) const {
  Tensor tensor = *this;
  tensor.shape_ = shape;
  tensor.strides_ = strides;
  tensor.num_elements_ = count_elements(shape);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::read_only() const {
  Tensor tensor = *this;
  tensor.read_only_ = true;
  return tensor;
}

Tensor Tensor::view(const Shape& shape, const Dims* strides, int64_t offset) const {
  require_data(ARGUMENT("tensor"));
  const Dims view_strides = usable_strides(shape, strides, dtype_);
  const Extent extent = extent_of(shape, view_strides, dtype_);
  if (!has_elements(shape)) return derived(shape, view_strides, data_);

  const auto element = static_cast<int64_t>(size_of(dtype_));
  // A tensor without elements may have no storage.
  const int64_t base = storage_->begin() == nullptr ? 0 : data_ - storage_->begin();
  const auto num_bytes = static_cast<int64_t>(storage_->num_bytes());
  int64_t origin = 0;
  int64_t first = 0;
  int64_t last = 0;
  if (!checked_multiply(offset, element, origin) || !checked_add(origin, base, origin) ||
      !checked_add(origin, extent.first, first) || !checked_add(origin, extent.end, last)) {
    fail(Status::InvalidArgument,
         "offset is %" PRId64
         ", with which a view of " ARGUMENT("dims") " %s overflows, expected it inside the %" PRId64
                                                    " bytes of the storage",
         offset, to_string(shape).c_str(), num_bytes);
  }
  if (first < 0 || last > num_bytes) {
    fail(Status::InvalidArgument,
         "offset is %" PRId64
         ", from where a view of " ARGUMENT("dims") " %s would reach from byte %" PRId64 " to %" PRId64
                                                    ", expected it inside the %" PRId64 " bytes of the storage",
         offset, to_string(shape).c_str(), first, last, num_bytes);
  }
  return derived(shape, view_strides, storage_->begin() + origin);
}

Tensor Tensor::reshape(const Shape& wanted) const {
  Shape shape = wanted;
  int32_t inferred = -1;
  int64_t known = 1;
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (shape[axis] == -1) {
      if (inferred >= 0)
        fail(Status::InvalidArgument, ARGUMENT("dims") " is %s: only one of them may be -1", to_string(wanted).c_str());
      inferred = axis;
    } else if (shape[axis] < 0) {
      fail(Status::InvalidArgument,
           ARGUMENT("dims") "[%d] is %" PRId64 ", expected at least 0, or -1 to have it worked out", axis, shape[axis]);
    } else if (!checked_multiply(known, shape[axis], known)) {
      fail(Status::InvalidArgument,
           ARGUMENT("dims") " is %s, whose product overflows, expected at most 2^63 - 1 elements",
           to_string(wanted).c_str());
    }
  }
  if (inferred >= 0) {
    if (known == 0 || num_elements_ % known != 0) {
      fail(Status::InvalidArgument,
           ARGUMENT("dims") " is %s, but the " WORD("tensor") " %s has %" PRId64
                                                              " elements: no whole number fits in place of -1",
           to_string(wanted).c_str(), to_string(shape_).c_str(), num_elements_);
    }
    shape[inferred] = num_elements_ / known;
    known = num_elements_;
  }
  if (known != num_elements_) {
    fail(Status::InvalidArgument,
         ARGUMENT("dims") " is %s with %" PRId64 " elements, but the " WORD("tensor") " %s has %" PRId64,
         to_string(wanted).c_str(), known, to_string(shape_).c_str(), num_elements_);
  }
  if (num_elements_ == 0) return derived(shape, row_major_strides(shape, dtype_), data_);

  Dims strides{};
  if (!strides_of_reshape(shape_, strides_, shape, strides)) {
    fail(Status::Unsupported,
         WORD("a tensor") " of " ARGUMENT("dims") " %s with these strides has no view of " ARGUMENT(
             "dims") " %s: copy it into a row-major " WORD("tensor") " first",
         to_string(shape_).c_str(), to_string(shape).c_str());
  }
  return derived(shape, strides, data_);
}

Tensor Tensor::transpose(const int32_t* axes) const {
  if (axes != nullptr) check_permutation(axes, rank());
  Shape shape = shape_;
  Dims strides = strides_;
  for (int32_t axis = 0; axis < rank(); ++axis) {
    const int32_t source = axes == nullptr ? rank() - 1 - axis : normalize_axis(axes[axis], rank());
    shape[axis] = dim(source);
    strides[static_cast<size_t>(axis)] = stride(source);
  }
  return derived(shape, strides, data_);
}

Tensor Tensor::slice(int32_t wanted_axis, int64_t wanted_start, int64_t length) const {
  const int32_t axis = normalize_axis(wanted_axis, rank());
  if (axis < 0)
    fail(Status::InvalidArgument, "axis is %d, but the " WORD("tensor") " %s has rank %d", wanted_axis,
         to_string(shape_).c_str(), rank());
  const int64_t size = dim(axis);
  const int64_t start = wanted_start < 0 ? wanted_start + size : wanted_start;
  if (start < 0 || start > size) {
    fail(Status::InvalidArgument,
         "start is %" PRId64 ", expected %" PRId64 " to %" PRId64 " for axis %d of the " WORD("tensor") " %s",
         wanted_start, -size, size, axis, to_string(shape_).c_str());
  }
  if (length < 0 || length > size - start) {
    fail(Status::InvalidArgument,
         "length is %" PRId64 ", expected 0 to %" PRId64 " from start %" PRId64
         " on axis %d of the " WORD("tensor") " %s",
         length, size - start, start, axis, to_string(shape_).c_str());
  }
  Shape shape = shape_;
  shape[axis] = length;
  // A view without elements keeps the address of the tensor, since start may be one past the end.
  const bool moves = data_ != nullptr && length > 0 && num_elements_ > 0;
  const int64_t offset = moves ? start * stride(axis) * static_cast<int64_t>(size_of(dtype_)) : 0;
  return derived(shape, strides_, moves ? data_ + offset : data_);
}

void Tensor::require_data(const char* name) const {
  if (!has_data()) {
    fail(Status::InvalidArgument,
         "%s is a shape-only " WORD("tensor") " %s: its data is " WORD("NULL") ", expected elements", name,
         to_string(shape_).c_str());
  }
}

void Tensor::require_writable(const char* name) const {
  if (read_only_)
    fail(Status::InvalidArgument,
         "%s is a read-only snapshot of a parameter: use " FUNCTION("heed_layer_set_parameter") " to change it", name);
  require_data(name);
  if (num_elements_ == 0) return;
  for (int32_t axis = 0; axis < rank(); ++axis) {
    if (dim(axis) > 1 && stride(axis) <= 0) {
      fail(Status::InvalidArgument,
           "%s has stride %" PRId64
           " on axis %d of " ARGUMENT("dims") " %s, expected a positive stride in " WORD("a tensor") " that is written",
           name, stride(axis), axis, to_string(shape_).c_str());
    }
  }
  if (overlaps_itself(*this)) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s with strides that put two elements in the same place, expected none in " WORD(
             "a tensor") " that is written",
         name, to_string(shape_).c_str());
  }
}

}  // namespace heed
