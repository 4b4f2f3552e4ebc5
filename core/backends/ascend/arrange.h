// SPDX-License-Identifier: Apache-2.0
// Between tensors with any strides and the dense arrays that ATB wants, on the device.
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

// The operand with its axes in the order given; sizes are those of the axes named.
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

// The same of items (axis 0) from `first` on, of which sizes[0] are named.
StridedArray strided_from(const Operand& operand, int64_t first, const int64_t (&sizes)[kOperandRank]);

// (b, h, s, d) as (b, s, h, d), in which order ATB has the tokens of a sequence and their heads.
StridedArray with_heads_inside(const StridedArray& array);

// Whether the array can be brought into one piece, and written from one: what it steps over must be counted in 32 bits
// and not be far more than what it has. A matter of sizes and strides alone.
bool can_arrange(const StridedArray& array);
// Why an operation is left to the CPU where it cannot.
inline constexpr const char* kOutOfReach =
    "a tensor steps over more elements than the device can gather, expected a dense copy of it";

// The elements of an array in its order, dense, in a dtype and at an address that kernels can read. They lie in the array
// itself where that is so already; then `kept` stays empty. The result has one axis.
DeviceArray load(Npu& npu, const StridedArray& array, aclDataType dtype, Temporary& kept);

// Where an operation writes an array's elements, dense and in the dtype that it computes in.
class Target {
 public:
  Target(Npu& npu, const StridedArray& output, aclDataType dtype);

  // With one axis.
  const DeviceArray& array() const { return array_; }
  // Brings what has been written to the output, where it is not there.
  void store() const;

 private:
  Npu& npu_;
  StridedArray output_;
  Temporary temporary_;
  DeviceArray array_;
};

// The array with other axes; their product is the same.
DeviceArray reshaped(const DeviceArray& array, std::initializer_list<int64_t> sizes);

// Queries or keys with NaN in the place of infinities. Their scores can be -infinity, below what is added to hidden ones:
// where a row sees no other, hidden keys would then get the weight, and a wrong number come out.
DeviceArray without_infinities(Npu& npu, const DeviceArray& array, Temporary& kept);

// In another dtype, between any two of F32, F16 and BF16; what lies in `kept` is the result where they differ.
DeviceArray converted(Npu& npu, const DeviceArray& array, aclDataType dtype, Temporary& kept);

}  // namespace heed::ascend
