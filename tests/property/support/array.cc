// SPDX-License-Identifier: Apache-2.0
#include "support/array.h"

#include <algorithm>
#include <utility>

namespace heed::property {

int64_t num_elements(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

Array filled(Dims dims, double value) {
  const auto count = static_cast<size_t>(num_elements(dims));
  return {std::move(dims), std::vector<double>(count, value)};
}

void sort_rows(Array& array) {
  const auto size = static_cast<std::ptrdiff_t>(array.dims.back());
  for (auto row = array.values.begin(); size > 0 && row != array.values.end(); row += size) std::sort(row, row + size);
}

Array broadcast(const Array& array, const Dims& dims) {
  Array result = filled(dims, 0.0);
  const size_t missing = dims.size() - array.dims.size();
  for_each_index(dims, [&](const Dims& index, size_t position) {
    int64_t from = 0;
    for (size_t axis = 0; axis < array.dims.size(); ++axis) {
      from = from * array.dims[axis] + (array.dims[axis] == 1 ? 0 : index[axis + missing]);
    }
    result.values[position] = array.values[static_cast<size_t>(from)];
  });
  return result;
}

Array slice(const Array& array, size_t axis, int64_t start, int64_t length) {
  Dims dims = array.dims;
  dims[axis] = length;
  Array result = filled(dims, 0.0);
  for_each_index(dims, [&](const Dims& index, size_t position) {
    int64_t from = 0;
    for (size_t i = 0; i < dims.size(); ++i) from = from * array.dims[i] + index[i] + (i == axis ? start : 0);
    result.values[position] = array.values[static_cast<size_t>(from)];
  });
  return result;
}

}  // namespace heed::property
