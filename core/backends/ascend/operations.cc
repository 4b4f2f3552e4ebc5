// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/operations.h"

#include <bit>
#include <string>

namespace heed::ascend {
namespace {

// A float as text, different for any two floats that differ in a bit.
std::string bits_of(float value) { return std::to_string(std::bit_cast<uint32_t>(value)); }

void elewise(Npu& npu, atb::infer::ElewiseParam::ElewiseType type, std::initializer_list<DeviceArray> inputs,
             const DeviceArray& output, float factor = 0.0f) {
  atb::infer::ElewiseParam param;
  param.elewiseType = type;
  param.mulsParam.varAttr = factor;
  if (type == atb::infer::ElewiseParam::ELEWISE_CAST) param.outTensorType = output.dtype;
  npu.run(name_of("Elewise", {type, param.outTensorType}) + " " + bits_of(factor), param, inputs, output);
}

// The same bytes as 32-bit integers, for operations that only move bytes. Two elements of 16 bits become one integer.
DeviceArray as_integers(const DeviceArray& array) {
  DeviceArray result = array;
  result.dtype = ACL_INT32;
  if (size_of_element(array.dtype) == 2) result.shape.dims[array.shape.dimNum - 1] /= 2;
  return result;
}

DeviceArray on_host(std::vector<int32_t>& numbers, const atb::Dims& shape) {
  DeviceArray array;
  array.dtype = ACL_INT32;
  array.shape = shape;
  array.host_data = numbers.data();
  return array;
}

}  // namespace

void linear(Npu& npu, const DeviceArray& x, const DeviceArray& weight, bool transpose_weight, const DeviceArray* bias,
            const DeviceArray& output) {
  atb::infer::LinearParam param;
  param.transposeB = transpose_weight;
  param.hasBias = bias != nullptr;
  const std::string name = name_of("Linear", {transpose_weight, param.hasBias});
  if (bias != nullptr) {
    npu.run(name, param, {x, weight, *bias}, output);
  } else {
    npu.run(name, param, {x, weight}, output);
  }
}

void cast(Npu& npu, const DeviceArray& input, const DeviceArray& output) {
  elewise(npu, atb::infer::ElewiseParam::ELEWISE_CAST, {input}, output);
}

void multiply(Npu& npu, const DeviceArray& input, float factor, const DeviceArray& output) {
  elewise(npu, atb::infer::ElewiseParam::ELEWISE_MULS, {input}, output, factor);
}

void multiply(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output) {
  elewise(npu, atb::infer::ElewiseParam::ELEWISE_MUL, {a, b}, output);
}

void add(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output) {
  elewise(npu, atb::infer::ElewiseParam::ELEWISE_ADD, {a, b}, output);
}

void activate(Npu& npu, Activation activation, const DeviceArray& input, const DeviceArray& output) {
  atb::infer::ActivationParam param;
  switch (activation) {
    case Activation::None:  // not called with it
    case Activation::Relu: param.activationType = atb::infer::ACTIVATION_RELU; break;
    case Activation::Gelu:
      param.activationType = atb::infer::ACTIVATION_GELU;
      param.geluMode = atb::infer::ActivationParam::NONE_MODE;
      break;
    case Activation::GeluTanh:
      param.activationType = atb::infer::ACTIVATION_GELU;
      param.geluMode = atb::infer::ActivationParam::TANH_MODE;
      break;
    // SWISH is x sigma(scale x).
    case Activation::GeluQuick:
      param.activationType = atb::infer::ACTIVATION_SWISH;
      param.scale = 1.702f;
      break;
    case Activation::Silu: param.activationType = atb::infer::ACTIVATION_SWISH; break;
  }
  const std::string name = name_of("Activation", {param.activationType, param.geluMode});
  npu.run(name + " " + bits_of(param.scale), param, {input}, output);
}

void softmax(Npu& npu, const DeviceArray& input, const DeviceArray& output) {
  atb::infer::SoftmaxParam param;
  param.axes.push_back(-1);
  npu.run("Softmax", param, {input}, output);
}

void layer_norm(Npu& npu, const DeviceArray& x, const DeviceArray& weight, const DeviceArray& bias, float epsilon,
                const DeviceArray& output) {
  atb::infer::LayerNormParam param;
  param.layerType = atb::infer::LayerNormParam::LAYER_NORM_NORM;
  param.normParam.epsilon = epsilon;
  param.normParam.beginNormAxis = -1;
  npu.run("LayerNorm " + bits_of(epsilon), param, {x, weight, bias}, output);
}

void rms_norm(Npu& npu, const DeviceArray& x, const DeviceArray& weight, float epsilon, const DeviceArray& output) {
  atb::infer::RmsNormParam param;
  param.layerType = atb::infer::RmsNormParam::RMS_NORM_NORM;
  param.normParam.epsilon = epsilon;
  npu.run("RmsNorm " + bits_of(epsilon), param, {x, weight}, output);
}

void rotate(Npu& npu, const DeviceArray& queries, const DeviceArray& keys, const DeviceArray& cosines,
            const DeviceArray& sines, const DeviceArray& rotated_queries, const DeviceArray& rotated_keys) {
  atb::infer::RopeParam param;
  param.rotaryCoeff = 2;
  // Lengths of sequences are read only where cosines are shared by sequences (cosFormat 1).
  const DeviceArray lengths =
      npu.constant("rope lengths", ACL_INT32, dims_of({1}), [](void* host) { *static_cast<int32_t*>(host) = 1; });
  npu.run("Rope", param, {queries, keys, cosines, sines, lengths}, {rotated_queries, rotated_keys});
}

void transpose(Npu& npu, const DeviceArray& input, const std::vector<int32_t>& order, const DeviceArray& output) {
  atb::infer::TransposeParam param;
  std::string name = "Transpose";
  for (const int32_t axis : order) {
    param.perm.push_back(axis);
    name += " " + std::to_string(axis);
  }
  if (input.dtype == ACL_FLOAT) {
    npu.run(name, param, {as_integers(input)}, as_integers(output));
  } else {
    npu.run(name, param, {input}, output);
  }
}

void gather(Npu& npu, const DeviceArray& input, const DeviceArray& indices, const DeviceArray& output) {
  const atb::infer::GatherParam param;
  npu.run("Gather", param, {input, indices}, output);
}

void concatenate(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output) {
  atb::infer::ConcatParam param;
  param.concatDim = static_cast<int>(a.shape.dimNum) - 1;
  npu.run(name_of("Concat", {param.concatDim}), param, {a, b}, output);
}

void keep_first(Npu& npu, const DeviceArray& input, const DeviceArray& output) {
  atb::infer::SliceParam param;
  const uint64_t last = input.shape.dimNum - 1;
  for (uint64_t axis = 0; axis <= last; ++axis) {
    param.offsets.push_back(0);
    param.size.push_back(axis == last ? output.shape.dims[last] : -1);
  }
  npu.run(name_of("Slice", {static_cast<int64_t>(last), output.shape.dims[last]}), param, {input}, output);
}

// As integers: on floats, a kernel may clear by multiplying with 0, which leaves a NaN as it is.
void clear_where(Npu& npu, const DeviceArray& input, const DeviceArray& mask, const DeviceArray& output) {
  atb::infer::FillParam param;
  param.withMask = true;
  param.value.push_back(0.0f);
  npu.run("Fill", param, {as_integers(input), mask}, as_integers(output));
}

void fused_attention(Npu& npu, const FusedAttention& parameters, const DeviceArray& queries, const DeviceArray& keys,
                     const DeviceArray& values, const DeviceArray& mask, std::vector<int32_t>& lengths,
                     const DeviceArray& output) {
  using Param = atb::infer::SelfAttentionParam;
  Param param;
  param.headNum = static_cast<int32_t>(parameters.num_heads);
  param.kvHeadNum = static_cast<int32_t>(parameters.num_kv_heads);
  param.qkScale = parameters.scale;
  param.calcType = Param::PA_ENCODER;
  // The default kernel rounds scores to 16 bits and accepts only as many keys as queries.
  param.kernelType = Param::KERNELTYPE_HIGH_PRECISION;
  switch (parameters.mask) {
    case FusedMask::None: param.maskType = Param::MASK_TYPE_UNDEFINED; break;
    case FusedMask::Hide: param.maskType = Param::MASK_TYPE_NORM; break;
    case FusedMask::Triangle:
      param.maskType = Param::MASK_TYPE_NORM_COMPRESS;
      param.isTriuMask = 1;
      break;
    case FusedMask::Additive: param.maskType = Param::MASK_TYPE_ALIBI; break;
  }
  const DeviceArray host_lengths = on_host(lengths, dims_of({2, static_cast<int64_t>(lengths.size() / 2)}));
  const std::string name =
      name_of("SelfAttention", {param.headNum, param.kvHeadNum, param.maskType}) + " " + bits_of(param.qkScale);
  if (parameters.mask == FusedMask::None) {
    npu.run(name, param, {queries, keys, values, host_lengths}, output);
  } else {
    npu.run(name, param, {queries, keys, values, mask, host_lengths}, output);
  }
}

void store_in_cache(Npu& npu, const DeviceArray& keys, const DeviceArray& values, const DeviceArray& slots,
                    const DeviceArray& key_cache, const DeviceArray& value_cache) {
  const atb::infer::ReshapeAndCacheParam param;
  npu.run("ReshapeAndCache", param, {keys, values, key_cache, value_cache, slots}, {key_cache, value_cache});
}

void paged_attention(Npu& npu, const FusedAttention& parameters, const DeviceArray& queries,
                     const DeviceArray& key_cache, const DeviceArray& value_cache, const DeviceArray& pages,
                     std::vector<int32_t>& lengths, const DeviceArray& output) {
  atb::infer::PagedAttentionParam param;
  param.headNum = static_cast<int32_t>(parameters.num_heads);
  param.kvHeadNum = static_cast<int32_t>(parameters.num_kv_heads);
  param.qkScale = parameters.scale;
  const std::string name = name_of("PagedAttention", {param.headNum, param.kvHeadNum}) + " " + bits_of(param.qkScale);
  const DeviceArray host_lengths = on_host(lengths, dims_of({static_cast<int64_t>(lengths.size())}));
  npu.run(name, param, {queries, key_cache, value_cache, pages, host_lengths}, output);
}

}  // namespace heed::ascend
