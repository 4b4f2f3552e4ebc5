// SPDX-License-Identifier: Apache-2.0
#include "layers/common_axes.h"

#include <algorithm>
#include <cstddef>

namespace heed {
void CommonAxes::append(const CommonAxis& axis) {
  const auto index = static_cast<size_t>(sizes.rank++);
  sizes.dims[index] = axis.size;
  input_strides[index] = axis.input_stride;
  output_strides[index] = axis.output_stride;
}

CommonAxis CommonAxes::take_longest() {
  if (sizes.rank == 0) return {};
  const auto* const longest = std::max_element(sizes.dims.begin(), sizes.dims.begin() + sizes.rank);
  const auto index = static_cast<size_t>(longest - sizes.dims.begin());
  const CommonAxis taken{sizes.dims[index], input_strides[index], output_strides[index]};
  const auto last = static_cast<size_t>(--sizes.rank);
  for (Dims* dims : {&sizes.dims, &input_strides, &output_strides})
    std::copy(dims->begin() + index + 1, dims->begin() + last + 1, dims->begin() + index);
  return taken;
}

CommonAxes common_axes(const Value& input, const Value& output, int32_t num_axes) {
  CommonAxes axes;
  if (output.is_empty()) {
    axes.append({0, 1, 1});
    return axes;
  }
  // An input without elements may have a null address, to which no offset may be added.
  const bool steps_input = !input.is_empty();
  for (int32_t axis = 0; axis < num_axes; ++axis) {
    const CommonAxis next{input.dim(axis), steps_input ? input.stride(axis) : 0, output.stride(axis)};
    if (next.size == 1) continue;
    const auto last = static_cast<size_t>(axes.sizes.rank) - 1;
    // The products do not overflow: none exceeds twice the tensor's extent, which is below 2^63 bytes.
    if (axes.sizes.rank > 0 && axes.input_strides[last] == next.size * next.input_stride &&
        axes.output_strides[last] == next.size * next.output_stride) {
      axes.sizes.dims[last] *= next.size;
      axes.input_strides[last] = next.input_stride;
      axes.output_strides[last] = next.output_stride;
    } else {
      axes.append(next);
    }
  }
  return axes;
}

}  // namespace heed
