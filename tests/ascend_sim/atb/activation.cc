// SPDX-License-Identifier: Apache-2.0
// ActivationOperation, kinds RELU, GELU and SWISH, in float with one rounding.
#include <cmath>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/launch_cache.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::ActivationParam;

std::vector<Types> types_of(atb::infer::ActivationType type) {
  std::vector<Types> types = {Types(2, ACL_BF16)};
  if (type != atb::infer::ACTIVATION_SWISH) types.emplace_back(2, ACL_FLOAT);
  if (type != atb::infer::ACTIVATION_RELU) types.emplace_back(2, ACL_FLOAT16);
  return types;
}

float gelu(float x, ActivationParam::GeLUMode mode) {
  if (mode == ActivationParam::NONE_MODE) return x / 2 * (1 + std::erf(x * 0.70710678F));
  // sqrt(2 / pi)
  return x / 2 * (1 + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
}

float activate(const ActivationParam& param, float x) {
  // A NaN stays a NaN.
  if (param.activationType == atb::infer::ACTIVATION_RELU) return x < 0 ? 0 : x;
  if (param.activationType == atb::infer::ACTIVATION_SWISH) return x / (1 + std::exp(-param.scale * x));
  return gelu(x, param.geluMode);
}

class Activation final : public OperationBase {
 public:
  explicit Activation(const ActivationParam& param)
      : OperationBase("ActivationOperation", 1, 1, types_of(param.activationType)), param_(param) {}

 private:
  Status check_inputs(const Descs& /*inputs*/) const override { return atb::NO_ERROR; }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& x = pack.inTensors[0].desc;
    const size_t num = num_elements(x.shape);
    ActivationParam param = param_;
    param.scale = launches_.shared_factor(GetName(), key_of(pack), param.scale);
    plan.kernel = [dtype = x.dtype, num, param](Addresses addresses) {
      std::vector<float> values = load_floats(dtype, addresses[0], num);
      for (float& value : values) value = activate(param, value);
      store_floats(dtype, values.data(), num, addresses[1]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  TilingKey key_of(const atb::VariantPack& pack) const {
    TilingKey key = tiling_key(pack);
    key.push_back(param_.activationType);
    key.push_back(param_.geluMode);
    return key;
  }

  const ActivationParam param_;
  // The scale that a launch uses (launch_cache.h).
  mutable OperationLaunches launches_;
};

Status check(const ActivationParam& param) {
  const auto refuse = [](const std::string& reason) {
    return atb_library::refuse(atb::ERROR_INVALID_PARAM, "ActivationOperation", reason);
  };
  if (const Status code = check_reserved(param, "ActivationOperation")) return code;
  if (param.activationType <= atb::infer::ACTIVATION_UNDEFINED || param.activationType >= atb::infer::ACTIVATION_MAX)
    return refuse("activationType is out of range");
  if (param.dim != -1) return refuse("dim is not -1");
  if (param.activationType == atb::infer::ACTIVATION_RELU || param.activationType == atb::infer::ACTIVATION_GELU ||
      param.activationType == atb::infer::ACTIVATION_SWISH)
    return atb::NO_ERROR;
  violation("ActivationOperation of type " + std::to_string(param.activationType) + " is not simulated");
  return refuse("not simulated");
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::ActivationParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "ActivationOperation", [&] { return check(param); }, [&] { return new Activation(param); });
}

}  // namespace atb
