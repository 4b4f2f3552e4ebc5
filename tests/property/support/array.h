// SPDX-License-Identifier: Apache-2.0
// A dense row-major array of f64: the contents of a tensor, whatever its dtype and strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heed::property {

using Dims = std::vector<int64_t>;

struct Array {
  Dims dims;
  std::vector<double> values;
};

int64_t num_elements(const Dims& dims);

Array filled(Dims dims, double value);
// Sorts the elements along the last axis, ascending.
void sort_rows(Array& array);

// Calls visit(index, position) for each element: its index along each axis, and its position in row-major order.
template <typename Visit>
void for_each_index(const Dims& dims, Visit visit) {
  Dims index(dims.size(), 0);
  const int64_t count = num_elements(dims);
  for (int64_t position = 0; position < count; ++position) {
    visit(static_cast<const Dims&>(index), static_cast<size_t>(position));
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

// Repeats axes of size 1 and missing leading axes, so that the result has shape `dims`.
Array broadcast(const Array& array, const Dims& dims);

// The part from index `start` to start + length - 1 along an axis.
Array slice(const Array& array, size_t axis, int64_t start, int64_t length);

}  // namespace heed::property
