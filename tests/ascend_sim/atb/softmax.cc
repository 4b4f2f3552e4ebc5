// SPDX-License-Identifier: Apache-2.0
// SoftmaxOperation: one softmax over all given axes, which are consecutive, in float with one rounding.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::SoftmaxParam;

class Softmax final : public OperationBase {
 public:
  explicit Softmax(SoftmaxParam param)
      : OperationBase("SoftmaxOperation", 1, 1,
                      {{ACL_FLOAT16, ACL_FLOAT16}, {ACL_FLOAT, ACL_FLOAT}, {ACL_BF16, ACL_BF16}}),
        param_(std::move(param)) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    const auto refuse = [this](const std::string& reason) {
      return OperationBase::refuse(atb::ERROR_INVALID_PARAM, reason);
    };
    if (param_.axes.empty()) return refuse("axes is empty");
    for (size_t i = 0; i < param_.axes.size(); ++i) {
      const int64_t axis = param_.axes[i];
      if (i > 0 && (axis != param_.axes[i - 1] + 1 || axis == 0)) return refuse("axes is not consecutive");
      if (axis < -1 || axis >= static_cast<int64_t>(inputs[0].shape.dimNum)) return refuse("an axis is out of range");
    }
    return atb::NO_ERROR;
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& desc = pack.inTensors[0].desc;
    const Dims& shape = desc.shape;
    const int64_t first = param_.axes[0];
    const uint64_t begin = first < 0 ? shape.dimNum - 1 : static_cast<uint64_t>(first);
    const uint64_t end = begin + param_.axes.size();
    const size_t outer = product(shape, 0, begin);
    const size_t length = product(shape, begin, end);
    const size_t inner = product(shape, end, shape.dimNum);
    plan.kernel = [dtype = desc.dtype, outer, length, inner](Addresses addresses) {
      std::vector<float> values = load_floats(dtype, addresses[0], outer * length * inner);
      for (size_t o = 0; o < outer; ++o) {
        for (size_t i = 0; i < inner; ++i) normalise(&values[o * length * inner + i], length, inner);
      }
      store_floats(dtype, values.data(), values.size(), addresses[1]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  static void normalise(float* values, size_t length, size_t stride) {
    float max = values[0];
    for (size_t i = 1; i < length; ++i) max = std::max(max, values[i * stride]);
    float sum = 0;
    for (size_t i = 0; i < length; ++i) {
      values[i * stride] = std::exp(values[i * stride] - max);
      sum += values[i * stride];
    }
    for (size_t i = 0; i < length; ++i) values[i * stride] /= sum;
  }

  const SoftmaxParam param_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::SoftmaxParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "SoftmaxOperation", [&] { return check_reserved(param, "SoftmaxOperation"); },
      [&] { return new Softmax(param); });
}

}  // namespace atb
