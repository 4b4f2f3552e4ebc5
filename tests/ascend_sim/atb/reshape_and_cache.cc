// SPDX-License-Identifier: Apache-2.0
// ReshapeAndCacheOperation: copies the keys and values of tokens into caches that are made of blocks, in place.
//
// Inputs: key (tokens, heads, head size) and value likewise, with a head size of its own; keyCache and valueCache
// (blocks, block size, heads, head size); and slotMapping, int32 (tokens) on the device. Token t goes to position
// slot % block size of block slot / block size, where slot is slotMapping[t]; a negative slot means that the token is not
// copied. Outputs: the two caches, in the memory of the inputs.
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library {
namespace {

using atb::infer::ReshapeAndCacheParam;

enum Input : size_t { kKey, kValue, kKeyCache, kValueCache, kSlotMapping, kNumInputs };

bool is_simulated(const ReshapeAndCacheParam& param) {
  return chip() == Chip::A2 && param.compressType == ReshapeAndCacheParam::COMPRESS_TYPE_UNDEFINED &&
         param.kvCacheCfg == ReshapeAndCacheParam::K_CACHE_V_CACHE;
}

// Key, value and both caches have one type. Empty for parameters that are not simulated, since Setup refuses those
// anyway.
std::vector<Types> types_of(const ReshapeAndCacheParam& param) {
  if (!is_simulated(param)) return {};
  std::vector<Types> types;
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_INT8, ACL_BF16})
    types.push_back({dtype, dtype, dtype, dtype, ACL_INT32, dtype, dtype});
  return types;
}

uint32_t num_inputs_of(const ReshapeAndCacheParam& param) {
  if (param.kvCacheCfg == ReshapeAndCacheParam::K_CACHE_V_BYPASS) return 3;
  if (param.compressType == ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD) return 7;
  return param.compressType == ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD_ROPE ? 8 : 5;
}

uint32_t num_outputs_of(const ReshapeAndCacheParam& param) {
  return param.kvCacheCfg == ReshapeAndCacheParam::K_CACHE_V_BYPASS ? 1 : 2;
}

// The keys or the values of a call, in bytes.
struct Rows {
  size_t from;
  size_t cache;
  size_t to;
  size_t bytes;
};

class ReshapeAndCache final : public OperationBase {
 public:
  explicit ReshapeAndCache(const ReshapeAndCacheParam& param)
      : OperationBase("ReshapeAndCacheOperation", num_inputs_of(param), num_outputs_of(param), types_of(param)),
        param_(param) {}

 private:
  bool may_share(size_t output, size_t input) const override { return input == output + kKeyCache; }

