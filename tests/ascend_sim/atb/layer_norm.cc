// SPDX-License-Identifier: Apache-2.0
// LayerNormOperation, kind NORM: (x - mean) / sqrt(variance + epsilon) * gamma + beta over the last axes, as many as
// gamma has, in float with one rounding.
#include <cmath>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/launch_cache.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::LayerNormParam;

class LayerNorm final : public OperationBase {
 public:
  explicit LayerNorm(const LayerNormParam& param)
      : OperationBase("LayerNormOperation", 3, 1, {Types(4, ACL_FLOAT16), Types(4, ACL_FLOAT), Types(4, ACL_BF16)}),
        param_(param) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    const Dims& x = inputs[0].shape;
    const Dims& gamma = inputs[1].shape;
    if (gamma.dimNum > x.dimNum) return refuse(atb::ERROR_INVALID_TENSOR_DIM, "gamma has more dimensions than x");
    const int64_t axis = param_.normParam.beginNormAxis;
    const int64_t num_axes = axis < 0 ? -axis : static_cast<int64_t>(x.dimNum) - axis;
    if (num_axes != static_cast<int64_t>(gamma.dimNum))
      return refuse(atb::ERROR_INVALID_PARAM, "beginNormAxis leaves another number of axes than gamma has");
    for (size_t i = 1; i < 3; ++i) {
      if (dim_from_end(inputs[i].shape, 1) != dim_from_end(x, 1))
        return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "gamma or beta has another last dimension than x");
    }
    for (uint64_t i = 1; i <= gamma.dimNum; ++i) {
      if (dim_from_end(gamma, i) != dim_from_end(x, i) || !same_shape(gamma, inputs[2].shape))
        return refuse_unchecked(atb::ERROR_INVALID_TENSOR_DIM, "gamma or beta has not the shape of x's last axes");
    }
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& x = pack.inTensors[0].desc;
    const size_t length = num_elements(pack.inTensors[1].desc.shape);
    const size_t rows = num_elements(x.shape) / length;
    const float epsilon = launches_.shared_factor(GetName(), key_of(pack), param_.normParam.epsilon);
    plan.kernel = [=, dtype = x.dtype](Addresses addresses) {
      std::vector<float> values = load_floats(dtype, addresses[0], rows * length);
      const std::vector<float> gamma = load_floats(dtype, addresses[1], length);
      const std::vector<float> beta = load_floats(dtype, addresses[2], length);
      for (size_t row = 0; row < rows; ++row) normalise(&values[row * length], length, epsilon, gamma, beta);
      store_floats(dtype, values.data(), values.size(), addresses[3]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  static void normalise(float* values, size_t length, float epsilon, const std::vector<float>& gamma,
                        const std::vector<float>& beta) {
    float sum = 0;
    for (size_t i = 0; i < length; ++i) sum += values[i];
    const float mean = sum / static_cast<float>(length);
    float squares = 0;
    for (size_t i = 0; i < length; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const float deviation = std::sqrt(squares / static_cast<float>(length) + epsilon);
    for (size_t i = 0; i < length; ++i) values[i] = (values[i] - mean) / deviation * gamma[i] + beta[i];
  }

  TilingKey key_of(const atb::VariantPack& pack) const {
    TilingKey key = tiling_key(pack);
    key.push_back(param_.normParam.beginNormAxis);
    return key;
  }

  const LayerNormParam param_;
  // The epsilon that a launch uses (launch_cache.h).
  mutable OperationLaunches launches_;
};

Status check(const LayerNormParam& param) {
  const auto refuse = [](const std::string& reason) {
    return atb_library::refuse(atb::ERROR_INVALID_PARAM, "LayerNormOperation", reason);
  };
  if (has_reserved_bytes(param) || has_reserved_bytes(param.normParam) || has_reserved_bytes(param.preNormParam) ||
      has_reserved_bytes(param.postNormParam))
    return refuse("a byte of rsv is not 0");
  if (param.layerType <= LayerNormParam::LAYER_NORM_UNDEFINED || param.layerType >= LayerNormParam::LAYER_NORM_MAX)
    return refuse("layerType is out of range");
  constexpr float kMinEpsilon = 2e-38F;
  if (param.layerType == LayerNormParam::LAYER_NORM_NORM && !(std::fabs(param.normParam.epsilon) >= kMinEpsilon))
    return refuse("epsilon is too small");
  if (param.layerType == LayerNormParam::LAYER_NORM_NORM && param.normParam.quantType == atb::infer::QUANT_UNQUANT &&
      param.normParam.dynamicQuantType == atb::infer::DYNAMIC_QUANT_UNDEFINED)
    return atb::NO_ERROR;
  violation("LayerNormOperation other than NORM without quantisation is not simulated");
  return refuse("not simulated");
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::LayerNormParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "LayerNormOperation", [&] { return check(param); }, [&] { return new LayerNorm(param); });
}

}  // namespace atb
