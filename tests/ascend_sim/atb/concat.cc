// SPDX-License-Identifier: Apache-2.0
// ConcatOperation: joins two inputs along an axis, which may be counted from the end.
#include "atb/infer_op_params.h"
#include "atb/operation_base.h"
#include "atb/strided_copy.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::ConcatParam;

class Concat final : public OperationBase {
 public:
  explicit Concat(const ConcatParam& param)
      : OperationBase("ConcatOperation", 2, 1,
                      {{ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16}, {ACL_BF16, ACL_BF16, ACL_BF16}}),
        param_(param) {}

 private:
  int64_t axis(const Dims& first) const {
    return param_.concatDim < 0 ? param_.concatDim + static_cast<int64_t>(first.dimNum) : param_.concatDim;
  }

  Status check_inputs(const Descs& inputs) const override {
    const Dims& first = inputs[0].shape;
    const Dims& second = inputs[1].shape;
    const int64_t axis = this->axis(first);
    if (axis < 0 || axis >= static_cast<int64_t>(first.dimNum) || axis >= static_cast<int64_t>(second.dimNum))
      return refuse(atb::ERROR_INVALID_PARAM, "concatDim is out of range");
    Dims expected = first;
    expected.dims[axis] = second.dims[axis];
    if (same_shape(expected, second)) return atb::NO_ERROR;
    return refuse(atb::ERROR_INVALID_TENSOR_DIM, text_of(first) + " and " + text_of(second) + " differ elsewhere");
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    const int64_t axis = this->axis(inputs[0].shape);
    outputs[0].shape.dims[axis] += inputs[1].shape.dims[axis];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const auto axis = static_cast<size_t>(this->axis(pack.inTensors[0].desc.shape));
    StridedCopy copies[2];
    int64_t begin = 0;
    for (size_t i = 0; i < 2; ++i) {
      copies[i].shape = pack.inTensors[i].desc.shape;
      copies[i].element_bytes = aclDataTypeSize(pack.inTensors[i].desc.dtype);
      copies[i].from_strides = dense_strides(copies[i].shape);
      copies[i].to_strides = dense_strides(pack.outTensors[0].desc.shape);
      copies[i].to_offset = begin * copies[i].to_strides[axis];
      begin += copies[i].shape.dims[axis];
    }
    plan.kernel = [first = copies[0], second = copies[1]](Addresses addresses) {
      first.run(addresses[0], addresses[2]);
      second.run(addresses[1], addresses[2]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const ConcatParam param_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::ConcatParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "ConcatOperation", [&] { return check_reserved(param, "ConcatOperation"); },
      [&] { return new Concat(param); });
}

}  // namespace atb
