// SPDX-License-Identifier: Apache-2.0
// ReshapeAndCacheOperation: where it puts keys and values, and what it refuses or reports.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::ReshapeAndCacheParam;
using Floats = std::vector<float>;
using Slots = std::vector<int32_t>;

class ReshapeAndCacheTest : public AtbTest {
 protected:
  // Three tokens of two heads, with 4 elements in keys and 2 in values, for caches of two blocks of 16 positions.
  struct Descs {
    aclDataType dtype = ACL_FLOAT16;
    std::vector<int64_t> key = {3, 2, 4};
    std::vector<int64_t> value = {3, 2, 2};
    std::vector<int64_t> key_cache = {2, 16, 2, 4};
    std::vector<int64_t> value_cache = {2, 16, 2, 2};
    std::vector<int64_t> slots = {3};
    // Empty if they are those of the caches.
    std::vector<int64_t> out_key_cache;
    std::vector<int64_t> out_value_cache;
    atb::VariantPack pack() const {
      const auto& keys = out_key_cache.empty() ? key_cache : out_key_cache;
      const auto& values = out_value_cache.empty() ? value_cache : out_value_cache;
      return pack_of_descs({desc_of(dtype, key), desc_of(dtype, value), desc_of(dtype, key_cache),
                            desc_of(dtype, value_cache), desc_of(ACL_INT32, slots)},
                           {desc_of(dtype, keys), desc_of(dtype, values)});
    }
  };

  // The tensors of a call, with the caches as outputs too.
  struct Call {
    explicit Call(aclDataType type = ACL_FLOAT16) : dtype(type) {}
    aclDataType dtype;
    DeviceTensor key{desc_of(dtype, {3, 2, 4})}, value{desc_of(dtype, {3, 2, 2})};
    DeviceTensor key_cache{desc_of(dtype, {2, 16, 2, 4})}, value_cache{desc_of(dtype, {2, 16, 2, 2})};
    DeviceTensor slots{desc_of(ACL_INT32, {3})};
    atb::VariantPack pack() const {
      return pack_of({&key, &value, &key_cache, &value_cache, &slots}, {&key_cache, &value_cache});
    }
  };

  atb::Status setup_of(const ReshapeAndCacheParam& param, const atb::VariantPack& pack) {
    atb::Operation* const operation = create(param);
    const atb::Status code = set_up(operation, pack);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }

  static atb::Status creation_of(const ReshapeAndCacheParam& param) {
    atb::Operation* operation = nullptr;
    const atb::Status code = atb::CreateOperation(param, &operation);
    EXPECT_EQ(operation != nullptr, code == atb::NO_ERROR);
    atb::DestroyOperation(operation);
    return code;
  }
};

Floats counted(size_t count, float first) {
  Floats numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = first + static_cast<float>(i);
  return numbers;
}

// ---- where rows go --------------------------------------------------------------------------------------------------

TEST_F(ReshapeAndCacheTest, ATokenGoesToItsSlotAndOtherSlotsKeepTheirContents) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    Call call(dtype);
    const Floats keys = counted(24, 1);
    const Floats values = counted(12, 101);
    Floats key_cache(256, 7), value_cache(128, 8);
    call.key.write_floats(keys);
    call.value.write_floats(values);
    call.key_cache.write_floats(key_cache);
    call.value_cache.write_floats(value_cache);
    // Position 2 of block 1, the last position of block 0, and the first one.
    const Slots slots = {18, 15, 0};
    call.slots.write(slots);
    run(ReshapeAndCacheParam(), call.pack());
    for (size_t token = 0; token < 3; ++token) {
      const auto slot = static_cast<size_t>(slots[token]);
      for (size_t i = 0; i < 8; ++i) key_cache[slot * 8 + i] = keys[token * 8 + i];
      for (size_t i = 0; i < 4; ++i) value_cache[slot * 4 + i] = values[token * 4 + i];
    }
    EXPECT_EQ(call.key_cache.read_floats(), key_cache);
    EXPECT_EQ(call.value_cache.read_floats(), value_cache);
  }
}

