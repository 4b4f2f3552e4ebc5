// SPDX-License-Identifier: Apache-2.0
#include "tensor/copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/convert_block.h"
#include "tensor/host_image.h"
#include "tensor/overlap.h"
#include "tensor/walk.h"

namespace heed {
namespace {

// Converts `count` elements, `step` bytes apart on each side.
using ConvertRow = void (*)(std::byte* destination, int64_t destination_step, const std::byte* source,
                            int64_t source_step, int64_t count);

template <typename To, typename From>
void convert_row(std::byte* destination, int64_t destination_step, const std::byte* source, int64_t source_step,
                 int64_t count) {
  int64_t first = 0;
  if constexpr (kConvertsBlocks<To, From>) {
    const bool is_dense = destination_step == sizeof(To) && source_step == sizeof(From);
    for (; is_dense && first + kConvertedBlock <= count; first += kConvertedBlock)
      convert_block<To, From>(destination + first * destination_step, source + first * source_step);
  }
  for (int64_t i = first; i < count; ++i) {
    From from;
    std::memcpy(&from, source + i * source_step, sizeof from);
    const To to = convert<To>(from);
    std::memcpy(destination + i * destination_step, &to, sizeof to);
  }
}

// Moves elements without conversion.
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

ConvertRow row_mover(DType dtype) {
  return visit_dtype(dtype, [](auto* type) -> ConvertRow { return move_row<sizeof *type>; });
}

ConvertRow row_converter(DType to, DType from) {
  // Booleans are converted, which makes every non-zero byte a 1.
  if (to == from && to != DType::Bool) return row_mover(to);
  return visit_dtype(to, [from](auto* to_type) {
    using To = std::remove_pointer_t<decltype(to_type)>;
    return visit_dtype(from, [](auto* from_type) -> ConvertRow {
      return convert_row<To, std::remove_pointer_t<decltype(from_type)>>;
    });
  });
}

// Calls `row` for each run along the last axis, once for every index of the other axes. Strides in elements.
void for_each_row(const Shape& shape, std::byte* destination, const Dims& destination_strides, size_t destination_size,
                  const std::byte* source, const Dims& source_strides, size_t source_size, ConvertRow row) {
  const int32_t last = shape.rank - 1;
  const int64_t count = last < 0 ? 1 : shape[last];
  if (count == 0) return;
  const auto bytes = [last](const Dims& strides, size_t size) {
    return last < 0 ? 0 : strides[static_cast<size_t>(last)] * static_cast<int64_t>(size);
  };
  const int64_t destination_step = bytes(destination_strides, destination_size);
  const int64_t source_step = bytes(source_strides, source_size);
  walk<2>(leading_axes(shape, last), {destination_strides, source_strides}, [&](const auto& offsets) {
    row(destination + offsets[0] * static_cast<int64_t>(destination_size), destination_step,
        source + offsets[1] * static_cast<int64_t>(source_size), source_step, count);
  });
}

// Walks elements `first` to `first + num_elements - 1` of the tensor's row-major order, and calls row(address of the
// first element, bytes from one element to the next, number of elements) for each run of them along the last axis.
template <typename Row>
void walk_range(const Tensor& tensor, int64_t first, int64_t num_elements, const Row& row) {
  if (num_elements == 0) return;
  if (tensor.rank() == 0) {
    row(tensor.data(), 0, 1);
    return;
  }
  const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
  const int32_t last = tensor.rank() - 1;
  Dims index{};
  std::byte* address = tensor.data();
  int64_t rest = first;
  for (int32_t axis = last; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = rest % tensor.dim(axis);
    rest /= tensor.dim(axis);
    address += index[static_cast<size_t>(axis)] * tensor.stride(axis) * size;
  }
  for (int64_t left = num_elements; left > 0;) {
    int64_t& start = index[static_cast<size_t>(last)];
    const int64_t count = std::min(left, tensor.dim(last) - start);
    row(address, tensor.stride(last) * size, count);
    left -= count;
    address -= start * tensor.stride(last) * size;
    start = 0;
    for (int32_t axis = last - 1; axis >= 0; --axis) {
      address += tensor.stride(axis) * size;
      if (++index[static_cast<size_t>(axis)] < tensor.dim(axis)) break;
      address -= tensor.stride(axis) * tensor.dim(axis) * size;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

// Whether a copy of all bytes is enough: both tensors are row-major with the same dtype and shape. False for booleans,
// which are converted to 0 and 1.
bool is_plain_copy(const Tensor& destination, const Tensor& source) {
  return destination.dtype() == source.dtype() && destination.dtype() != DType::Bool &&
         destination.shape() == source.shape() && destination.is_row_major() && source.is_row_major();
}

}  // namespace

void copy_tensor(const Tensor& destination, const Tensor& source) {
  source.require_data("source");
  destination.require_writable("destination");
  const int32_t missing = destination.rank() - source.rank();
  bool fits = missing >= 0;
  for (int32_t axis = 0; fits && axis < source.rank(); ++axis) {
    fits = source.dim(axis) == 1 || source.dim(axis) == destination.dim(axis + missing);
  }
  if (!fits) {
    fail(Status::InvalidArgument,
         "source has " ARGUMENT("dims") " %s, " WORD(
             "which do not broadcast") " to destination's %s: expected each to be 1 or the same",
         to_string(source.shape()).c_str(), to_string(destination.shape()).c_str());
  }
  const bool one_device = std::strcmp(destination.device_name(), source.device_name()) == 0;
  if (one_device && overlaps(destination, source))
    fail(Status::InvalidArgument, "destination shares memory with source, expected separate " WORD("tensors"));
  if (one_device && !source.is_on_host() && is_plain_copy(destination, source)) {
    source.memory()->copy(destination.data(), source.data(), source.num_bytes(), Direction::OnDevice);
    return;
  }
  const Tensor from = host_copy(source);
  const HostImage to(destination);
  Dims source_strides{};
  for (int32_t axis = 0; axis < from.rank(); ++axis) {
    const int32_t aligned = axis + missing;
    source_strides[static_cast<size_t>(aligned)] = from.dim(axis) == 1 ? 0 : from.stride(axis);
  }
  for_each_row(to.image().shape(), to.image().data(), to.image().strides(), size_of(to.image().dtype()), from.data(),
               source_strides, size_of(from.dtype()), row_converter(to.image().dtype(), from.dtype()));
  to.commit();
}

void read_elements(const Tensor& tensor, int64_t first, int64_t num_elements, void* destination) {
  const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
  const ConvertRow move = row_mover(tensor.dtype());
  auto* next = static_cast<std::byte*>(destination);
  walk_range(tensor, first, num_elements, [&](const std::byte* row, int64_t step, int64_t count) {
    move(next, size, row, step, count);
    next += count * size;
  });
}

void write_elements(const Tensor& tensor, int64_t first, int64_t num_elements, const void* source) {
  const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
  const ConvertRow move = row_mover(tensor.dtype());
  const auto* next = static_cast<const std::byte*>(source);
  walk_range(tensor, first, num_elements, [&](std::byte* row, int64_t step, int64_t count) {
    move(row, step, next, size, count);
    next += count * size;
  });
}

void read_tensor(const Tensor& tensor, void* destination) {
  tensor.require_data(ARGUMENT("tensor"));
  if (!tensor.is_on_host() && tensor.is_row_major()) {
    tensor.memory()->copy(destination, tensor.data(), tensor.num_bytes(), Direction::ToHost);
    return;
  }
  read_elements(host_copy(tensor), 0, tensor.num_elements(), destination);
}

void write_tensor(const Tensor& tensor, const void* source) {
  tensor.require_writable(ARGUMENT("tensor"));
  if (!tensor.is_on_host() && tensor.is_row_major()) {
    tensor.memory()->copy(tensor.data(), source, tensor.num_bytes(), Direction::ToDevice);
    return;
  }
  const HostImage written(tensor);
  write_elements(written.image(), 0, tensor.num_elements(), source);
  written.commit();
}

void convert_elements(DType to, void* destination, int64_t destination_step, DType from, const void* source,
                      int64_t source_step, int64_t count) {
  row_converter(to, from)(static_cast<std::byte*>(destination), destination_step, static_cast<const std::byte*>(source),
                          source_step, count);
}

Tensor converted_copy(std::shared_ptr<const Memory> memory, const Tensor& source, DType dtype) {
  Tensor copy = Tensor::undefined(std::move(memory), dtype, source.shape());
  copy_tensor(copy, source);
  return copy;
}

}  // namespace heed
