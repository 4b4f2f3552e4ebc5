// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

// Converts `count` elements, `step` bytes apart on each side.
using ConvertRow = void (*)(std::byte* destination, int64_t destination_step, const std::byte* source,
                            int64_t source_step, int64_t count);

template <typename To, typename From>
void convert_row(std::byte* destination, int64_t destination_step, const std::byte* source, int64_t source_step,
                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, source + i * source_step, sizeof from);
    const To to = convert<To>(from);
    std::memcpy(destination + i * destination_step, &to, sizeof to);
  }
}

// Elements as they are, whatever their bits.
template <size_t size>
void move_row(std::byte* destination, int64_t destination_step, const std::byte* source, int64_t source_step,
              int64_t count) {
  constexpr auto kSize = static_cast<int64_t>(size);
  if (destination_step == kSize && source_step == kSize) {
    std::memcpy(destination, source, static_cast<size_t>(count) * size);
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(destination + i * destination_step, source + i * source_step, size);
}

ConvertRow row_mover(size_t element_size) {
  switch (element_size) {
    case 8: return move_row<8>;
    case 4: return move_row<4>;
    case 2: return move_row<2>;
    default: return move_row<1>;
  }
}

ConvertRow row_converter(DType to, DType from) {
  // Booleans pass through the conversion, which makes every true byte a 1.
  if (to == from && to != DType::Bool) return row_mover(size_of(to));
  return visit_dtype(to, [from](auto* to_type) {
    using To = std::remove_pointer_t<decltype(to_type)>;
    return visit_dtype(from, [](auto* from_type) -> ConvertRow {
      return convert_row<To, std::remove_pointer_t<decltype(from_type)>>;
    });
  });
}

// Walks `shape` and applies `row` along the last axis. Strides in elements.
void walk(const Shape& shape, std::byte* destination, const Dims& destination_strides, size_t destination_size,
          const std::byte* source, const Dims& source_strides, size_t source_size, ConvertRow row) {
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    if (shape[axis] == 0) return;
  }
  const int32_t last = shape.rank - 1;
  const auto destination_step = [&](int32_t axis) {
    return destination_strides[static_cast<size_t>(axis)] * static_cast<int64_t>(destination_size);
  };
  const auto source_step = [&](int32_t axis) {
    return source_strides[static_cast<size_t>(axis)] * static_cast<int64_t>(source_size);
  };
  if (shape.rank == 0) {
    row(destination, 0, source, 0, 1);
    return;
  }
  Dims index{};
  while (true) {
    row(destination, destination_step(last), source, source_step(last), shape[last]);
    int32_t axis = last - 1;
    for (; axis >= 0; --axis) {
      destination += destination_step(axis);
      source += source_step(axis);
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      destination -= destination_step(axis) * shape[axis];
      source -= source_step(axis) * shape[axis];
      index[static_cast<size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace

void copy_tensor(const Tensor& destination, const Tensor& source) {
  source.require_data("source");
  destination.require_writable("destination");
  if (std::strcmp(destination.device_name(), source.device_name()) != 0) {
    fail(Status::InvalidArgument, "source is on device %s, but destination is on %s: expected the same device",
         source.device_name(), destination.device_name());
  }
  const int32_t missing = destination.rank() - source.rank();
  bool fits = missing >= 0;
  Dims source_strides{};
  for (int32_t axis = 0; fits && axis < source.rank(); ++axis) {
    const bool repeated = source.dim(axis) == 1;
    fits = repeated || source.dim(axis) == destination.dim(axis + missing);
    const int32_t aligned = axis + missing;
    source_strides[static_cast<size_t>(aligned)] = repeated ? 0 : source.stride(axis);
  }
  if (!fits) {
    fail(Status::InvalidArgument,
         "source has dims %s, which do not broadcast to destination's %s: expected each to be 1 or the same",
         to_string(source.shape()).c_str(), to_string(destination.shape()).c_str());
  }
  if (overlaps(destination, source))
    fail(Status::InvalidArgument, "destination shares memory with source, expected separate tensors");
  walk(destination.shape(), destination.data(), destination.strides(), size_of(destination.dtype()), source.data(),
       source_strides, size_of(source.dtype()), row_converter(destination.dtype(), source.dtype()));
}

void read_tensor(const Tensor& tensor, void* destination) {
  tensor.require_data("tensor");
  const size_t size = size_of(tensor.dtype());
  walk(tensor.shape(), static_cast<std::byte*>(destination), row_major_strides(tensor.shape(), tensor.dtype()), size,
       tensor.data(), tensor.strides(), size, row_mover(size));
}

void write_tensor(const Tensor& tensor, const void* source) {
  tensor.require_writable("tensor");
  const size_t size = size_of(tensor.dtype());
  walk(tensor.shape(), tensor.data(), tensor.strides(), size, static_cast<const std::byte*>(source),
       row_major_strides(tensor.shape(), tensor.dtype()), size, row_mover(size));
}

void fill_tensor(const Tensor& tensor, double value) {
  tensor.require_writable("tensor");
  walk(tensor.shape(), tensor.data(), tensor.strides(), size_of(tensor.dtype()),
       reinterpret_cast<const std::byte*>(&value), Dims{}, sizeof value, row_converter(tensor.dtype(), DType::F64));
}

Tensor converted_copy(std::shared_ptr<const Memory> memory, const Tensor& source, DType dtype) {
  Tensor copy = Tensor::zeros(std::move(memory), dtype, source.shape());
  copy_tensor(copy, source);
  return copy;
}

}  // namespace heed
