// SPDX-License-Identifier: Apache-2.0
// SliceOperation: a part of each axis. The offset may be counted from the end; the size -1 means up to the end.
#include <utility>

#include "atb/infer_op_params.h"
#include "atb/operation_base.h"
#include "atb/strided_copy.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::SliceParam;

class Slice final : public OperationBase {
 public:
  explicit Slice(SliceParam param)
      : OperationBase("SliceOperation", 1, 1,
                      {{ACL_FLOAT16, ACL_FLOAT16},
                       {ACL_FLOAT, ACL_FLOAT},
                       {ACL_INT8, ACL_INT8},
                       {ACL_BOOL, ACL_BOOL},
                       {ACL_INT32, ACL_INT32},
                       {ACL_UINT32, ACL_UINT32},
                       {ACL_BF16, ACL_BF16}}),
        param_(std::move(param)) {}

 private:
  int64_t offset(size_t axis, int64_t dim) const {
    const int64_t offset = param_.offsets[axis];
    return offset < 0 ? offset + dim : offset;
  }
  int64_t size(size_t axis, int64_t dim) const {
    return param_.size[axis] == -1 ? dim - offset(axis, dim) : param_.size[axis];
  }

  Status check_inputs(const Descs& inputs) const override {
    const Dims& shape = inputs[0].shape;
    if (param_.size.size() != param_.offsets.size() || param_.size.size() != shape.dimNum)
      return refuse(atb::ERROR_INVALID_PARAM, "offsets or size has not as many axes as the input");
    for (size_t axis = 0; axis < shape.dimNum; ++axis) {
      const int64_t dim = shape.dims[axis];
      if (param_.offsets[axis] < -dim || param_.size[axis] < -1 || offset(axis, dim) > dim ||
          size(axis, dim) > dim - offset(axis, dim))
        return refuse(atb::ERROR_INVALID_PARAM, "axis " + std::to_string(axis) + " has no such part");
    }
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    for (size_t axis = 0; axis < inputs[0].shape.dimNum; ++axis)
      outputs[0].shape.dims[axis] = size(axis, inputs[0].shape.dims[axis]);
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const Dims& input = pack.inTensors[0].desc.shape;
    StridedCopy copy;
    copy.shape = pack.outTensors[0].desc.shape;
    copy.element_bytes = aclDataTypeSize(pack.inTensors[0].desc.dtype);
    copy.from_strides = dense_strides(input);
    for (size_t axis = 0; axis < input.dimNum; ++axis)
      copy.from_offset += offset(axis, input.dims[axis]) * copy.from_strides[axis];
    copy.to_strides = dense_strides(copy.shape);
    plan.kernel = [copy](Addresses addresses) {
      copy.run(addresses[0], addresses[1]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const SliceParam param_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::SliceParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "SliceOperation", [&] { return check_reserved(param, "SliceOperation"); },
      [&] { return new Slice(param); });
}

}  // namespace atb
