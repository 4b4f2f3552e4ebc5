// SPDX-License-Identifier: Apache-2.0
// RmsNormOperation, kind NORM in high precision: x / sqrt(mean of x^2 + epsilon) * gamma over the last axis, in float
// with one rounding.
#include <cmath>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/launch_cache.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::RmsNormParam;

constexpr int64_t kNormBlock = 16;

std::vector<Types> rms_norm_types() {
  std::vector<Types> types{Types(3, ACL_FLOAT16)};
  if (chip() == Chip::A2) types.emplace_back(3, ACL_BF16);
  return types;
}

class RmsNorm final : public OperationBase {
 public:
  explicit RmsNorm(const RmsNormParam& param)
      : OperationBase("RmsNormOperation", 2, 1, rms_norm_types()), param_(param) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    const Dims& x = inputs[0].shape;
    const Dims& gamma = inputs[1].shape;
    if (dim_from_end(x, 1) != dim_from_end(gamma, 1))
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "gamma has another last dimension than x");
    for (uint64_t i = 2; i <= gamma.dimNum; ++i) {
      if (dim_from_end(gamma, i) != 1) return refuse(atb::ERROR_INVALID_TENSOR_DIM, "gamma has more than one row");
    }
    if (dim_from_end(x, 1) % kNormBlock != 0)
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "the last dimension is no multiple of 16");
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    if (inputs[0].shape.dimNum != outputs[0].shape.dimNum)
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "the output has another number of dimensions than x");
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& x = pack.inTensors[0].desc;
    if (!(param_.normParam.epsilon > 0)) plan.tiling_refusal = "epsilon is not above 0";
    const auto length = static_cast<size_t>(dim_from_end(x.shape, 1));
    const size_t rows = num_elements(x.shape) / length;
    const float epsilon = launches_.shared_factor(GetName(), tiling_key(pack), param_.normParam.epsilon);
    plan.kernel = [=, dtype = x.dtype](Addresses addresses) {
      std::vector<float> values = load_floats(dtype, addresses[0], rows * length);
      const std::vector<float> gamma = load_floats(dtype, addresses[1], length);
      for (size_t row = 0; row < rows; ++row) normalise(&values[row * length], length, epsilon, gamma);
      store_floats(dtype, values.data(), values.size(), addresses[2]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  static void normalise(float* values, size_t length, float epsilon, const std::vector<float>& gamma) {
    float squares = 0;
    for (size_t i = 0; i < length; ++i) squares += values[i] * values[i];
    const float root = std::sqrt(squares * (1.0F / static_cast<float>(length)) + epsilon);
    for (size_t i = 0; i < length; ++i) values[i] = values[i] / root * gamma[i];
  }

  const RmsNormParam param_;
  // The epsilon that a launch uses (launch_cache.h).
  mutable OperationLaunches launches_;
};

Status check(const RmsNormParam& param) {
  const auto refuse = [](const std::string& reason) {
    return atb_library::refuse(atb::ERROR_INVALID_PARAM, "RmsNormOperation", reason);
  };
  if (has_reserved_bytes(param) || has_reserved_bytes(param.normParam) || has_reserved_bytes(param.preNormParam) ||
      has_reserved_bytes(param.postNormParam))
    return refuse("a byte of rsv is not 0");
  constexpr float kMinEpsilon = 2e-38F;
  if (!(std::fabs(param.normParam.epsilon) >= kMinEpsilon) || !(std::fabs(param.preNormParam.epsilon) >= kMinEpsilon) ||
      !(std::fabs(param.normParam.layerNormEps) >= static_cast<double>(kMinEpsilon)) ||
      !(std::fabs(param.postNormParam.epsilon) >= kMinEpsilon))
    return refuse("an epsilon is too small");
  if (param.layerType <= RmsNormParam::RMS_NORM_UNDEFINED || param.layerType > RmsNormParam::RMS_NORM_POSTNORM)
    return refuse("layerType is out of range");
  if (param.layerType == RmsNormParam::RMS_NORM_NORM && param.normParam.quantType == atb::infer::QUANT_UNQUANT &&
      param.normParam.dynamicQuantType == atb::infer::DYNAMIC_QUANT_UNDEFINED && !param.normParam.rstd &&
      param.normParam.precisionMode == RmsNormParam::HIGH_PRECISION_MODE &&
      param.normParam.modelType == RmsNormParam::LLAMA_MODEL)
    return atb::NO_ERROR;
  violation("RmsNormOperation other than NORM in high precision without quantisation is not simulated");
  return refuse("not simulated");
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::RmsNormParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "RmsNormOperation", [&] { return check(param); }, [&] { return new RmsNorm(param); });
}

}  // namespace atb
