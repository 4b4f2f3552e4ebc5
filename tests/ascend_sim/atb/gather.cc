// SPDX-License-Identifier: Apache-2.0
// GatherOperation: picks slices of an axis, by indices in device memory. Only the kernel notices an index outside the
// axis; it then fails on the device.
#include <cstring>
#include <vector>

#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::GatherParam;

constexpr int kKernelException = 507015;

std::vector<Types> types() {
  std::vector<Types> types;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16, ACL_INT32, ACL_FLOAT, ACL_UINT32, ACL_INT64}) {
    for (const aclDataType index_dtype : {ACL_INT64, ACL_INT32, ACL_UINT32})
      types.push_back({dtype, index_dtype, dtype});
  }
  return types;
}

int64_t index_at(const void* indices, aclDataType dtype, size_t i) {
  if (dtype == ACL_INT64) return static_cast<const int64_t*>(indices)[i];
  if (dtype == ACL_INT32) return static_cast<const int32_t*>(indices)[i];
  return static_cast<const uint32_t*>(indices)[i];
}

class Gather final : public OperationBase {
 public:
  explicit Gather(const GatherParam& param) : OperationBase("GatherOperation", 2, 1, types()), param_(param) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    const Dims& x = inputs[0].shape;
    const Dims& indices = inputs[1].shape;
    if (static_cast<uint64_t>(param_.axis) >= x.dimNum) return refuse(atb::ERROR_INVALID_PARAM, "axis is out of range");
    if (x.dimNum + indices.dimNum - 1 > atb::MAX_DIM)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM, "the output would have more than 8 dimensions");
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    if (outputs[0].shape.dimNum != inputs[0].shape.dimNum + inputs[1].shape.dimNum - 1)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM, "the output has another number of dimensions");
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    const Dims& x = inputs[0].shape;
    const Dims& indices = inputs[1].shape;
    const auto axis = static_cast<uint64_t>(param_.axis);
    TensorDesc out = inputs[0];
    out.shape.dimNum = 0;
    const auto append = [&out](const Dims& shape, uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) out.shape.dims[out.shape.dimNum++] = shape.dims[i];
    };
    append(x, 0, axis);
    append(indices, 0, indices.dimNum);
    append(x, axis + 1, x.dimNum);
    outputs[0] = out;
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& x = pack.inTensors[0].desc;
    const TensorDesc& indices = pack.inTensors[1].desc;
    const auto axis = static_cast<uint64_t>(param_.axis);
    const size_t outer = product(x.shape, 0, axis);
    const int64_t length = x.shape.dims[axis];
    const size_t slice_bytes = product(x.shape, axis + 1, x.shape.dimNum) * aclDataTypeSize(x.dtype);
    const size_t num_indices = num_elements(indices.shape);
    plan.kernel = [=, index_dtype = indices.dtype](Addresses addresses) {
      const auto* const from = static_cast<const std::byte*>(addresses[0]);
      auto* to = static_cast<std::byte*>(addresses[2]);
      for (size_t o = 0; o < outer; ++o) {
        for (size_t i = 0; i < num_indices; ++i, to += slice_bytes) {
          const int64_t index = index_at(addresses[1], index_dtype, i);
          if (index < 0 || index >= length) return kKernelException;
          std::memcpy(to, from + (o * static_cast<size_t>(length) + static_cast<size_t>(index)) * slice_bytes,
                      slice_bytes);
        }
      }
      return 0;
    };
    return atb::NO_ERROR;
  }

  const GatherParam param_;
};

Status check(const GatherParam& param) {
  if (const Status code = check_reserved(param, "GatherOperation")) return code;
  if (param.axis < 0 || param.batchDims < 0 || param.batchDims > param.axis)
    return refuse(atb::ERROR_INVALID_PARAM, "GatherOperation", "axis or batchDims is out of range");
  if (param.batchDims == 0) return atb::NO_ERROR;
  violation("GatherOperation with batchDims is not simulated");
  return refuse(atb::ERROR_INVALID_PARAM, "GatherOperation", "not simulated");
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::GatherParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "GatherOperation", [&] { return check(param); }, [&] { return new Gather(param); });
}

}  // namespace atb