TEST_F(ReshapeAndCacheTest, BytesAreCopiedToo) {
  DeviceTensor key(desc_of(ACL_INT8, {1, 1, 3})), value(desc_of(ACL_INT8, {1, 1, 1}));
  DeviceTensor key_cache(desc_of(ACL_INT8, {1, 2, 1, 3})), value_cache(desc_of(ACL_INT8, {1, 2, 1, 1}));
  DeviceTensor slots(desc_of(ACL_INT32, {1}));
  key.write(std::vector<int8_t>{1, 2, 3});
  value.write(std::vector<int8_t>{-4});
  key_cache.write(std::vector<int8_t>(6, 9));
  value_cache.write(std::vector<int8_t>(2, 9));
  slots.write(Slots{1});
  run(ReshapeAndCacheParam(), pack_of({&key, &value, &key_cache, &value_cache, &slots}, {&key_cache, &value_cache}));
  EXPECT_EQ(key_cache.read<int8_t>(), (std::vector<int8_t>{9, 9, 9, 1, 2, 3}));
  EXPECT_EQ(value_cache.read<int8_t>(), (std::vector<int8_t>{9, -4}));
}

TEST_F(ReshapeAndCacheTest, ATokenWithANegativeSlotIsNotCopied) {
  Call call;
  call.key.write_floats(counted(24, 1));
  call.value.write_floats(counted(12, 101));
  call.key_cache.write_floats(Floats(256, 7));
  call.value_cache.write_floats(Floats(128, 8));
  // Two tokens may have the same negative slot.
  call.slots.write(Slots{-1, 31, -1});
  run(ReshapeAndCacheParam(), call.pack());
  Floats key_cache(256, 7), value_cache(128, 8);
  for (size_t i = 0; i < 8; ++i) key_cache[248 + i] = static_cast<float>(9 + i);
  for (size_t i = 0; i < 4; ++i) value_cache[124 + i] = static_cast<float>(105 + i);
  EXPECT_EQ(call.key_cache.read_floats(), key_cache);
  EXPECT_EQ(call.value_cache.read_floats(), value_cache);
}

