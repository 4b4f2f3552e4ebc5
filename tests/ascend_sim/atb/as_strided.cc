// SPDX-License-Identifier: Apache-2.0
// AsStridedOperation: along each output axis, element i is at offset i * stride from the first, which is at `offset`. A
// stride of 0 repeats the element.
#include <utility>

#include "atb/infer_op_params.h"
#include "atb/operation_base.h"
#include "atb/strided_copy.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::AsStridedParam;

class AsStrided final : public OperationBase {
 public:
  explicit AsStrided(AsStridedParam param)
      : OperationBase("AsStridedOperation", 1, 1, {{ACL_FLOAT16, ACL_FLOAT16}, {ACL_INT64, ACL_INT64}}),
        param_(std::move(param)) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    const auto refuse = [this](const std::string& reason) {
      return OperationBase::refuse(atb::ERROR_INVALID_PARAM, reason);
    };
    if (param_.size.size() > atb::MAX_DIM || param_.size.size() != param_.stride.size() || param_.offset.size() != 1 ||
        param_.offset[0] < 0)
      return refuse("size, stride and offset do not go together");
    int64_t last = param_.offset[0];
    for (size_t i = 0; i < param_.size.size(); ++i) {
      int64_t distance;
      if (param_.size[i] <= 0 || param_.stride[i] < 0 ||
          __builtin_mul_overflow(param_.size[i] - 1, param_.stride[i], &distance) ||
          __builtin_add_overflow(last, distance, &last))
        return refuse("axis " + std::to_string(i) + " has no such size or stride");
    }
    if (last >= static_cast<int64_t>(num_elements(inputs[0].shape))) return refuse("it reaches beyond the input");
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& /*inputs*/, const Descs& outputs) const override {
    const Dims& shape = outputs[0].shape;
    if (shape.dimNum != param_.size.size())
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "the output has another number of dimensions than size");
    for (size_t i = 0; i < shape.dimNum; ++i) {
      if (shape.dims[i] != param_.size[i])
        return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                      "the output has the shape " + text_of(shape) + ", which is not size");
    }
    return atb::NO_ERROR;
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0].dtype = inputs[0].dtype;
    outputs[0].format = ACL_FORMAT_ND;
    outputs[0].shape.dimNum = param_.size.size();
    for (size_t i = 0; i < param_.size.size(); ++i) outputs[0].shape.dims[i] = param_.size[i];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    StridedCopy copy;
    copy.shape = pack.outTensors[0].desc.shape;
    copy.element_bytes = aclDataTypeSize(pack.inTensors[0].desc.dtype);
    copy.from_strides = {};
    for (size_t i = 0; i < param_.stride.size(); ++i) copy.from_strides[i] = param_.stride[i];
    copy.from_offset = param_.offset[0];
    copy.to_strides = dense_strides(copy.shape);
    plan.kernel = [copy](Addresses addresses) {
      copy.run(addresses[0], addresses[1]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const AsStridedParam param_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::AsStridedParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "AsStridedOperation", [&] { return check_reserved(param, "AsStridedOperation"); },
      [&] { return new AsStrided(param); });
}

}  // namespace atb
