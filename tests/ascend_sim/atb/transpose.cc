// SPDX-License-Identifier: Apache-2.0
// TransposeOperation: output axis i is input axis perm[i].
#include <utility>
#include <vector>

#include "atb/infer_op_params.h"
#include "atb/operation_base.h"
#include "atb/strided_copy.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::TransposeParam;

class Transpose final : public OperationBase {
 public:
  explicit Transpose(TransposeParam param)
      : OperationBase("TransposeOperation", 1, 1,
                      {{ACL_FLOAT16, ACL_FLOAT16},
                       {ACL_INT64, ACL_INT64},
                       {ACL_BF16, ACL_BF16},
                       {ACL_INT8, ACL_INT8},
                       {ACL_INT32, ACL_INT32}}),
        param_(std::move(param)) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    if (param_.perm.size() != inputs[0].shape.dimNum)
      return refuse(atb::ERROR_INVALID_PARAM, "perm has " + std::to_string(param_.perm.size()) + " axes");
    std::vector<bool> is_used(param_.perm.size(), false);
    for (const int32_t axis : param_.perm) {
      if (axis < 0 || static_cast<size_t>(axis) >= is_used.size() || is_used[static_cast<size_t>(axis)])
        return refuse(atb::ERROR_INVALID_PARAM, "perm is no permutation");
      is_used[static_cast<size_t>(axis)] = true;
    }
    return atb::NO_ERROR;
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    for (size_t i = 0; i < param_.perm.size(); ++i) outputs[0].shape.dims[i] = inputs[0].shape.dims[param_.perm[i]];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const Strides strides = dense_strides(pack.inTensors[0].desc.shape);
    StridedCopy copy;
    copy.shape = pack.outTensors[0].desc.shape;
    copy.element_bytes = aclDataTypeSize(pack.inTensors[0].desc.dtype);
    copy.from_strides = {};
    for (size_t i = 0; i < param_.perm.size(); ++i) copy.from_strides[i] = strides[static_cast<size_t>(param_.perm[i])];
    copy.to_strides = dense_strides(copy.shape);
    plan.kernel = [copy](Addresses addresses) {
      copy.run(addresses[0], addresses[1]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const TransposeParam param_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::TransposeParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "TransposeOperation", [&] { return check_reserved(param, "TransposeOperation"); },
      [&] { return new Transpose(param); });
}

}  // namespace atb