// A copy does not clamp: neither the rows nor what the caches held before.
TEST_F(ReshapeAndCacheTest, SaturationModeChangesNothing) {
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(context_->SetExecuteStream(stream), atb::NO_ERROR);
  Call call;
  call.key.write_floats(Floats(24, std::numeric_limits<float>::infinity()));
  call.value.write_floats(Floats(12, 1));
  call.slots.write(Slots{0, -1, -1});
  run(ReshapeAndCacheParam(), call.pack());
  const Floats key_cache = call.key_cache.read_floats();
  EXPECT_EQ(key_cache[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(key_cache[8]));
  ASSERT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// ---- what hardware does not check -----------------------------------------------------------------------------------

TEST_F(ReshapeAndCacheTest, ASlotBeyondTheCachesIsAViolation) {
  Call call;
  call.key.write_floats(counted(24, 1));
  call.value.write_floats(counted(12, 101));
  call.key_cache.write_floats(Floats(256, 7));
  call.value_cache.write_floats(Floats(128, 8));
  call.slots.write(Slots{-1, 32, -1});
  run(ReshapeAndCacheParam(), call.pack());
  expect_violation("token 1 has slot 32, but the caches have 32 slots");
  EXPECT_EQ(call.key_cache.read_floats(), Floats(256, 7));
  EXPECT_EQ(call.value_cache.read_floats(), Floats(128, 8));
}

TEST_F(ReshapeAndCacheTest, TwoTokensWithOneSlotAreAViolation) {
  Call call;
  call.key.write_floats(counted(24, 1));
  call.value.write_floats(counted(12, 101));
  call.slots.write(Slots{5, 6, 5});
  run(ReshapeAndCacheParam(), call.pack());
  EXPECT_EQ(ascend_sim_count("violations"), 1U);
  expect_violation("tokens 0 and 2 both have slot 5");
}

TEST_F(ReshapeAndCacheTest, OutputsInOtherMemoryThanTheirCachesAreAViolation) {
  Call call;
  DeviceTensor elsewhere(desc_of(ACL_FLOAT16, {2, 16, 2, 4}));
  call.key.write_floats(counted(24, 1));
  call.value.write_floats(counted(12, 101));
  call.key_cache.write_floats(Floats(256, 7));
  call.slots.write(Slots{0, 1, 2});
  atb::VariantPack pack = call.pack();
  pack.outTensors[0] = elsewhere.tensor();
  run(ReshapeAndCacheParam(), pack);
  expect_violation("an output is not the memory of its cache");
  EXPECT_EQ(elsewhere.read_floats()[0], 1);
  EXPECT_TRUE(std::isnan(elsewhere.read_floats()[255]));
  EXPECT_EQ(call.key_cache.read_floats(), Floats(256, 7));
}

TEST_F(ReshapeAndCacheTest, AnOutputMustNotOverlapAnInputOtherThanItsCache) {
  const atb::TensorDesc rows = desc_of(ACL_FLOAT16, {2, 1, 4});
  const atb::TensorDesc cache = desc_of(ACL_FLOAT16, {1, 2, 1, 4});
  DeviceTensor key(rows), value(rows), value_cache(cache), slots(desc_of(ACL_INT32, {2}));
  slots.write(Slots{-1, -1});
  atb::VariantPack pack = pack_of({&key, &value, &key, &value_cache, &slots}, {&key, &value_cache});
  pack.inTensors[2].desc = pack.outTensors[0].desc = cache;
  run(ReshapeAndCacheParam(), pack);
  expect_violation("an output overlaps an input");
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST_F(ReshapeAndCacheTest, ParametersThatDoNotGoTogetherAreRefused) {
  const auto code = [](const std::function<void(ReshapeAndCacheParam&)>& change) {
    ReshapeAndCacheParam param;
    change(param);
    return creation_of(param);
  };
  EXPECT_EQ(code([](ReshapeAndCacheParam&) {}), atb::NO_ERROR);
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.rsv[15] = 1; }), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.compressType = static_cast<ReshapeAndCacheParam::CompressType>(3); }),
            atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.kvCacheCfg = static_cast<ReshapeAndCacheParam::KvCacheCfg>(3); }),
            atb::ERROR_INVALID_PARAM);
  for (const ReshapeAndCacheParam::KvCacheCfg cfg :
       {ReshapeAndCacheParam::K_CACHE_V_BYPASS, ReshapeAndCacheParam::K_CACHE_V_CACHE_NZ}) {
    EXPECT_EQ(code([cfg](ReshapeAndCacheParam& p) { p.kvCacheCfg = cfg; }), atb::NO_ERROR);
    EXPECT_EQ(code([cfg](ReshapeAndCacheParam& p) {
                p.kvCacheCfg = cfg, p.compressType = ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD;
              }),
              atb::ERROR_INVALID_PARAM);
  }
  ascend_sim_set_faults("soc=Ascend310P3");
  EXPECT_EQ(code([](ReshapeAndCacheParam&) {}), atb::NO_ERROR);
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.compressType = ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD; }),
            atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.kvCacheCfg = ReshapeAndCacheParam::K_CACHE_V_BYPASS; }),
            atb::ERROR_INVALID_PARAM);
}

TEST_F(ReshapeAndCacheTest, TheNumbersOfTensorsFollowFromTheParameter) {
  const auto expect_nums = [](uint32_t inputs, uint32_t outputs,
                              const std::function<void(ReshapeAndCacheParam&)>& change) {
    ReshapeAndCacheParam param;
    change(param);
    atb::Operation* const operation = create(param);
    EXPECT_EQ(operation->GetName(), "ReshapeAndCacheOperation");
    EXPECT_EQ(operation->GetInputNum(), inputs);
    EXPECT_EQ(operation->GetOutputNum(), outputs);
    atb::DestroyOperation(operation);
  };
  expect_nums(5, 2, [](ReshapeAndCacheParam&) {});
  expect_nums(5, 2, [](ReshapeAndCacheParam& p) { p.kvCacheCfg = ReshapeAndCacheParam::K_CACHE_V_CACHE_NZ; });
  expect_nums(3, 1, [](ReshapeAndCacheParam& p) { p.kvCacheCfg = ReshapeAndCacheParam::K_CACHE_V_BYPASS; });
  expect_nums(7, 2, [](ReshapeAndCacheParam& p) { p.compressType = ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD; });
  expect_nums(8, 2, [](ReshapeAndCacheParam& p) { p.compressType = ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD_ROPE; });
}

