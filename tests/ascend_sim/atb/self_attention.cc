// SPDX-License-Identifier: Apache-2.0
// SelfAttentionOperation: the checks of CreateOperation for all modes; for the mode PA_ENCODER, which computes packed
// sequences in one call, also the checks of Setup and the computation.
//
// Inputs: query (tokens, headNum, head size) or (tokens, headNum * head size); key and value likewise with kvHeadNum;
// the mask, if there is one; and the sequences' lengths, int32 on the host: (batch) if each sequence has as many
// queries as keys, or (2, batch), the queries' before the keys'. Sequences follow one another without gaps. Output:
// like query, with value's head size.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <utility>

#include "atb/infer_op_params.h"
#include "atb/launch_cache.h"
#include "atb/operation_base.h"
#include "atb/self_attention_kernel.h"

namespace ascend_sim::atb_library {
namespace {

using Param = atb::infer::SelfAttentionParam;

// Largest head size of the kernels, and the largest one that the operation accepts if values have another head size
// than keys.
constexpr int64_t kMaxHeadSize = 576;
constexpr int64_t kMaxUnequalHeadSize = 1024;
constexpr int64_t kCompressedMask = 128;
// The arguments of a launch, in bytes: the tiling (a common part with the first sequence, then a part for each further
// sequence) and the tensors' pointers.
constexpr uint64_t kLaunchArguments = uint64_t{1} << 20;
constexpr uint64_t kTilingOfTheFirst = 512;
constexpr uint64_t kTilingOfASequence = 108;
constexpr uint64_t kTilingAlignment = 512;
constexpr uint64_t kPointers = 160;

bool is_alibi_compress(Param::MaskType type) {
  return type == Param::MASK_TYPE_ALIBI_COMPRESS || type == Param::MASK_TYPE_ALIBI_COMPRESS_SQRT ||
         type == Param::MASK_TYPE_ALIBI_COMPRESS_LEFT_ALIGN;
}

bool is_sliding_window(Param::MaskType type) {
  return type == Param::MASK_TYPE_SLIDING_WINDOW_NORM || type == Param::MASK_TYPE_SLIDING_WINDOW_COMPRESS;
}

bool is_quantised(const Param& param) {
  return param.quantType == Param::TYPE_QUANT_QKV_OFFLINE || param.quantType == Param::TYPE_QUANT_QKV_ONLINE;
}

// Each function returns what is wrong, or null.

const char* wrong_with_layout(const Param& param) {
  if (param.inputLayout != atb::infer::TYPE_BNSD) return nullptr;
  if (param.scaleType != Param::SCALE_TYPE_TOR) return "BNSD with LOGN";
  if (param.quantType != Param::TYPE_QUANT_UNQUANT) return "BNSD with quantType";
  if (param.calcType == Param::PREFIX_ENCODER) return "BNSD with PREFIX_ENCODER";
  if (param.calcType != Param::PA_ENCODER) {
    if (param.kvcacheCfg != Param::K_BYPASS_V_BYPASS) return "BNSD without K_BYPASS_V_BYPASS";
    return param.maskType == Param::MASK_TYPE_UNDEFINED ? "BNSD without a mask" : nullptr;
  }
  if (param.mlaVHeadSize > 0) return "BNSD with mlaVHeadSize";
  if (param.kernelType == Param::KERNELTYPE_HIGH_PRECISION) return "BNSD with KERNELTYPE_HIGH_PRECISION";
  const bool is_approximate = param.kernelType == Param::KERNELTYPE_EXP_M8V2;
  if (chip() != Chip::A2 && !(chip() == Chip::Inference310P && is_approximate)) return "BNSD on this chip";
  return !is_approximate && param.maskType != Param::MASK_TYPE_UNDEFINED ? "BNSD with a mask" : nullptr;
}

const char* wrong_with_mla(const Param& param) {
  if (param.mlaVHeadSize == 0) return nullptr;
  if (param.calcType != Param::PA_ENCODER) return "mlaVHeadSize without PA_ENCODER";
  if (chip() != Chip::A2) return "mlaVHeadSize on this chip";
  if (param.maskType != Param::MASK_TYPE_UNDEFINED && param.maskType != Param::MASK_TYPE_NORM &&
      !is_sliding_window(param.maskType))
    return "mlaVHeadSize with this mask";
  if (param.scaleType != Param::SCALE_TYPE_TOR) return "mlaVHeadSize with LOGN";
  if (param.clampType != Param::CLAMP_TYPE_UNDEFINED) return "mlaVHeadSize with a clamp";
  return param.mlaVHeadSize > kMaxHeadSize ? "mlaVHeadSize is above 576" : nullptr;
}

const char* wrong_with_window(const Param& param) {
  if ((param.windowSize > 0) != is_sliding_window(param.maskType))
    return "windowSize goes with MASK_TYPE_SLIDING_WINDOW_*, and only with it";
  if (param.windowSize == 0)
    return param.cacheType == Param::CACHE_TYPE_SWA ? "CACHE_TYPE_SWA without a window" : nullptr;
  if (param.maskType == Param::MASK_TYPE_SLIDING_WINDOW_COMPRESS && param.calcType == Param::DECODER)
    return "MASK_TYPE_SLIDING_WINDOW_COMPRESS with DECODER";
  const bool is_plain = !param.batchRunStatusEnable && param.kernelType == Param::KERNELTYPE_DEFAULT &&
                        param.clampType == Param::CLAMP_TYPE_UNDEFINED &&
                        param.quantType == Param::TYPE_QUANT_UNQUANT && param.scaleType == Param::SCALE_TYPE_TOR &&
                        param.inputLayout == atb::infer::TYPE_BSND;
  return is_plain ? nullptr : "windowSize with another option";
}

const char* wrong_with_chip(const Param& param) {
  if (chip() == Chip::A2) return nullptr;
  if (param.maskType == Param::MASK_TYPE_ALIBI_COMPRESS_LEFT_ALIGN) return "this mask on this chip";
  if (param.clampType != Param::CLAMP_TYPE_UNDEFINED) return "a clamp on this chip";
  if (is_quantised(param)) return "quantType on this chip";
  if (param.batchRunStatusEnable) return "batchRunStatusEnable on this chip";
  if (chip() != Chip::First910) return nullptr;
  const bool is_simple = param.calcType == Param::PA_ENCODER && !is_alibi_compress(param.maskType) &&
                         param.windowSize == 0 && param.scaleType == Param::SCALE_TYPE_TOR;
  return is_simple ? nullptr : "this option on this chip";
}

const char* wrong_with_prefix(const Param& param) {
  if (param.calcType != Param::PREFIX_ENCODER) return nullptr;
  const auto is_near = [](float a, float b) { return std::fabs(a - b) < FLT_EPSILON; };
  if (chip() != Chip::A2) return "PREFIX_ENCODER on this chip";
  if (param.quantType != Param::TYPE_QUANT_UNQUANT || param.outDataType != ACL_DT_UNDEFINED)
    return "PREFIX_ENCODER with quantisation";
  if (param.headNum < param.kvHeadNum) return "PREFIX_ENCODER with headNum below kvHeadNum";
  if (!is_near(param.qScale, 1)) return "PREFIX_ENCODER with qScale other than 1";
  if (param.batchRunStatusEnable) return "PREFIX_ENCODER with batchRunStatusEnable";
  if (param.isTriuMask != 1) return "PREFIX_ENCODER without isTriuMask";
  if (param.kernelType != Param::KERNELTYPE_HIGH_PRECISION) return "PREFIX_ENCODER without KERNELTYPE_HIGH_PRECISION";
  if (param.clampType != Param::CLAMP_TYPE_UNDEFINED || !is_near(param.clampMin, 0) || !is_near(param.clampMax, 0))
    return "PREFIX_ENCODER with a clamp";
  if (param.maskType != Param::MASK_TYPE_ALIBI_COMPRESS && param.maskType != Param::MASK_TYPE_ALIBI_COMPRESS_SQRT &&
      param.maskType != Param::MASK_TYPE_NORM_COMPRESS && param.maskType != Param::MASK_TYPE_CAUSAL_MASK)
    return "PREFIX_ENCODER with this mask";
  const bool is_plain = param.kvcacheCfg == Param::K_CACHE_V_CACHE && param.scaleType == Param::SCALE_TYPE_TOR &&
                        param.inputLayout == atb::infer::TYPE_BSND && param.cacheType == Param::CACHE_TYPE_NORM &&
                        param.mlaVHeadSize == 0 && param.windowSize == 0;
  return is_plain ? nullptr : "PREFIX_ENCODER with another option";
}

const char* wrong_with_approximation(const Param& param) {
  if (param.kernelType != Param::KERNELTYPE_EXP_M8V2) return nullptr;
  if (chip() != Chip::Inference310P) return "KERNELTYPE_EXP_M8V2 on this chip";
  const auto is_near = [](float a, float b) { return std::fabs(a - b) < FLT_EPSILON; };
  const bool is_plain = param.quantType == Param::TYPE_QUANT_UNQUANT && param.outDataType == ACL_DT_UNDEFINED &&
                        is_near(param.qScale, 1) && !param.batchRunStatusEnable && param.isTriuMask == 0 &&
                        param.calcType == Param::PA_ENCODER && param.clampType == Param::CLAMP_TYPE_UNDEFINED &&
                        is_near(param.clampMin, 0) && is_near(param.clampMax, 0) &&
                        (param.maskType == Param::MASK_TYPE_UNDEFINED || param.maskType == Param::MASK_TYPE_NORM ||
                         param.maskType == Param::MASK_TYPE_NORM_COMPRESS) &&
                        param.kvcacheCfg == Param::K_CACHE_V_CACHE && param.scaleType == Param::SCALE_TYPE_TOR &&
                        param.mlaVHeadSize == 0 && param.windowSize == 0 && param.cacheType == Param::CACHE_TYPE_NORM;
  return is_plain ? nullptr : "KERNELTYPE_EXP_M8V2 with another option";
}

const char* wrong_with(const Param& param) {
  if (has_reserved_bytes(param)) return "a byte of rsv is not 0";
  if (param.headNum <= 0) return "headNum is not positive";
  if (param.kvHeadNum < 0) return "kvHeadNum is negative";
  if (param.kvHeadNum > 0 && param.headNum % param.kvHeadNum != 0) return "kvHeadNum does not divide headNum";
  if (param.kvcacheCfg != Param::K_CACHE_V_CACHE && param.kvcacheCfg != Param::K_BYPASS_V_BYPASS)
    return "kvcacheCfg is out of range";
  if (param.quantType == Param::TYPE_DEQUANT_FUSION) return "TYPE_DEQUANT_FUSION";
  if (is_quantised(param)) {
    if (param.outDataType != ACL_FLOAT16 && param.outDataType != ACL_BF16) return "quantType without outDataType";
    if (param.calcType != Param::PA_ENCODER) return "quantType without PA_ENCODER";
    if (param.scaleType != Param::SCALE_TYPE_TOR) return "quantType with LOGN";
  }
  if (param.scaleType < Param::SCALE_TYPE_TOR || param.scaleType >= Param::SCALE_TYPE_MAX)
    return "scaleType is out of range";
  if (param.calcType == Param::PA_ENCODER && param.kvcacheCfg == Param::K_BYPASS_V_BYPASS)
    return "PA_ENCODER with K_BYPASS_V_BYPASS";
  if (param.calcType != Param::PA_ENCODER && param.calcType != Param::PREFIX_ENCODER &&
      is_alibi_compress(param.maskType))
    return "MASK_TYPE_ALIBI_COMPRESS* without PA_ENCODER or PREFIX_ENCODER";
  if (param.maskType == Param::MASK_TYPE_UNDEFINED && param.isTriuMask == 1) return "isTriuMask without a mask";
  for (const auto wrong : {wrong_with_layout, wrong_with_mla, wrong_with_window, wrong_with_chip}) {
    if (const char* const reason = wrong(param)) return reason;
  }
  if (param.kernelType < Param::KERNELTYPE_DEFAULT || param.kernelType > Param::KERNELTYPE_EXP_M8V2)
    return "kernelType is out of range";
  if (param.inputLayout != atb::infer::TYPE_BSND && param.inputLayout != atb::infer::TYPE_BNSD)
    return "inputLayout is out of range";
  if (const char* const reason = wrong_with_prefix(param)) return reason;
  return wrong_with_approximation(param);
}

// ---- the operation --------------------------------------------------------------------------------------------------

uint32_t num_inputs_of(const Param& param) {
  const bool has_mask = param.maskType != Param::MASK_TYPE_UNDEFINED;
  const uint32_t num_slopes = is_alibi_compress(param.maskType) ? 1 : 0;
  const uint32_t num_logn = param.scaleType == Param::SCALE_TYPE_LOGN ? 1 : 0;
  if (param.calcType == Param::PA_ENCODER) {
    uint32_t num_inputs = 4 + (has_mask ? 1 : 0) + num_slopes + num_logn;
    if (param.quantType == Param::TYPE_QUANT_QKV_ONLINE) num_inputs += 4;
    if (param.quantType == Param::TYPE_QUANT_QKV_OFFLINE) num_inputs += 5;
    return num_inputs - (param.mlaVHeadSize > 0 ? 1 : 0);
  }
  if (param.calcType == Param::PREFIX_ENCODER) {
    if (param.maskType == Param::MASK_TYPE_NORM_COMPRESS) return 7;
    return param.maskType == Param::MASK_TYPE_CAUSAL_MASK ? 6 : 8;
  }
  const bool is_without_mask =
      !has_mask || (param.calcType == Param::DECODER && param.maskType == Param::MASK_TYPE_SLIDING_WINDOW_NORM);
  return (param.kvcacheCfg == Param::K_BYPASS_V_BYPASS ? 6U : 8U) + (param.batchRunStatusEnable ? 1 : 0) +
         (is_without_mask ? 0 : 1) + num_slopes + num_logn;
}

bool is_simulated(const Param& param) {
  return chip() == Chip::A2 && param.calcType == Param::PA_ENCODER && param.quantType == Param::TYPE_QUANT_UNQUANT &&
         param.scaleType == Param::SCALE_TYPE_TOR && param.inputLayout == atb::infer::TYPE_BSND &&
         param.mlaVHeadSize == 0 && !param.batchRunStatusEnable && param.kernelType != Param::KERNELTYPE_EXP_M8V2 &&
         (param.maskType == Param::MASK_TYPE_UNDEFINED || param.maskType == Param::MASK_TYPE_NORM ||
          param.maskType == Param::MASK_TYPE_ALIBI || param.maskType == Param::MASK_TYPE_NORM_COMPRESS);
}

// Query, key, value and the mask have one type. Empty for parameters that are not simulated, since Setup refuses those
// anyway.
std::vector<Types> types_of(const Param& param) {
  if (!is_simulated(param)) return {};
  std::vector<Types> types;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    Types row(param.maskType == Param::MASK_TYPE_UNDEFINED ? 3 : 4, dtype);
    row.push_back(ACL_INT32);
    row.push_back(dtype);
    types.push_back(row);
  }
  return types;
}

class SelfAttention final : public OperationBase {
 public:
  explicit SelfAttention(const Param& param)
      : OperationBase("SelfAttentionOperation", num_inputs_of(param), 1, types_of(param)),
        param_(param),
        has_mask_(param.maskType != Param::MASK_TYPE_UNDEFINED),
        num_kv_heads_(param.kvHeadNum > 0 ? param.kvHeadNum : param.headNum) {}

