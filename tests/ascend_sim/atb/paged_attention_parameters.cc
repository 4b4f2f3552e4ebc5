// SPDX-License-Identifier: Apache-2.0
#include "atb/paged_attention_parameters.h"

#include "atb/chip.h"

namespace ascend_sim::atb_library::paged {
namespace {

using Param = atb::infer::PagedAttentionParam;

constexpr uint32_t kMaxCombinedHead = 576;

bool is_quantised(const Param& param) {
  return param.quantType == Param::TYPE_QUANT_QKV_OFFLINE || param.quantType == Param::TYPE_QUANT_QKV_ONLINE;
}

// Each function returns what is wrong, or null.

const char* wrong_with_heads(const Param& param) {
  if (param.headNum <= 0) return "headNum is not positive";
  if (param.kvHeadNum < 0) return "kvHeadNum is negative";
  return param.kvHeadNum > 0 && param.headNum % param.kvHeadNum != 0 ? "kvHeadNum does not divide headNum" : nullptr;
}

const char* wrong_with_chip(const Param& param) {
  if (param.maskType == Param::MASK_TYPE_NORM_COMPRESS && chip() != Chip::Inference310P)
    return "MASK_TYPE_NORM_COMPRESS on this chip";
  if (chip() == Chip::A2) return nullptr;
  if (param.batchRunStatusEnable) return "batchRunStatusEnable on this chip";
  if (param.compressType != Param::COMPRESS_TYPE_UNDEFINED) return "compressType on this chip";
  if (param.mlaVHeadSize > 0) return "mlaVHeadSize on this chip";
  if (param.quantType != Param::TYPE_QUANT_UNQUANT) return "quantType on this chip";
  if (chip() != Chip::First910) return nullptr;
  const bool is_simple = param.maskType != Param::MASK_TYPE_SPEC && param.maskType != Param::MASK_TYPE_MASK_FREE &&
                         param.calcType == Param::CALC_TYPE_UNDEFINED && param.scaleType == Param::SCALE_TYPE_TOR &&
                         param.inputLayout == atb::infer::TYPE_BSND;
  return is_simple ? nullptr : "this option on this chip";
}

const char* wrong_with_compression(const Param& param) {
  if (param.compressType < Param::COMPRESS_TYPE_UNDEFINED || param.compressType >= Param::COMPRESS_TYPE_MAX)
    return "compressType is out of range";
  if (param.compressType != Param::COMPRESS_TYPE_KVHEAD_ROPE) return nullptr;
  if (param.maskType != Param::UNDEFINED) return "COMPRESS_TYPE_KVHEAD_ROPE with a mask";
  return param.batchRunStatusEnable ? "COMPRESS_TYPE_KVHEAD_ROPE with batchRunStatusEnable" : nullptr;
}

const char* wrong_with_calculation(const Param& param) {
  if (param.calcType == Param::CALC_TYPE_UNDEFINED) return nullptr;
  if (param.batchRunStatusEnable) return "CALC_TYPE_SPEC with batchRunStatusEnable";
  if (param.compressType != Param::COMPRESS_TYPE_UNDEFINED) return "CALC_TYPE_SPEC with compressType";
  if (chip() == Chip::A2) {
    const bool has_its_mask = param.maskType == Param::MASK_TYPE_NORM || param.maskType == Param::MASK_TYPE_SPEC;
    return param.mlaVHeadSize == 0 && !has_its_mask ? "CALC_TYPE_SPEC without MASK_TYPE_NORM or MASK_TYPE_SPEC"
                                                    : nullptr;
  }
  const bool is_other_mask = param.maskType == Param::MASK_TYPE_NORM || param.maskType == Param::MASK_TYPE_ALIBI;
  return is_other_mask ? "CALC_TYPE_SPEC with this mask on this chip" : nullptr;
}

const char* wrong_with_quantisation(const Param& param) {
  const bool is_spec = param.calcType != Param::CALC_TYPE_UNDEFINED;
  if (param.quantType == Param::TYPE_DEQUANT_FUSION) return is_spec ? "quantType with CALC_TYPE_SPEC" : nullptr;
  if (!is_quantised(param)) return nullptr;
  if (param.outDataType != ACL_FLOAT16 && param.outDataType != ACL_BF16) return "quantType without outDataType";
  if (param.hasQuantOffset) return "quantType with hasQuantOffset";
  if (param.compressType != Param::COMPRESS_TYPE_UNDEFINED) return "quantType with compressType";
  return is_spec ? "quantType with CALC_TYPE_SPEC" : nullptr;
}

const char* wrong_with_logn(const Param& param) {
  if (param.scaleType < Param::SCALE_TYPE_TOR || param.scaleType >= Param::SCALE_TYPE_MAX)
    return "scaleType is out of range";
  if (param.scaleType != Param::SCALE_TYPE_LOGN) return nullptr;
  if (param.quantType != Param::TYPE_QUANT_UNQUANT) return "LOGN with quantType";
  if (param.calcType != Param::CALC_TYPE_UNDEFINED) return "LOGN with CALC_TYPE_SPEC";
  return param.compressType != Param::COMPRESS_TYPE_UNDEFINED ? "LOGN with compressType" : nullptr;
}

const char* wrong_with_layout(const Param& param) {
  if (param.inputLayout != atb::infer::TYPE_BNSD) return nullptr;
  if (param.calcType == Param::CALC_TYPE_SPEC) return "BNSD with CALC_TYPE_SPEC";
  if (param.compressType != Param::COMPRESS_TYPE_UNDEFINED) return "BNSD with compressType";
  if (param.quantType != Param::TYPE_QUANT_UNQUANT) return "BNSD with quantType";
  return param.scaleType != Param::SCALE_TYPE_TOR ? "BNSD with LOGN" : nullptr;
}

const char* wrong_with_mla(const Param& param) {
  if (param.mlaVHeadSize == 0) return nullptr;
  if (param.maskType == Param::MASK_TYPE_ALIBI) return "mlaVHeadSize with MASK_TYPE_ALIBI";
  if (param.calcType == Param::CALC_TYPE_SPEC &&
      (param.maskType == Param::MASK_TYPE_NORM || param.quantType != Param::TYPE_QUANT_UNQUANT))
    return "mlaVHeadSize and CALC_TYPE_SPEC with MASK_TYPE_NORM or quantType";
  if (param.compressType != Param::COMPRESS_TYPE_UNDEFINED) return "mlaVHeadSize with compressType";
  if (param.quantType == Param::TYPE_DEQUANT_FUSION) return "mlaVHeadSize with TYPE_DEQUANT_FUSION";
  if (param.scaleType != Param::SCALE_TYPE_TOR) return "mlaVHeadSize with LOGN";
  if (param.inputLayout != atb::infer::TYPE_BSND) return "mlaVHeadSize with BNSD";
  if (param.kvHeadNum != 1) return "mlaVHeadSize with kvHeadNum other than 1";
  return param.mlaVHeadSize > kMaxCombinedHead ? "mlaVHeadSize is above 576" : nullptr;
}

}  // namespace

const char* wrong_with(const Param& param) {
  if (has_reserved_bytes(param)) return "a byte of rsv is not 0";
  for (const auto wrong : {wrong_with_heads, wrong_with_chip, wrong_with_compression, wrong_with_calculation,
                           wrong_with_quantisation, wrong_with_logn, wrong_with_layout, wrong_with_mla}) {
    if (const char* const reason = wrong(param)) return reason;
  }
  return nullptr;
}

uint32_t num_inputs_of(const Param& param) {
  uint32_t num_inputs = 5;
  if (param.maskType != Param::UNDEFINED) num_inputs += 1;
  if (param.batchRunStatusEnable) num_inputs += 1;
  if (param.quantType == Param::TYPE_DEQUANT_FUSION) num_inputs += param.hasQuantOffset ? 4 : 2;
  if (param.calcType == Param::CALC_TYPE_SPEC) num_inputs += 1;
  if (param.compressType == Param::COMPRESS_TYPE_KVHEAD_ROPE) num_inputs += 1;
  if (param.quantType == Param::TYPE_QUANT_QKV_ONLINE) num_inputs += 2;
  if (param.quantType == Param::TYPE_QUANT_QKV_OFFLINE) num_inputs += 3;
  if (param.scaleType == Param::SCALE_TYPE_LOGN) num_inputs += 1;
  return num_inputs - (param.mlaVHeadSize > 0 ? 1 : 0);
}

bool is_simulated(const Param& param) {
  const bool has_known_values =
      param.maskType >= Param::UNDEFINED && param.maskType <= Param::MASK_TYPE_MASK_FREE &&
      (param.calcType == Param::CALC_TYPE_UNDEFINED || param.calcType == Param::CALC_TYPE_SPEC);
  return has_known_values && chip() == Chip::A2 && param.quantType == Param::TYPE_QUANT_UNQUANT &&
         !param.hasQuantOffset && param.compressType == Param::COMPRESS_TYPE_UNDEFINED &&
         param.scaleType == Param::SCALE_TYPE_TOR && param.inputLayout == atb::infer::TYPE_BSND &&
         param.mlaVHeadSize == 0 && !param.batchRunStatusEnable && (param.qScale == 0.0F || param.qScale == 1.0F);
}

std::vector<Types> types_of(const Param& param) {
  if (!is_simulated(param)) return {};
  std::vector<Types> types;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    Types row = {dtype, dtype, dtype, ACL_INT32, ACL_INT32};
    if (param.maskType != Param::UNDEFINED) row.push_back(dtype);
    if (param.calcType == Param::CALC_TYPE_SPEC) row.push_back(ACL_INT32);
    row.push_back(dtype);
    types.push_back(row);
  }
  return types;
}

}  // namespace ascend_sim::atb_library::paged
