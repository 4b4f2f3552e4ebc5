// SPDX-License-Identifier: Apache-2.0
// The values of a tensor of I32 or I64, read on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensor/host_image.h"
#include "tensor/tensor.h"
#include "tensor/walk.h"

namespace heed {

struct IntegerElement {
  int64_t position;  // in row-major order
  int64_t value;
};

// The first element, in row-major order, for which is_wanted(value) is true.
template <typename Condition>
std::optional<IntegerElement> find_integer(const Tensor& tensor, const Condition& is_wanted) {
  const Tensor on_host = host_copy(tensor);
  const bool is_narrow = tensor.dtype() == DType::I32;
  std::optional<IntegerElement> found;
  int64_t position = 0;
  walk<1>(on_host.shape(), {on_host.strides()}, [&](const auto& offsets) {
    const std::byte* element = on_host.element(offsets[0]);
    const int64_t value =
        is_narrow ? *reinterpret_cast<const int32_t*>(element) : *reinterpret_cast<const int64_t*>(element);
    if (is_wanted(value)) found = {position, value};
    ++position;
    return !found;
  });
  return found;
}

}  // namespace heed
