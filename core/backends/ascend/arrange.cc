// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/arrange.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace heed::ascend {
namespace {

// Kernels want arrays to begin at a multiple of this. A view of a tensor can begin anywhere.
constexpr uintptr_t kKernelAlignment = 32;
// Limits of what can_arrange accepts: an array may span at most kMaxSpread times its number of elements, plus
// kMaxSpread * kFewElements, so that small arrays may be sparser.
constexpr int64_t kMaxSpread = 16;
constexpr int64_t kFewElements = 4096;

bool is_aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % kKernelAlignment == 0; }

char* element(const StridedArray& array, int64_t offset) {
  return static_cast<char*>(array.data) + offset * static_cast<int64_t>(size_of_element(array.dtype));
}

int64_t count(const StridedArray& array) {
  return std::accumulate(array.sizes, array.sizes + array.rank, int64_t{1}, std::multiplies<>());
}

// The same elements in the same order, with as few axes as possible: axes of size 1 are dropped, and two
// neighbouring axes are joined if one stride steps through both.
StridedArray merged(const StridedArray& array) {
  StridedArray result = array;
  result.rank = 0;
  for (int32_t axis = 0; axis < array.rank; ++axis) {
    if (array.sizes[axis] == 1) continue;
    if (result.rank > 0 && result.strides[result.rank - 1] == array.strides[axis] * array.sizes[axis]) {
      result.sizes[result.rank - 1] *= array.sizes[axis];
      result.strides[result.rank - 1] = array.strides[axis];
      continue;
    }
    result.sizes[result.rank] = array.sizes[axis];
    result.strides[result.rank++] = array.strides[axis];
  }
  return result;
}

// Takes a merged array.
bool is_dense(const StridedArray& array) { return array.rank == 0 || (array.rank == 1 && array.strides[0] == 1); }

// The axes of a merged array by falling stride, if its elements are dense in memory in that order (a transposed dense
// array); otherwise empty.
std::vector<int32_t> order_in_memory(const StridedArray& array) {
  std::vector<int32_t> order(static_cast<size_t>(array.rank));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return array.strides[a] > array.strides[b]; });
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (array.strides[order[i]] != expected) return {};
    expected *= array.sizes[order[i]];
  }
  return order;
}

// The memory that a merged array spans, from its element of lowest address to that of highest address.
struct Footprint {
  int64_t unit = 1;    // elements that are contiguous at every index of the other axes
  int64_t before = 0;  // elements from the lowest address to index (0, 0, ...); not 0 with negative strides
  int64_t span = 1;    // elements from the lowest to the highest, both included
};

// `span` is a number above every limit where it would overflow.
Footprint footprint_of(const StridedArray& array) {
  Footprint footprint;
  constexpr int64_t kEndless = std::numeric_limits<int64_t>::max() / 4;
  for (int32_t axis = 0; axis < array.rank; ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(array.sizes[axis] - 1, array.strides[axis], &reach) || reach > kEndless ||
        reach < -kEndless || footprint.span > kEndless) {
      footprint.span = kEndless;
      return footprint;
    }
    footprint.span += reach < 0 ? -reach : reach;
    if (reach < 0) footprint.before -= reach;
  }
  const int32_t last = array.rank - 1;
  if (last < 0 || array.strides[last] != 1) return footprint;
  footprint.unit = array.sizes[last];
  for (int32_t axis = 0; axis < last; ++axis) {
    if (array.strides[axis] % footprint.unit != 0) footprint.unit = 1;
  }
  return footprint;
}

