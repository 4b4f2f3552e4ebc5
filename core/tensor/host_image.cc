// SPDX-License-Identifier: Apache-2.0
#include "tensor/host_image.h"

#include <cstdint>

#include "tensor/byte_span.h"
#include "tensor/copy.h"
#include "tensor/host_memory.h"
#include "tensor/walk.h"

namespace heed {
namespace {

Tensor host_zeros(const Tensor& tensor) {
  return Tensor::zeros(host_memory_of(tensor.memory()), tensor.dtype(), tensor.shape());
}

// Calls visit(address in the tensor, address in the image, bytes) for each run of elements that are adjacent in both;
// the image is dense.
template <typename Visit>
void for_each_stretch(const Tensor& tensor, const Tensor& image, Visit visit) {
  const auto size = static_cast<int64_t>(size_of(tensor.dtype()));
  int64_t stretch = 1;
  int32_t axis = tensor.rank();
  while (axis > 0 && (tensor.dim(axis - 1) == 1 || tensor.stride(axis - 1) == stretch)) {
    --axis;
    stretch *= tensor.dim(axis);
  }
  walk<2>(leading_axes(tensor.shape(), axis), {tensor.strides(), image.strides()}, [&](const auto& offsets) {
    visit(tensor.element(offsets[0]), image.element(offsets[1]), static_cast<size_t>(stretch * size));
  });
}

// If the strides of a tensor span more memory than this many times its bytes, each run of adjacent elements is copied
// separately, without the memory between the runs.
constexpr int64_t kMaxSpread = 8;

}  // namespace

Tensor host_copy(const Tensor& tensor) {
  if (tensor.is_on_host()) return tensor;
  Tensor copy = host_zeros(tensor);
  if (tensor.num_elements() == 0 || !tensor.has_data()) return copy;
  const Memory& memory = *tensor.memory();
  const ByteSpan span = byte_span_of(tensor);
  if (tensor.is_row_major() || span.num_bytes / kMaxSpread > static_cast<int64_t>(tensor.num_bytes())) {
    for_each_stretch(tensor, copy, [&](const std::byte* from, std::byte* to, size_t num_bytes) {
      memory.copy(to, from, num_bytes, Direction::ToHost);
    });
    return copy;
  }
  // One copy of all memory that the strides span, which belongs to the tensor's storage.
  const Tensor bytes = Tensor::zeros(copy.memory(), DType::U8, {span.num_bytes});
  memory.copy(bytes.data(), tensor.data() - span.before, static_cast<size_t>(span.num_bytes), Direction::ToHost);
  const Tensor strided =
      Tensor::wrap(copy.memory(), tensor.dtype(), tensor.shape(), &tensor.strides(), bytes.data() + span.before);
  read_tensor(strided, copy.data());
  return copy;
}

HostImage::HostImage(const Tensor& tensor, bool is_updated)
    : tensor_(tensor), image_(is_updated || tensor.is_on_host() ? host_copy(tensor) : host_zeros(tensor)) {}

void HostImage::commit() const {
  if (tensor_.is_on_host() || tensor_.num_elements() == 0) return;
  const Memory& memory = *tensor_.memory();
  for_each_stretch(tensor_, image_, [&](std::byte* to, const std::byte* from, size_t num_bytes) {
    memory.copy(to, from, num_bytes, Direction::ToDevice);
  });
}

}  // namespace heed