  Status check_inputs(const Descs& inputs) const override {
    if (!is_simulated(param_)) {
      violation("ReshapeAndCacheOperation with these parameters, or on this chip, is not simulated");
      return refuse(atb::ERROR_INVALID_PARAM, "not simulated");
    }
    const Dims& key = inputs[kKey].shape;
    const Dims& value = inputs[kValue].shape;
    const Dims& key_cache = inputs[kKeyCache].shape;
    const Dims& value_cache = inputs[kValueCache].shape;
    if (key.dimNum != 3 || value.dimNum != 3 || key_cache.dimNum != 4 || value_cache.dimNum != 4 ||
        inputs[kSlotMapping].shape.dimNum != 1)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM,
                    "key or value is not 3-D, a cache not 4-D, or slotMapping not 1-D");
    if (key.dims[0] != value.dims[0] || key.dims[1] != value.dims[1])
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "key has the shape " + text_of(key) + ", value " + text_of(value));
    if (key_cache.dims[0] != value_cache.dims[0] || key_cache.dims[1] != value_cache.dims[1])
      return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                    "keyCache has the shape " + text_of(key_cache) + ", valueCache " + text_of(value_cache));
    for (const auto& [rows, cache] : {std::pair(&key, &key_cache), std::pair(&value, &value_cache)}) {
      if (rows->dims[1] != cache->dims[2] || rows->dims[2] != cache->dims[3])
        return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                      "heads of " + text_of(*rows) + " for a cache of " + text_of(*cache));
    }
    return atb::NO_ERROR;
  }

  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    for (size_t i = 0; i < 2; ++i) {
      if (!same_shape(inputs[kKeyCache + i].shape, outputs[i].shape))
        return refuse(atb::ERROR_INVALID_TENSOR_DIM, "an output has another shape than its cache");
    }
    return atb::NO_ERROR;
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    for (size_t i = 0; i < 2; ++i) outputs[i] = inputs[kKeyCache + i];
    return atb::NO_ERROR;
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const Dims& key = pack.inTensors[kKey].desc.shape;
    const Dims& value = pack.inTensors[kValue].desc.shape;
    const Dims& cache = pack.inTensors[kKeyCache].desc.shape;
    const int64_t tokens = key.dims[0];
    // The kernel's own check.
    if (pack.inTensors[kSlotMapping].desc.shape.dims[0] != tokens)
      return refuse(atb::ERROR_RT_FAIL, "slotMapping has another number of tokens than key");
    const size_t element = aclDataTypeSize(pack.inTensors[kKey].desc.dtype);
    const Rows keys = {kKey, kKeyCache, kNumInputs, product(key, 1, 3) * element};
    const Rows values = {kValue, kValueCache, kNumInputs + 1, product(value, 1, 3) * element};
    // Only copies.
    plan.saturates = false;
    plan.kernel = [keys, values, tokens, num_slots = cache.dims[0] * cache.dims[1]](Addresses addresses) {
      run(keys, values, static_cast<size_t>(tokens), num_slots, addresses);
      return 0;
    };
    return atb::NO_ERROR;
  }

  // What hardware does not check is reported. A token of such a slot is not copied.
  static void run(const Rows& keys, const Rows& values, size_t tokens, int64_t num_slots, Addresses addresses) {
    const auto report = [](const std::string& reason) {
      violation("ReshapeAndCacheOperation: " + reason + " (hardware does not check it)");
    };
    for (const Rows& rows : {keys, values}) {
      if (addresses[rows.to] != addresses[rows.cache])
        report("an output is not the memory of its cache, so it has only the rows of this call");
    }
    const auto* const slots = static_cast<const int32_t*>(addresses[kSlotMapping]);
    std::unordered_map<int32_t, size_t> tokens_of_slots;
    for (size_t token = 0; token < tokens; ++token) {
      const int32_t slot = slots[token];
      if (slot < 0) continue;
      const std::string text = "slot " + std::to_string(slot);
      if (slot >= num_slots) {
        report("token " + std::to_string(token) + " has " + text + ", but the caches have " +
               std::to_string(num_slots) + " slots");
        continue;
      }
      const auto [earlier, is_new] = tokens_of_slots.emplace(slot, token);
      if (!is_new) {
        report("tokens " + std::to_string(earlier->second) + " and " + std::to_string(token) + " both have " + text);
        continue;
      }
      for (const Rows& rows : {keys, values}) {
        std::memcpy(static_cast<std::byte*>(addresses[rows.to]) + static_cast<size_t>(slot) * rows.bytes,
                    static_cast<const std::byte*>(addresses[rows.from]) + token * rows.bytes, rows.bytes);
      }
    }
  }

  const ReshapeAndCacheParam param_;
};

Status check(const ReshapeAndCacheParam& param) {
  using Param = ReshapeAndCacheParam;
  const auto refuse = [](const std::string& reason) {
    return atb_library::refuse(atb::ERROR_INVALID_PARAM, "ReshapeAndCacheOperation", reason);
  };
  if (has_reserved_bytes(param)) return refuse("a byte of rsv is not 0");
  const bool is_compressed = param.compressType != Param::COMPRESS_TYPE_UNDEFINED;
  if (chip() != Chip::A2) {
    if (is_compressed) return refuse("compressType on this chip");
    if (param.kvCacheCfg == Param::K_CACHE_V_BYPASS) return refuse("K_CACHE_V_BYPASS on this chip");
  }
  if (param.compressType < Param::COMPRESS_TYPE_UNDEFINED || param.compressType > Param::COMPRESS_TYPE_KVHEAD_ROPE)
    return refuse("compressType is out of range");
  if (param.kvCacheCfg < Param::K_CACHE_V_CACHE || param.kvCacheCfg > Param::K_CACHE_V_CACHE_NZ)
    return refuse("kvCacheCfg is out of range");
  if (is_compressed && param.kvCacheCfg != Param::K_CACHE_V_CACHE)
    return refuse("compressType without K_CACHE_V_CACHE");
  return atb::NO_ERROR;
}

}  // namespace
}  // namespace ascend_sim::atb_library

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::ReshapeAndCacheParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "ReshapeAndCacheOperation", [&] { return check(param); }, [&] { return new ReshapeAndCache(param); });
}

}  // namespace atb
