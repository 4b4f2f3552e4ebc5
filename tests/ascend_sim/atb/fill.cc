// SPDX-License-Identifier: Apache-2.0
// FillOperation. With a mask, which is broadcast to the input: x * (1 - mask) + value * mask, which is the input with
// `value` where the mask is 1. Without one: a binary16 tensor of shape outDim with `value` everywhere.
//
// Floats are computed in float with one rounding. 0 times a number that is not finite is NaN: so an infinite or NaN x
// gives NaN where the mask is 1, and an infinite or NaN `value` gives NaN where the mask is 0. int32 is exact.
#include <cstdint>
#include <vector>

#include "atb/elements.h"
#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::FillParam;

std::vector<Types> fill_types(bool has_mask) {
  if (!has_mask) return {{ACL_FLOAT16}};
  std::vector<Types> types;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_INT32, ACL_BF16}) {
    for (const aclDataType mask_dtype : {ACL_BOOL, ACL_INT8}) types.push_back({dtype, mask_dtype, dtype});
  }
  return types;
}

// For each element of the input, the index of the mask's element.
std::vector<size_t> mask_indices(const Dims& mask, const Dims& input) {
  std::vector<size_t> indices(num_elements(input));
  for (size_t i = 0; i < indices.size(); ++i) {
    size_t rest = i;
    size_t stride = 1;
    for (uint64_t axis = 1; axis <= mask.dimNum; ++axis) {
      const auto input_dim = static_cast<size_t>(dim_from_end(input, axis));
      const auto mask_dim = static_cast<size_t>(dim_from_end(mask, axis));
      if (mask_dim != 1) indices[i] += rest % input_dim * stride;
      rest /= input_dim;
      stride *= mask_dim;
    }
  }
  return indices;
}

class Fill final : public OperationBase {
 public:
  explicit Fill(const FillParam& param)
      : OperationBase("FillOperation", param.withMask ? 2 : 0, 1, fill_types(param.withMask)), param_(param) {}

 private:
  Status check_inputs(const Descs& inputs) const override {
    if (!param_.withMask) return atb::NO_ERROR;
    const Dims& input = inputs[0].shape;
    const Dims& mask = inputs[1].shape;
    bool fits = mask.dimNum <= input.dimNum;
    for (uint64_t i = 1; fits && i <= mask.dimNum; ++i)
      fits = dim_from_end(mask, i) == 1 || dim_from_end(mask, i) == dim_from_end(input, i);
    if (fits) return atb::NO_ERROR;
    return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                  "the mask " + text_of(mask) + " cannot be broadcast to " + text_of(input));
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    if (param_.withMask) {
      outputs[0] = inputs[0];
      return atb::NO_ERROR;
    }
    outputs[0].dtype = ACL_FLOAT16;
    outputs[0].format = ACL_FORMAT_ND;
    outputs[0].shape.dimNum = param_.outDim.size();
    for (size_t i = 0; i < param_.outDim.size(); ++i) outputs[0].shape.dims[i] = param_.outDim[i];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& out = pack.outTensors[0].desc;
    const float value = param_.value[0];
    if (!param_.withMask) {
      plan.kernel = [dtype = out.dtype, num = num_elements(out.shape), value](Addresses addresses) {
        const std::vector<float> results(num, value);
        store_floats(dtype, results.data(), num, addresses[0]);
        return 0;
      };
      return atb::NO_ERROR;
    }
    plan.kernel = [dtype = out.dtype, mask = pack.inTensors[1].desc.shape, shape = out.shape,
                   value](Addresses addresses) {
      const std::vector<size_t> indices = mask_indices(mask, shape);
      const auto* const mask_elements = static_cast<const int8_t*>(addresses[1]);
      const auto mask_of = [&](size_t i) { return int32_t{mask_elements[indices[i]]}; };
      if (dtype == ACL_INT32)
        fill_integers(addresses[0], indices.size(), mask_of, static_cast<int32_t>(value), addresses[2]);
      else
        fill_floats(dtype, addresses[0], indices.size(), mask_of, value, addresses[2]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  template <class MaskOf>
  static void fill_floats(aclDataType dtype, const void* x, size_t num, const MaskOf& mask_of, float value, void* to) {
    std::vector<float> elements = load_floats(dtype, x, num);
    for (size_t i = 0; i < num; ++i) {
      const auto mask = static_cast<float>(mask_of(i));
      elements[i] = elements[i] * (1 - mask) + value * mask;
    }
    store_floats(dtype, elements.data(), num, to);
  }

  // In unsigned integers, so that sums and products wrap on overflow.
  template <class MaskOf>
  static void fill_integers(const void* x, size_t num, const MaskOf& mask_of, int32_t value, void* to) {
    const auto* const elements = static_cast<const uint32_t*>(x);
    for (size_t i = 0; i < num; ++i) {
      const auto mask = static_cast<uint32_t>(mask_of(i));
      static_cast<uint32_t*>(to)[i] = elements[i] * (1 - mask) + static_cast<uint32_t>(value) * mask;
    }
  }

  const FillParam param_;
};

Status check(const FillParam& param) {
  if (const Status code = check_reserved(param, "FillOperation")) return code;
  if (param.value.size() != 1) return refuse(atb::ERROR_INVALID_PARAM, "FillOperation", "value has not one element");
  if (!param.withMask && (param.outDim.empty() || param.outDim.size() > atb::MAX_DIM))
    return refuse(atb::ERROR_INVALID_PARAM, "FillOperation", "outDim has not 1 to 8 dimensions");
  return atb::NO_ERROR;
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::FillParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "FillOperation", [&] { return check(param); }, [&] { return new Fill(param); });
}

}  // namespace atb