TEST_F(ReshapeAndCacheTest, ModesThatAreNotSimulatedAreRefusedBySetup) {
  const auto code = [&](const std::function<void(ReshapeAndCacheParam&)>& change, size_t num_inputs,
                        size_t num_outputs) {
    ReshapeAndCacheParam param;
    change(param);
    atb::VariantPack pack;
    atb::Tensor tensor;
    tensor.desc = desc_of(ACL_FLOAT16, {1, 1, 1, 1});
    for (size_t i = 0; i < num_inputs; ++i) pack.inTensors.push_back(tensor);
    for (size_t i = 0; i < num_outputs; ++i) pack.outTensors.push_back(tensor);
    return setup_of(param, pack);
  };
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.kvCacheCfg = ReshapeAndCacheParam::K_CACHE_V_BYPASS; }, 3, 1),
            atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.kvCacheCfg = ReshapeAndCacheParam::K_CACHE_V_CACHE_NZ; }, 5, 2),
            atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
  EXPECT_EQ(code([](ReshapeAndCacheParam& p) { p.compressType = ReshapeAndCacheParam::COMPRESS_TYPE_KVHEAD; }, 7, 2),
            atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
  ascend_sim_set_faults("soc=Ascend310P3");
  EXPECT_EQ(code([](ReshapeAndCacheParam&) {}, 5, 2), atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
}

TEST_F(ReshapeAndCacheTest, SetupChecksShapes) {
  const auto code = [&](const std::function<void(Descs&)>& change) {
    Descs descs;
    change(descs);
    return setup_of(ReshapeAndCacheParam(), descs.pack());
  };
  EXPECT_EQ(code([](Descs&) {}), atb::NO_ERROR);
  EXPECT_EQ(code([](Descs& d) { d.key = {3, 8}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Descs& d) { d.value = {3, 4}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Descs& d) { d.key_cache = {2, 16, 8}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Descs& d) { d.value_cache = {2, 16, 4}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Descs& d) { d.slots = {3, 1}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Descs& d) { d.value = {2, 2, 2}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.value = {3, 1, 2}, d.value_cache = {2, 16, 1, 2}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.value_cache = {3, 16, 2, 2}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.value_cache = {2, 32, 2, 2}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.key_cache = {2, 16, 1, 4}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.value_cache = {2, 16, 1, 2}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.key_cache = {2, 16, 2, 2}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.value_cache = {2, 16, 2, 4}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.out_key_cache = {1, 16, 2, 4}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Descs& d) { d.out_value_cache = {2, 16, 4}; }), atb::ERROR_INVALID_TENSOR_DIM);
  // The kernel's own check.
  EXPECT_EQ(code([](Descs& d) { d.slots = {2}; }), atb::ERROR_RT_FAIL);
}

TEST_F(ReshapeAndCacheTest, TypesGoTogether) {
  const auto code = [&](const std::function<void(atb::VariantPack&)>& change) {
    atb::VariantPack pack = Descs().pack();
    change(pack);
    return setup_of(ReshapeAndCacheParam(), pack);
  };
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(code([i](atb::VariantPack& p) { p.inTensors[i].desc.dtype = ACL_BF16; }),
              atb::ERROR_INVALID_TENSOR_INI_MATCH);
  }
  EXPECT_EQ(code([](atb::VariantPack& p) { p.inTensors[4].desc.dtype = ACL_INT64; }),
            atb::ERROR_INVALID_TENSOR_INI_MATCH);
  Descs floats;
  floats.dtype = ACL_FLOAT;
  EXPECT_EQ(setup_of(ReshapeAndCacheParam(), floats.pack()), atb::ERROR_INVALID_TENSOR_INI_MATCH);
  Descs bytes;
  bytes.dtype = ACL_INT8;
  EXPECT_EQ(setup_of(ReshapeAndCacheParam(), bytes.pack()), atb::NO_ERROR);
}

TEST_F(ReshapeAndCacheTest, InferShapeGivesTheCaches) {
  atb::Operation* const operation = create(ReshapeAndCacheParam());
  atb::SVector<atb::TensorDesc> inputs, outputs;
  const atb::VariantPack pack = Descs().pack();
  for (const atb::Tensor& tensor : pack.inTensors) inputs.push_back(tensor.desc);
  ASSERT_EQ(operation->InferShape(inputs, outputs), atb::NO_ERROR);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].shape.dims[3], 4);
  EXPECT_EQ(outputs[1].shape.dims[3], 2);
  EXPECT_EQ(outputs[1].dtype, ACL_FLOAT16);
  // Only the kernel checks the number of slots.
  inputs[4].shape.dims[0] = 2;
  EXPECT_EQ(operation->InferShape(inputs, outputs), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

}  // namespace
}  // namespace ascend_sim