// Calls visit(index) for each unit (Footprint::unit elements) of a merged array, in row-major order. The index counts
// units from the lowest address.
template <typename Visit>
void for_each_unit(const StridedArray& array, const Footprint& footprint, Visit visit) {
  const int32_t rank = footprint.unit > 1 ? array.rank - 1 : array.rank;
  int64_t index[kElementwiseRank] = {};
  int64_t unit = footprint.before / footprint.unit;
  while (true) {
    visit(unit);
    int32_t axis = rank - 1;
    for (; axis >= 0; --axis) {
      const int64_t step = array.strides[axis] / footprint.unit;
      unit += step;
      if (++index[axis] < array.sizes[axis]) break;
      unit -= step * array.sizes[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

std::string name_of_steps(const char* use, const StridedArray& array) {
  std::string name = use;
  for (int32_t axis = 0; axis < array.rank; ++axis) {
    name += " " + std::to_string(array.sizes[axis]) + "*" + std::to_string(array.strides[axis]);
  }
  return name;
}

DeviceArray flat(void* data, aclDataType dtype, int64_t num_elements) {
  DeviceArray array;
  array.data = data;
  array.dtype = dtype;
  array.shape = dims_of({num_elements});
  return array;
}

// The array itself if it is aligned for kernels, otherwise an aligned copy, which `kept` owns.
DeviceArray aligned(Npu& npu, const DeviceArray& array, Temporary& kept) {
  if (is_aligned(array.data)) return array;
  return renewed(npu, array.dtype, array.shape, kept,
                 [&](const DeviceArray& copy) { npu.copy(copy.data, array.data, array.num_bytes()); });
}

DeviceArray with_axes_in_order(const DeviceArray& array, const StridedArray& axes, const std::vector<int32_t>& order) {
  DeviceArray result = array;
  result.shape.dimNum = 0;
  for (const int32_t axis : order) result.shape.dims[result.shape.dimNum++] = axes.sizes[axis];
  return result;
}

DeviceArray with_axes(const DeviceArray& array, const StridedArray& axes) {
  std::vector<int32_t> order(static_cast<size_t>(axes.rank));
  std::iota(order.begin(), order.end(), 0);
  return with_axes_in_order(array, axes, order);
}

// A dense copy of a merged array that is not dense.
Temporary gathered(Npu& npu, const StridedArray& array) {
  const int64_t num_elements = count(array);
  Temporary result(npu, array.dtype, dims_of({num_elements}));
  Temporary kept;
  if (const std::vector<int32_t> order = order_in_memory(array); !order.empty()) {
    const DeviceArray source = aligned(npu, flat(array.data, array.dtype, num_elements), kept);
    std::vector<int32_t> axes_of_source(order.size());
    for (size_t i = 0; i < order.size(); ++i) axes_of_source[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    transpose(npu, with_axes_in_order(source, array, order), axes_of_source, with_axes(result.array(), array));
    return result;
  }
  const Footprint footprint = footprint_of(array);
  const int64_t unit = footprint.unit;
  const DeviceArray source = aligned(npu, flat(element(array, -footprint.before), array.dtype, footprint.span), kept);
  const DeviceArray indices =
      npu.constant(name_of_steps("gather", array), ACL_INT32, dims_of({num_elements / unit}), [&](void* host) {
        auto* next = static_cast<int32_t*>(host);
        for_each_unit(array, footprint, [&next](int64_t index) { *next++ = static_cast<int32_t>(index); });
      });
  gather(npu, reshaped(source, {footprint.span / unit, unit}), indices,
         reshaped(result.array(), {num_elements / unit, unit}));
  return result;
}

// Writes dense elements to a merged array that is not dense. The elements between those of the array are read and
// written back unchanged. That is safe because all work on the device goes through one stream.
void scatter(Npu& npu, const DeviceArray& dense, const StridedArray& array) {
  if (const std::vector<int32_t> order = order_in_memory(array); !order.empty()) {
    const DeviceArray destination = flat(array.data, array.dtype, dense.num_elements());
    if (is_aligned(array.data)) {
      transpose(npu, with_axes(dense, array), order, with_axes_in_order(destination, array, order));
      return;
    }
    const Temporary moved(npu, array.dtype, destination.shape);
    transpose(npu, with_axes(dense, array), order, with_axes_in_order(moved.array(), array, order));
    npu.copy(array.data, moved.data(), destination.num_bytes());
    return;
  }
  // `both` holds the old content of the span and then the new elements. One gather picks for each unit of the span
  // either its old content or a new element.
  const Footprint footprint = footprint_of(array);
  const int64_t unit = footprint.unit;
  const int64_t num_old = footprint.span / unit;
  const int64_t num_new = dense.num_elements() / unit;
  const size_t old_bytes = static_cast<size_t>(footprint.span) * size_of_element(array.dtype);
  const Temporary both(npu, array.dtype, dims_of({num_old + num_new, unit}));
  const Temporary result(npu, array.dtype, dims_of({num_old, unit}));
  char* lowest = element(array, -footprint.before);
  npu.copy(both.data(), lowest, old_bytes);
  npu.copy(static_cast<char*>(both.data()) + old_bytes, dense.data, dense.num_bytes());
  const DeviceArray indices =
      npu.constant(name_of_steps("scatter", array), ACL_INT32, dims_of({num_old}), [&](void* host) {
        auto* from = static_cast<int32_t*>(host);
        std::iota(from, from + num_old, 0);
        auto next = static_cast<int32_t>(num_old);
        for_each_unit(array, footprint, [&](int64_t index) { from[index] = next++; });
      });
  gather(npu, both.array(), indices, result.array());
  npu.copy(lowest, result.data(), old_bytes);
}

}  // namespace

StridedArray strided_from(const Operand& operand, int64_t first, const int64_t (&sizes)[kOperandRank]) {
  StridedArray array = strided(operand, sizes);
  array.data =
      static_cast<char*>(operand.data) + first * operand.strides[0] * static_cast<int64_t>(size_of(operand.dtype));
  return array;
}

StridedArray with_heads_inside(const StridedArray& array) {
  StridedArray result = array;
  std::swap(result.sizes[1], result.sizes[2]);
  std::swap(result.strides[1], result.strides[2]);
  return result;
}

bool can_arrange(const StridedArray& array) {
  int64_t num_elements = 1;
  for (int32_t axis = 0; axis < array.rank; ++axis) {
    if (array.sizes[axis] == 0) return true;
    if (__builtin_mul_overflow(num_elements, array.sizes[axis], &num_elements)) return false;
  }
  const StridedArray axes = merged(array);
  if (is_dense(axes)) return true;
  const Footprint footprint = footprint_of(axes);
  return footprint.span + num_elements <= std::numeric_limits<int32_t>::max() &&
         footprint.span / kMaxSpread <= num_elements + kFewElements;
}

DeviceArray reshaped(const DeviceArray& array, std::initializer_list<int64_t> sizes) {
  DeviceArray result = array;
  result.shape = dims_of(sizes);
  return result;
}

DeviceArray converted(Npu& npu, const DeviceArray& array, aclDataType dtype, Temporary& kept) {
  if (array.dtype == dtype) return array;
  if (array.dtype != ACL_FLOAT && dtype != ACL_FLOAT) {
    // ATB does not convert between F16 and BF16 directly.
    const Temporary wide(npu, ACL_FLOAT, array.shape);
    cast(npu, array, wide.array());
    return converted(npu, wide.array(), dtype, kept);
  }
  return renewed(npu, dtype, array.shape, kept, [&](const DeviceArray& result) { cast(npu, array, result); });
}

// x + 0 * x: 0 times an infinity is NaN, so the sum is NaN too; other numbers stay as they are.
DeviceArray without_infinities(Npu& npu, const DeviceArray& array, Temporary& kept) {
  const Temporary zeros(npu, array.dtype, array.shape);
  multiply(npu, array, 0.0f, zeros.array());
  return renewed(npu, array.dtype, array.shape, kept,
                 [&](const DeviceArray& result) { add(npu, array, zeros.array(), result); });
}

DeviceArray load(Npu& npu, const StridedArray& array, aclDataType dtype, Temporary& kept) {
  const StridedArray axes = merged(array);
  DeviceArray dense = flat(array.data, array.dtype, count(array));
  if (is_dense(axes)) {
    dense = aligned(npu, dense, kept);
  } else {
    kept = gathered(npu, axes);
    dense = kept.array();
  }
  return converted(npu, dense, dtype, kept);
}

Target::Target(Npu& npu, const StridedArray& output, aclDataType dtype) : npu_(npu), output_(output) {
  array_ = flat(output.data, dtype, count(output));
  if (dtype == output.dtype && is_dense(merged(output)) && is_aligned(output.data)) return;
  temporary_ = Temporary(npu, dtype, array_.shape);
  array_ = temporary_.array();
}

void Target::store() const {
  if (temporary_.data() == nullptr) return;
  const StridedArray axes = merged(output_);
  Temporary kept;
  const DeviceArray destination = flat(output_.data, output_.dtype, array_.num_elements());
  if (is_dense(axes) && is_aligned(output_.data) && (array_.dtype == ACL_FLOAT || output_.dtype == ACL_FLOAT)) {
    cast(npu_, array_, destination);
    return;
  }
  const DeviceArray dense = converted(npu_, array_, output_.dtype, kept);
  if (is_dense(axes)) {
    npu_.copy(destination.data, dense.data, dense.num_bytes());
  } else {
    scatter(npu_, dense, axes);
  }
}

}  // namespace heed::ascend