 private:
  static constexpr size_t kMaskInput = 3;
  size_t lengths_input() const { return has_mask_ ? 4 : 3; }

  Status check_inputs(const Descs& inputs) const override {
    if (!is_simulated(param_)) {
      violation("SelfAttentionOperation with these parameters, or on this chip, is not simulated");
      return refuse(atb::ERROR_INVALID_PARAM, "not simulated");
    }
    const Dims& query = inputs[0].shape;
    const Dims& key = inputs[1].shape;
    const Dims& value = inputs[2].shape;
    if ((query.dimNum != 2 && query.dimNum != 3) || key.dimNum != query.dimNum || value.dimNum != query.dimNum)
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "query, key and value are not all 2-D or all 3-D");
    const Dims& lengths = inputs[lengths_input()].shape;
    if (lengths.dimNum != 1 && lengths.dimNum != 2)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM, "the lengths are neither 1-D nor 2-D");
    for (uint64_t i = 0; i + 1 < key.dimNum; ++i) {
      if (key.dims[i] != value.dims[i])
        return refuse(atb::ERROR_INVALID_TENSOR_DIM, "key has the shape " + text_of(key) + ", value " + text_of(value));
    }
    if (has_mask_) {
      if (const Status code = check_mask_desc(inputs[kMaskInput].shape)) return code;
    }
    if (lengths.dimNum == 2 && lengths.dims[0] != 2)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                    "the lengths have the shape " + text_of(lengths) + ", not (2, batch)");
    return check_head_sizes(key, value);
  }

  Status check_mask_desc(const Dims& mask) const {
    if (param_.maskType != Param::MASK_TYPE_NORM_COMPRESS) {
      if (mask.dimNum >= 2 && mask.dimNum <= 4) return atb::NO_ERROR;
      return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "the mask has the shape " + text_of(mask));
    }
    if (mask.dimNum != 2) return refuse(atb::ERROR_INVALID_TENSOR_SIZE, "the compressed mask is not 2-D");
    if (mask.dims[0] == kCompressedMask && mask.dims[1] == kCompressedMask) return atb::NO_ERROR;
    return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                  "the compressed mask has the shape " + text_of(mask) + ", not (128, 128)");
  }

  int64_t head_size(const Dims& shape, int64_t num_heads) const {
    return shape.dimNum == 2 ? shape.dims[1] / num_heads : shape.dims[2];
  }

  Status check_head_sizes(const Dims& key, const Dims& value) const {
    if (key.dimNum == 2 && (key.dims[1] % num_kv_heads_ != 0 || value.dims[1] % num_kv_heads_ != 0))
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "the width of key or value is no multiple of kvHeadNum");
    const int64_t of_keys = head_size(key, num_kv_heads_);
    const int64_t of_values = head_size(value, num_kv_heads_);
    const int64_t most = of_keys == of_values ? kMaxHeadSize : kMaxUnequalHeadSize;
    if (std::max(of_keys, of_values) > most)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "a head size is above " + std::to_string(most));
    return atb::NO_ERROR;
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[0];
    Dims& shape = outputs[0].shape;
    const int64_t value_head_size = head_size(inputs[2].shape, num_kv_heads_);
    shape.dims[shape.dimNum - 1] = shape.dimNum == 2 ? param_.headNum * value_head_size : value_head_size;
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    return check_output_shape(inputs, outputs, atb::ERROR_INVALID_TENSOR_DIM);
  }

  // ---- checks of the kernel, with the lengths ----

  Status read_lengths(const Tensor& tensor, AttentionProblem& problem) const {
    if (tensor.hostData == nullptr) return refuse(atb::ERROR_INVALID_PARAM, "the lengths have no hostData");
    const Dims& shape = tensor.desc.shape;
    if (tensor.dataSize < num_elements(shape) * sizeof(int32_t))
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, "the lengths' dataSize is below their shape's");
    const auto batch = static_cast<size_t>(dim_from_end(shape, 1));
    const auto* const lengths = static_cast<const int32_t*>(tensor.hostData);
    problem.query_lengths.assign(lengths, lengths + batch);
    problem.key_lengths = problem.query_lengths;
    if (shape.dimNum == 2) problem.key_lengths.assign(lengths + batch, lengths + 2 * batch);
    return atb::NO_ERROR;
  }

  Status check_mask_shape(const Dims& mask, const AttentionProblem& problem) const {
    const auto [min_query, max_query] = std::minmax_element(problem.query_lengths.begin(), problem.query_lengths.end());
    const auto [min_key, max_key] = std::minmax_element(problem.key_lengths.begin(), problem.key_lengths.end());
    if (*min_query < 0 || *min_key < 0 || *max_query <= 0 || *max_key <= 0)
      return refuse(atb::ERROR_RT_FAIL, "a length is negative, or all are 0");
    if (*max_key < *max_query)
      return refuse(atb::ERROR_RT_FAIL, "with a mask the longest keys must be as long as the longest queries");
    const auto batch = static_cast<int64_t>(problem.query_lengths.size());
    const bool is_alibi = param_.maskType == Param::MASK_TYPE_ALIBI;
    const int64_t rows = dim_from_end(mask, 2);
    const int64_t columns = dim_from_end(mask, 1);
    const bool is_square_128 = rows == kCompressedMask && columns == kCompressedMask;
    const bool is_compressed = param_.isTriuMask == 1 && is_square_128;
    const bool covers = is_compressed || (rows >= *max_query && columns >= *max_key);
    bool has_lead = mask.dimNum == 2;
    if (mask.dimNum == 3) has_lead = mask.dims[0] == (is_alibi ? param_.headNum : batch);
    if (mask.dimNum == 4) has_lead = mask.dims[0] == batch && mask.dims[1] == param_.headNum && !is_compressed;
    if (!covers || !has_lead)
      return refuse(atb::ERROR_RT_FAIL, "the kernel has no use for a mask of shape " + text_of(mask));
    if (mask.dimNum == 4 && !is_alibi) return refuse(atb::ERROR_INVALID_PARAM, "a 4-D mask that is not ALIBI's");
    if (is_alibi && mask.dimNum == 2)
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, "an ALIBI mask without heads is taken for a compressed one");
    if (is_alibi && rows != columns)
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, "the planes of an ALIBI mask must be square");
    return atb::NO_ERROR;
  }

  // ---- what the kernel's tiling refuses, which Execute reports ----

  std::string wrong_with_tiling(const AttentionProblem& problem) const {
    if (std::max(problem.head_size, problem.value_head_size) > size_t{kMaxHeadSize})
      return "heads have " + std::to_string(problem.head_size) + " elements, and " +
             std::to_string(problem.value_head_size) + " of values, above 576";
    for (size_t i = 0; i < problem.query_lengths.size(); ++i) {
      const int32_t queries = problem.query_lengths[i];
      const int32_t keys = problem.key_lengths[i];
      const std::string text = "sequence " + std::to_string(i) + " has " + std::to_string(queries) + " queries and " +
                               std::to_string(keys) + " keys";
      if (param_.kernelType == Param::KERNELTYPE_HIGH_PRECISION) {
        if (queries <= 0 || keys <= 0) return text;
      } else if (queries < 0 || keys < 0 || (keys != queries && queries != 1)) {
        return text + ": KERNELTYPE_DEFAULT wants as many, or one query";
      }
    }
    const uint64_t num_sequences = problem.query_lengths.size();
    const uint64_t tiling = kTilingOfTheFirst + kTilingOfASequence * (num_sequences - 1);
    const uint64_t bytes = (tiling + kTilingAlignment - 1) / kTilingAlignment * kTilingAlignment + kPointers;
    if (bytes > kLaunchArguments)
      return std::to_string(num_sequences) + " sequences want " + std::to_string(bytes) +
             " bytes of arguments, above " + std::to_string(kLaunchArguments);
    return "";
  }

  // What hardware relies on without a check.
  Status check_trusted(const atb::VariantPack& pack, const AttentionProblem& problem) const {
    const auto refuse = [this](const std::string& reason) {
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, reason);
    };
    const Dims& query = pack.inTensors[0].desc.shape;
    const Dims& key = pack.inTensors[1].desc.shape;
    int64_t num_queries = 0;
    int64_t num_keys = 0;
    for (const int32_t length : problem.query_lengths) num_queries += length;
    for (const int32_t length : problem.key_lengths) num_keys += length;
    if (num_queries != query.dims[0])
      return refuse("query has " + std::to_string(query.dims[0]) + " tokens, but the lengths come to " +
                    std::to_string(num_queries));
    if (num_keys != key.dims[0])
      return refuse("key has " + std::to_string(key.dims[0]) + " tokens, but the lengths come to " +
                    std::to_string(num_keys));
    if (query.dimNum == 2 ? query.dims[1] % param_.headNum != 0 : query.dims[1] != param_.headNum)
      return refuse("query has the shape " + text_of(query) + ", but headNum is " + std::to_string(param_.headNum));
    if (key.dimNum == 3 && key.dims[1] != num_kv_heads_)
      return refuse("key has the shape " + text_of(key) + ", but kvHeadNum is " + std::to_string(num_kv_heads_));
    if (head_size(query, param_.headNum) != head_size(key, num_kv_heads_))
      return refuse("query has the head size " + std::to_string(head_size(query, param_.headNum)) + ", key " +
                    std::to_string(head_size(key, num_kv_heads_)));
    if (!has_mask_) return atb::NO_ERROR;
    if (param_.maskType == Param::MASK_TYPE_NORM_COMPRESS && param_.isTriuMask != 1)
      return refuse("MASK_TYPE_NORM_COMPRESS without isTriuMask");
    if (param_.isTriuMask == 1 && problem.query_lengths != problem.key_lengths)
      return refuse("isTriuMask with sequences whose queries and keys are not as many");
    return atb::NO_ERROR;
  }

  // ---- the kernel ----

  AttentionMask mask_of(const TensorDesc& desc) const {
    AttentionMask mask;
    const bool is_half_kernel = desc.dtype == ACL_FLOAT16 && param_.kernelType == Param::KERNELTYPE_DEFAULT;
    const bool is_alibi = param_.maskType == Param::MASK_TYPE_ALIBI;
    mask.effect = is_half_kernel || is_alibi ? AttentionMask::Effect::Raw : AttentionMask::Effect::TimesMinus3e38;
    const Dims& shape = desc.shape;
    const auto columns = static_cast<size_t>(dim_from_end(shape, 1));
    const size_t plane = static_cast<size_t>(dim_from_end(shape, 2)) * columns;
    mask.row_stride = columns;
    if (is_alibi) mask.head_stride = plane;
    if (shape.dimNum == 4) mask.sequence_stride = plane * static_cast<size_t>(shape.dims[1]);
    if (shape.dimNum == 3 && !is_alibi) mask.sequence_stride = plane;
    mask.is_triangular = param_.isTriuMask == 1;
    // With isTriuMask, a plane of 128 x 128 is the compressed form, whatever the mask's type.
    mask.is_compressed = mask.is_triangular && columns == kCompressedMask && dim_from_end(shape, 2) == kCompressedMask;
    return mask;
  }

  // The scale that the launch uses (launch_cache.h). The lengths are parameters of the launch.
  float scale_of(const atb::VariantPack& pack, const AttentionProblem& problem) const {
    TilingKey key = tiling_key(pack);
    key.insert(key.end(), {param_.headNum, num_kv_heads_, param_.isTriuMask, param_.kernelType, param_.clampType,
                           param_.maskType});
    key.insert(key.end(), problem.query_lengths.begin(), problem.query_lengths.end());
    key.insert(key.end(), problem.key_lengths.begin(), problem.key_lengths.end());
    return launches_.shared_factor(GetName(), key, param_.qkScale);
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const TensorDesc& query = pack.inTensors[0].desc;
    AttentionProblem problem;
    if (const Status code = read_lengths(pack.inTensors[lengths_input()], problem)) return code;
    if (has_mask_) {
      if (const Status code = check_mask_shape(pack.inTensors[kMaskInput].desc.shape, problem)) return code;
    }
    problem.head_size = static_cast<size_t>(head_size(query.shape, param_.headNum));
    problem.value_head_size = static_cast<size_t>(head_size(pack.inTensors[2].desc.shape, num_kv_heads_));
    plan.tiling_refusal = wrong_with_tiling(problem);
    // A call that Execute refuses never runs, so what hardware would rely on does not matter.
    if (plan.tiling_refusal.empty()) {
      if (const Status code = check_trusted(pack, problem)) return code;
    }
    problem.dtype = query.dtype;
    problem.is_half_kernel = query.dtype == ACL_FLOAT16 && param_.kernelType == Param::KERNELTYPE_DEFAULT;
    problem.num_heads = static_cast<size_t>(param_.headNum);
    problem.num_kv_heads = static_cast<size_t>(num_kv_heads_);
    problem.scale = plan.tiling_refusal.empty() ? scale_of(pack, problem) : param_.qkScale;
    if (has_mask_) problem.mask = mask_of(pack.inTensors[kMaskInput].desc);
    plan.host_inputs = {lengths_input()};
    // For each head a block of scores, one of probabilities and one of sums.
    constexpr size_t kBlock = 128;
    plan.workspace_bytes =
        workspace_for(problem.num_heads * kBlock * (2 * kBlock + problem.value_head_size) * sizeof(float));
    plan.kernel = [problem, has_mask = has_mask_](Addresses addresses) {
      run_attention(problem, addresses[0], addresses[1], addresses[2], has_mask ? addresses[kMaskInput] : nullptr,
                    addresses[has_mask ? 5 : 4]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const Param param_;
  const bool has_mask_;
  const int32_t num_kv_heads_;
  mutable OperationLaunches launches_;
};

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::SelfAttentionParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "SelfAttentionOperation",
      [&] {
        const char* const reason = wrong_with(param);
        return reason == nullptr ? Status{NO_ERROR} : refuse(ERROR_INVALID_PARAM, "SelfAttentionOperation", reason);
      },
      [&] { return new SelfAttention(param); });
}

}  // namespace atb
