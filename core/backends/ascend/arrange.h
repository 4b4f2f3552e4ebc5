// SPDX-License-Identifier: Apache-2.0
// Copies on the device between tensors with any strides and the dense arrays that ATB takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/ascend/npu.h"
#include "backends/ascend/operations.h"
#include "ops/operand.h"

namespace heed::ascend {

// A strided array in the device's memory. Strides are in elements.
struct StridedArray {
  void* data = nullptr;
  aclDataType dtype = ACL_FLOAT16;
  int32_t rank = 0;
  int64_t sizes[kElementwiseRank] = {};
  int64_t strides[kElementwiseRank] = {};
};

// An operand as a StridedArray. `sizes` are those of the operand's axes, in their order.
template <int rank>
StridedArray strided(const StridedOperand<rank>& operand, const int64_t (&sizes)[rank]) {
  StridedArray array;
  array.data = operand.data;
  array.dtype = acl_dtype(operand.dtype);
  array.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    array.sizes[axis] = sizes[axis];
    array.strides[axis] = operand.strides[axis];
  }
  return array;
}

// The same for sizes[0] batch elements (axis 0) from batch element `first` on.
StridedArray strided_from(const Operand& operand, int64_t first, const int64_t (&sizes)[kOperandRank]);

// (b, h, s, d) seen as (b, s, h, d): ATB stores the tokens of a sequence one after the other, and within each token its
// heads.
StridedArray with_heads_inside(const StridedArray& array);

// Whether load and Target can copy the array to and from a dense one: the span in memory must be counted in 32 bits,
// and must not be many times larger than the number of elements. Depends on sizes and strides alone.
bool can_arrange(const StridedArray& array);
// The same for an operand with these sizes of its axes; true for one that is not given.
template <int rank>
bool can_arrange(const StridedOperand<rank>& operand, const int64_t (&sizes)[rank]) {
  return operand.given == 0 || can_arrange(strided(operand, sizes));
}
// The reason for computing an operation on the CPU if can_arrange is false.
inline constexpr const char* kOutOfReach =
    WORD("a tensor") " steps over more elements than the device can gather, expected a dense copy of it";
// The reason for the same with elements of F64.
inline constexpr const char* kNoF64 = "ATB does not compute in " DTYPE("F64");

// The elements of an array in row-major order, dense, in `dtype` and at an address that kernels can read. The result
// has one axis. If the array itself is like that already, the result is the array and `kept` stays empty; otherwise
// `kept` owns the result.
DeviceArray load(Npu& npu, const StridedArray& array, aclDataType dtype, Temporary& kept);

// The dense array that an operation writes for an output of any strides and dtype: the output itself if it is dense,
// aligned and of the computed dtype, otherwise a temporary one.
class Target {
 public:
  Target(Npu& npu, const StridedArray& output, aclDataType dtype);

  // Has one axis.
  const DeviceArray& array() const { return array_; }
  // Copies a temporary array to the output, converted to its dtype. Does nothing if the operation wrote to the output
  // itself.
  void store() const;

 private:
  Npu& npu_;
  StridedArray output_;
  Temporary temporary_;
  DeviceArray array_;
};

// The same elements with other axes. The product of the sizes must be the same.
DeviceArray reshaped(const DeviceArray& array, std::initializer_list<int64_t> sizes);

// Queries or keys with NaN in place of infinities. Without this, an infinite key could make a visible score -infinity,
// which is below the number that hides other keys: if the row sees no other key, the hidden keys would get the weight.
DeviceArray without_infinities(Npu& npu, const DeviceArray& array, Temporary& kept);

// The array in another dtype, any of F32, F16 and BF16. `kept` owns the result if the dtypes differ.
DeviceArray converted(Npu& npu, const DeviceArray& array, aclDataType dtype, Temporary& kept);

}  // namespace heed::ascend
