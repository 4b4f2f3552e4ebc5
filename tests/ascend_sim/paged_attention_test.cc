// SPDX-License-Identifier: Apache-2.0
// PagedAttentionOperation: what CreateOperation, Setup and Execute refuse.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/paged_attention.h"

namespace ascend_sim {
namespace {

// ---- CreateOperation ------------------------------------------------------------------------------------------------

using PagedCreateTest = AtbTest;

atb::Status creation_of(const PagedParam& param) {
  atb::Operation* operation = nullptr;
  const atb::Status code = atb::CreateOperation(param, &operation);
  EXPECT_EQ(operation != nullptr, code == atb::NO_ERROR);
  atb::DestroyOperation(operation);
  return code;
}

TEST_F(PagedCreateTest, ParametersThatDoNotGoTogetherAreRefused) {
  const auto refuses = [](const std::function<void(PagedParam&)>& change, const PagedParam& param = decoding()) {
    return creation_of(changed(param, change)) == atb::ERROR_INVALID_PARAM;
  };
  EXPECT_TRUE(refuses([](PagedParam& p) { p.rsv[63] = 1; }));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.headNum = 0; }));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.kvHeadNum = -1; }));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.headNum = 4, p.kvHeadNum = 3; }));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.maskType = PagedParam::MASK_TYPE_NORM_COMPRESS; }));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.compressType = PagedParam::COMPRESS_TYPE_MAX; }));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.scaleType = PagedParam::SCALE_TYPE_MAX; }));
  const auto razor = [](PagedParam& p) { p.compressType = PagedParam::COMPRESS_TYPE_KVHEAD_ROPE; };
  EXPECT_FALSE(refuses(razor));
  EXPECT_TRUE(refuses(razor, decoding(PagedParam::MASK_TYPE_NORM)));
  EXPECT_TRUE(refuses(razor, changed(decoding(), [](PagedParam& p) { p.batchRunStatusEnable = true; })));

  EXPECT_TRUE(refuses([](PagedParam&) {}, spec(PagedParam::UNDEFINED)));
  EXPECT_TRUE(refuses([](PagedParam&) {}, spec(PagedParam::MASK_TYPE_ALIBI)));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.batchRunStatusEnable = true; }, spec(PagedParam::MASK_TYPE_NORM)));
  const auto compressed = [](PagedParam& p) { p.compressType = PagedParam::COMPRESS_TYPE_KVHEAD; };
  EXPECT_FALSE(refuses(compressed, decoding(PagedParam::MASK_TYPE_NORM)));
  EXPECT_TRUE(refuses(compressed, spec(PagedParam::MASK_TYPE_NORM)));
  EXPECT_TRUE(
      refuses([](PagedParam& p) { p.quantType = PagedParam::TYPE_DEQUANT_FUSION; }, spec(PagedParam::MASK_TYPE_NORM)));
  EXPECT_TRUE(
      refuses([](PagedParam& p) { p.scaleType = PagedParam::SCALE_TYPE_LOGN; }, spec(PagedParam::MASK_TYPE_NORM)));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.inputLayout = atb::infer::TYPE_BNSD; }, spec(PagedParam::MASK_TYPE_NORM)));

  const auto quantised = [](PagedParam& p) {
    p.quantType = PagedParam::TYPE_QUANT_QKV_ONLINE, p.outDataType = ACL_BF16;
  };
  const PagedParam with_quantisation = changed(decoding(), quantised);
  EXPECT_FALSE(refuses([](PagedParam&) {}, with_quantisation));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.outDataType = ACL_DT_UNDEFINED; }, with_quantisation));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.hasQuantOffset = true; }, with_quantisation));
  EXPECT_TRUE(refuses(compressed, with_quantisation));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.scaleType = PagedParam::SCALE_TYPE_LOGN; }, with_quantisation));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.inputLayout = atb::infer::TYPE_BNSD; }, with_quantisation));
  EXPECT_TRUE(refuses(quantised, spec(PagedParam::MASK_TYPE_NORM)));

  const PagedParam logn = changed(decoding(), [](PagedParam& p) { p.scaleType = PagedParam::SCALE_TYPE_LOGN; });
  EXPECT_FALSE(refuses([](PagedParam&) {}, logn));
  EXPECT_TRUE(refuses(compressed, logn));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.inputLayout = atb::infer::TYPE_BNSD; }, logn));
  EXPECT_TRUE(refuses(
      [](PagedParam& p) { p.inputLayout = atb::infer::TYPE_BNSD, p.compressType = PagedParam::COMPRESS_TYPE_KVHEAD; }));

  const PagedParam mla = changed(decoding(), [](PagedParam& p) { p.mlaVHeadSize = 576, p.kvHeadNum = 1; });
  EXPECT_FALSE(refuses([](PagedParam&) {}, mla));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.mlaVHeadSize = 577; }, mla));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.kvHeadNum = 0; }, mla));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.maskType = PagedParam::MASK_TYPE_ALIBI; }, mla));
  EXPECT_TRUE(refuses(compressed, mla));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.quantType = PagedParam::TYPE_DEQUANT_FUSION; }, mla));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.scaleType = PagedParam::SCALE_TYPE_LOGN; }, mla));
  EXPECT_TRUE(refuses([](PagedParam& p) { p.inputLayout = atb::infer::TYPE_BNSD; }, mla));
  const auto with_norm = [](PagedParam& p) {
    p.calcType = PagedParam::CALC_TYPE_SPEC, p.maskType = PagedParam::MASK_TYPE_NORM;
  };
  EXPECT_TRUE(refuses(with_norm, mla));
  EXPECT_FALSE(refuses([](PagedParam& p) { p.calcType = PagedParam::CALC_TYPE_SPEC; }, mla));
}

TEST_F(PagedCreateTest, OtherChipsAcceptLess) {
  const PagedParam batched = changed(decoding(), [](PagedParam& p) { p.batchRunStatusEnable = true; });
  const PagedParam compressed =
      changed(decoding(), [](PagedParam& p) { p.compressType = PagedParam::COMPRESS_TYPE_KVHEAD; });
  const PagedParam mla = changed(decoding(), [](PagedParam& p) { p.mlaVHeadSize = 16, p.kvHeadNum = 1; });
  const PagedParam dequantised =
      changed(decoding(), [](PagedParam& p) { p.quantType = PagedParam::TYPE_DEQUANT_FUSION; });
  const PagedParam of_a2[] = {batched, compressed, mla, dequantised, spec(PagedParam::MASK_TYPE_NORM)};
  for (const PagedParam& param : of_a2) EXPECT_EQ(creation_of(param), atb::NO_ERROR);
  ascend_sim_set_faults("soc=Ascend310P3");
  for (const PagedParam& param : of_a2) EXPECT_EQ(creation_of(param), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(creation_of(spec(PagedParam::UNDEFINED)), atb::NO_ERROR);
  EXPECT_EQ(creation_of(decoding(PagedParam::MASK_TYPE_NORM_COMPRESS)), atb::NO_ERROR);
  ascend_sim_set_faults("soc=Ascend910A");
  EXPECT_EQ(creation_of(decoding()), atb::NO_ERROR);
  EXPECT_EQ(creation_of(spec(PagedParam::UNDEFINED)), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(creation_of(decoding(PagedParam::MASK_TYPE_SPEC)), atb::ERROR_INVALID_PARAM);
}

// Parameters, the number of inputs that they ask for, and whether they are simulated.
struct Mode {
  PagedParam param;
  uint32_t num_inputs;
  bool is_simulated;
};

std::vector<Mode> modes() {
  const auto with = [](const std::function<void(PagedParam&)>& change) { return changed(decoding(), change); };
  return {
      {decoding(), 5, true},
      {decoding(PagedParam::MASK_TYPE_NORM), 6, true},
      {decoding(PagedParam::MASK_TYPE_ALIBI), 6, true},
      {decoding(PagedParam::MASK_TYPE_SPEC), 6, true},
      {spec(PagedParam::MASK_TYPE_NORM), 7, true},
      {spec(PagedParam::MASK_TYPE_SPEC), 7, true},
      {with([](PagedParam& p) { p.qScale = 1; }), 5, true},
      {with([](PagedParam& p) { p.qScale = 0.5F; }), 5, false},
      {with([](PagedParam& p) { p.batchRunStatusEnable = true; }), 6, false},
      {with([](PagedParam& p) { p.quantType = PagedParam::TYPE_DEQUANT_FUSION; }), 7, false},
      {with([](PagedParam& p) { p.quantType = PagedParam::TYPE_DEQUANT_FUSION, p.hasQuantOffset = true; }), 9, false},
      {with([](PagedParam& p) { p.quantType = PagedParam::TYPE_QUANT_QKV_ONLINE, p.outDataType = ACL_BF16; }), 7,
       false},
      {with([](PagedParam& p) { p.quantType = PagedParam::TYPE_QUANT_QKV_OFFLINE, p.outDataType = ACL_BF16; }), 8,
       false},
      {with([](PagedParam& p) { p.hasQuantOffset = true; }), 5, false},
      {with([](PagedParam& p) { p.compressType = PagedParam::COMPRESS_TYPE_KVHEAD; }), 5, false},
      {with([](PagedParam& p) { p.compressType = PagedParam::COMPRESS_TYPE_KVHEAD_ROPE; }), 6, false},
      {with([](PagedParam& p) { p.scaleType = PagedParam::SCALE_TYPE_LOGN; }), 6, false},
      {with([](PagedParam& p) { p.inputLayout = atb::infer::TYPE_BNSD; }), 5, false},
      {with([](PagedParam& p) { p.mlaVHeadSize = 16, p.kvHeadNum = 1; }), 4, false},
  };
}

TEST_F(PagedCreateTest, TheNumberOfInputsFollowsFromTheParameter) {
  for (const Mode& mode : modes()) {
    atb::Operation* const operation = create(mode.param);
    EXPECT_EQ(operation->GetName(), "PagedAttentionOperation");
    EXPECT_EQ(operation->GetInputNum(), mode.num_inputs);
    EXPECT_EQ(operation->GetOutputNum(), 1U);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  }
}

TEST_F(PagedCreateTest, ModesThatAreNotSimulatedAreRefusedBySetup) {
  const auto expect_refusal = [this](const Mode& mode) {
    atb::Operation* const operation = create(mode.param);
    atb::VariantPack pack;
    atb::Tensor tensor;
    tensor.desc = desc_of(ACL_FLOAT16, {1, 16, 1, 16});
    for (uint32_t i = 0; i < mode.num_inputs; ++i) pack.inTensors.push_back(tensor);
    pack.outTensors.push_back(tensor);
    EXPECT_EQ(set_up(operation, pack), atb::ERROR_INVALID_PARAM);
    expect_violation("is not simulated");
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
  };
  for (const Mode& mode : modes()) {
    if (!mode.is_simulated) expect_refusal(mode);
  }
  ascend_sim_set_faults("soc=Ascend310P3");
  expect_refusal({decoding(), 5, false});
}

// ---- Setup ----------------------------------------------------------------------------------------------------------

// Shapes and lengths of a correct call: two sequences of 20 and 5 keys. Each test changes one of them.
struct Call {
  PagedParam param = changed(decoding(), [](PagedParam& p) { p.headNum = 4, p.kvHeadNum = 2; });
  aclDataType dtype = ACL_BF16;
  std::vector<int64_t> query = {2, 4, 16};
  std::vector<int64_t> key_cache = {3, 16, 2, 16};
  std::vector<int64_t> value_cache = {3, 16, 2, 16};
  std::vector<int64_t> tables = {2, 2};
  std::vector<int64_t> keys_shape = {2};
  Lengths keys = {20, 5};
  Lengths tokens;
  std::vector<int64_t> mask;
  std::vector<int64_t> output = {2, 4, 16};
  bool has_keys = true;
  bool has_tokens = true;
};

class PagedSetupTest : public AtbTest {
 protected:
  static Call call(PagedParam::MaskType type = PagedParam::UNDEFINED, std::vector<int64_t> mask = {}) {
    Call call;
    call.param.maskType = type;
    call.mask = std::move(mask);
    return call;
  }

  // Sequences of 3 and 2 tokens.
  static Call call_of_several(PagedParam::MaskType type, std::vector<int64_t> mask) {
    Call several = call(type, std::move(mask));
    several.param.calcType = PagedParam::CALC_TYPE_SPEC;
    several.tokens = {3, 2};
    several.query = several.output = {5, 4, 16};
    return several;
  }

  static atb::VariantPack pack_for(Call& call) {
    atb::VariantPack pack = pack_of_descs({desc_of(call.dtype, call.query), desc_of(call.dtype, call.key_cache),
                                           desc_of(call.dtype, call.value_cache), desc_of(ACL_INT32, call.tables)},
                                          {desc_of(call.dtype, call.output)});
    atb::Tensor keys = on_host(call.keys);
    keys.desc = desc_of(ACL_INT32, call.keys_shape);
    if (!call.has_keys) keys.hostData = nullptr;
    pack.inTensors.push_back(keys);
    if (call.param.maskType != PagedParam::UNDEFINED) {
      atb::Tensor mask;
      mask.desc = desc_of(call.dtype, call.mask);
      pack.inTensors.push_back(mask);
    }
    if (call.param.calcType == PagedParam::CALC_TYPE_SPEC) {
      pack.inTensors.push_back(on_host(call.tokens));
      if (!call.has_tokens) pack.inTensors[pack.inTensors.size() - 1].hostData = nullptr;
    }
    return pack;
  }

  atb::Status setup_of(Call call, const std::function<void(Call&)>& change = nullptr) {
    if (change) change(call);
    atb::Operation* const operation = create(call.param);
    const atb::Status code = set_up(operation, pack_for(call));
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }
};

TEST_F(PagedSetupTest, ACorrectCallIsAccepted) {
  EXPECT_EQ(setup_of(call()), atb::NO_ERROR);
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.value_cache = {3, 16, 2, 24}, c.output = {2, 4, 24}; }), atb::NO_ERROR);
  EXPECT_EQ(setup_of(call_of_several(PagedParam::MASK_TYPE_NORM, {20, 20})), atb::NO_ERROR);
  // A sequence without keys has no token.
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.keys = {0, 5}, c.query = c.output = {1, 4, 16}; }), atb::NO_ERROR);
}

TEST_F(PagedSetupTest, RanksAreCheckedFirst) {
  const auto code = [this](const std::function<void(Call&)>& change) { return setup_of(call(), change); };
  EXPECT_EQ(code([](Call& c) { c.query = {2, 64}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Call& c) { c.key_cache = {3, 16, 32}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Call& c) { c.value_cache = {3, 16, 32}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Call& c) { c.tables = {4}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
  EXPECT_EQ(code([](Call& c) { c.keys_shape = {1, 2}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
}

TEST_F(PagedSetupTest, DimensionsAreCheckedAfterRanks) {
  const auto code = [this](const std::function<void(Call&)>& change) { return setup_of(call(), change); };
  EXPECT_EQ(code([](Call& c) { c.value_cache = {2, 16, 2, 16}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Call& c) { c.value_cache = {3, 32, 2, 16}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Call& c) { c.value_cache = {3, 16, 1, 16}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Call& c) { c.query = {2, 4, 8}; }), atb::ERROR_INVALID_TENSOR_DIM);
  const auto heads = [](int64_t of_keys, int64_t of_values, int64_t block_size) {
    return [=](Call& c) {
      c.query = {2, 4, of_keys}, c.output = {2, 4, of_values};
      c.key_cache = {3, block_size, 2, of_keys}, c.value_cache = {3, block_size, 2, of_values};
    };
  };
  EXPECT_EQ(code(heads(576, 576, 128)), atb::NO_ERROR);
  EXPECT_EQ(code(heads(577, 16, 16)), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code(heads(16, 577, 16)), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code(heads(257, 257, 144)), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Call& c) { c.output = {2, 4, 8}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Call& c) { c.output = {2, 2, 16}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code([](Call& c) { c.output = {3, 4, 16}; }), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code([](Call& c) { c.output = {2, 64}; }), atb::ERROR_RT_FAIL);
  EXPECT_EQ(setup_of(call(PagedParam::MASK_TYPE_MASK_FREE, {1, 20})), atb::ERROR_INVALID_TENSOR_DIM);
}

TEST_F(PagedSetupTest, SeveralTokensWantSmallerHeadsAndBlocks) {
  const auto code = [this](int64_t of_keys, int64_t of_values, int64_t block_size) {
    return setup_of(call_of_several(PagedParam::MASK_TYPE_NORM, {3, 20}), [=](Call& c) {
      c.query = {5, 4, of_keys}, c.output = {5, 4, of_values};
      c.key_cache = {3, block_size, 2, of_keys}, c.value_cache = {3, block_size, 2, of_values};
    });
  };
  EXPECT_EQ(code(256, 256, 64), atb::NO_ERROR);
  EXPECT_EQ(code(256, 256, 80), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code(257, 257, 16), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(code(16, 32, 16), atb::ERROR_INVALID_TENSOR_DIM);
}

TEST_F(PagedSetupTest, TypesGoTogether) {
  for (const PagedParam::MaskType type : {PagedParam::UNDEFINED, PagedParam::MASK_TYPE_NORM}) {
    Call base = type == PagedParam::UNDEFINED ? call() : call_of_several(type, {20, 20});
    const atb::VariantPack sound = pack_for(base);
    for (size_t i = 0; i < sound.inTensors.size(); ++i) {
      atb::VariantPack pack = sound;
      pack.inTensors[i].desc.dtype = ACL_FLOAT16;
      atb::Operation* const operation = create(base.param);
      EXPECT_EQ(set_up(operation, pack), atb::ERROR_INVALID_TENSOR_INI_MATCH) << i;
      EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    }
  }
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.dtype = ACL_FLOAT16; }), atb::NO_ERROR);
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.dtype = ACL_FLOAT; }), atb::ERROR_INVALID_TENSOR_INI_MATCH);
}

TEST_F(PagedSetupTest, TheLengthsMustBeOnTheHost) {
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.has_keys = false; }), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(setup_of(call_of_several(PagedParam::MASK_TYPE_NORM, {20, 20}), [](Call& c) { c.has_tokens = false; }),
            atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(violations(), "");
}

TEST_F(PagedSetupTest, TheKernelChecksTheHeads) {
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.query = c.output = {2, 2, 16}; }), atb::ERROR_RT_FAIL);
  EXPECT_EQ(setup_of(call(), [](Call& c) { c.key_cache = c.value_cache = {3, 16, 4, 16}; }), atb::ERROR_RT_FAIL);
  EXPECT_EQ(setup_of(call(),
                     [](Call& c) {
                       c.param.kvHeadNum = 0, c.key_cache = c.value_cache = {3, 16, 4, 16};
                     }),
            atb::NO_ERROR);
}

TEST_F(PagedSetupTest, TheKernelChecksTheMask) {
  const auto code = [this](PagedParam::MaskType type, const std::vector<int64_t>& mask) {
    return setup_of(call(type, mask));
  };
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {1, 20}), atb::NO_ERROR);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {32, 32}), atb::NO_ERROR);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {2, 1, 24}), atb::NO_ERROR);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {1, 19}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {3, 1, 20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {2, 3, 1, 20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_NORM, {2, 4, 1, 1, 20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_ALIBI, {4, 1, 20}), atb::NO_ERROR);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_ALIBI, {2, 4, 1, 20}), atb::NO_ERROR);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_ALIBI, {2, 1, 20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_ALIBI, {3, 4, 1, 20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_SPEC, {2, 20}), atb::NO_ERROR);
  EXPECT_EQ(code(PagedParam::MASK_TYPE_SPEC, {2, 1, 20}), atb::ERROR_RT_FAIL);
  const auto several = [this](PagedParam::MaskType type, const std::vector<int64_t>& mask) {
    return setup_of(call_of_several(type, mask));
  };
  EXPECT_EQ(several(PagedParam::MASK_TYPE_NORM, {3, 20}), atb::NO_ERROR);
  EXPECT_EQ(several(PagedParam::MASK_TYPE_NORM, {2, 20}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(several(PagedParam::MASK_TYPE_NORM, {2, 20, 20}), atb::NO_ERROR);
  EXPECT_EQ(several(PagedParam::MASK_TYPE_SPEC, {5, 20}), atb::NO_ERROR);
  EXPECT_EQ(several(PagedParam::MASK_TYPE_SPEC, {2, 20}), atb::ERROR_RT_FAIL);
}

TEST_F(PagedSetupTest, TheKernelChecksTheLengthsIfThereIsAMask) {
  const auto code = [this](const Lengths& keys) {
    return setup_of(call(PagedParam::MASK_TYPE_NORM, {1, 32}), [&keys](Call& c) { c.keys = keys; });
  };
  EXPECT_EQ(code({20, -1}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(code({0, 0}), atb::ERROR_RT_FAIL);
  const auto several = [this](const Lengths& tokens, const Lengths& keys) {
    return setup_of(call_of_several(PagedParam::MASK_TYPE_NORM, {32, 32}),
                    [&](Call& c) { c.tokens = tokens, c.keys = keys; });
  };
  EXPECT_EQ(several({6, -1}, {20, 5}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(several({0, 0}, {20, 5}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(several({3, 2}, {2, 1}), atb::ERROR_RT_FAIL);
}

// It has room for keys and values that are dequantised.
TEST_F(PagedSetupTest, TheWorkspaceGrowsWithTheHeads) {
  const auto bytes_of = [this](int64_t head_size) {
    Call sized = call();
    sized.query = sized.output = {2, 4, head_size};
    sized.key_cache = sized.value_cache = {3, 16, 2, head_size};
    uint64_t bytes = 0;
    atb::Operation* const operation = create(sized.param);
    EXPECT_EQ(operation->Setup(pack_for(sized), bytes, context_), atb::NO_ERROR);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return bytes;
  };
  EXPECT_GT(bytes_of(16), 28'000'000U);
  EXPECT_GT(bytes_of(128), bytes_of(16) + uint64_t{49000} * 4 * 112);
}

TEST_F(PagedSetupTest, InferShapeChecksOnlyShapes) {
  Call wrong = call();
  wrong.value_cache = {3, 16, 2, 24};
  wrong.param.headNum = 8;
  wrong.has_keys = false;
  const atb::VariantPack pack = pack_for(wrong);
  atb::SVector<atb::TensorDesc> inputs, outputs;
  for (const atb::Tensor& tensor : pack.inTensors) inputs.push_back(tensor.desc);
  atb::Operation* const operation = create(wrong.param);
  ASSERT_EQ(operation->InferShape(inputs, outputs), atb::NO_ERROR);
  ASSERT_EQ(outputs.size(), 1U);
  const atb::Dims& shape = outputs[0].shape;
  EXPECT_EQ(std::vector<int64_t>(shape.dims, shape.dims + shape.dimNum), (std::vector<int64_t>{2, 4, 24}));
  EXPECT_EQ(outputs[0].dtype, ACL_BF16);
  inputs[1].shape.dims[3] = 8;
  EXPECT_EQ(operation->InferShape(inputs, outputs), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(PagedSetupTest, WhatHardwareDoesNotCheckIsAViolation) {
  const auto is_found = [this](const std::string& sentence, const Call& sound,
                               const std::function<void(Call&)>& change) {
    EXPECT_EQ(setup_of(sound, change), atb::ERROR_INVALID_PARAM) << sentence;
    expect_violation(sentence);
  };
  is_found("contextLens's dataSize is below", call(), [](Call& c) { c.keys.pop_back(); });
  is_found("another head size with blocks above 128", call(), [](Call& c) {
    c.key_cache = {3, 144, 2, 16}, c.value_cache = {3, 144, 2, 24}, c.output = {2, 4, 24};
  });
  is_found("blockTables has 1 rows for 2 sequences", call(), [](Call& c) { c.tables = {1, 2}; });
  is_found("sequence 1 has 1 tokens and -1 keys", call(), [](Call& c) { c.keys = {20, -1}; });
  is_found("sequence 0 has 1 tokens and 33 keys, but blockTables has 2 blocks of 16", call(), [](Call& c) {
    c.keys = {33, 5};
  });
  is_found("query has 3 tokens, but the sequences with keys have 2", call(), [](Call& c) {
    c.query = c.output = {3, 4, 16};
  });
  is_found("query has 2 tokens, but the sequences with keys have 1", call(), [](Call& c) { c.keys = {0, 5}; });

  const Call several = call_of_several(PagedParam::MASK_TYPE_NORM, {20, 20});
  is_found("qSeqLen has 1 sequences, contextLens 2", several, [](Call& c) { c.tokens = {5}; });
  is_found("sequence 1 has 0 tokens and 5 keys", several, [](Call& c) { c.tokens = {5, 0}; });
  is_found("sequence 1 has 6 tokens and 5 keys", several, [](Call& c) { c.tokens = {3, 6}; });
  is_found("query has 5 tokens, but the sequences with keys have 4", several, [](Call& c) { c.tokens = {2, 2}; });
}

TEST_F(PagedSetupTest, MasksThatTheKernelReadsElsewhereAreAViolation) {
  const auto is_found = [this](const std::string& sentence, const Call& wrong) {
    EXPECT_EQ(setup_of(wrong), atb::ERROR_INVALID_PARAM) << sentence;
    expect_violation(sentence);
  };
  is_found("reads undefined elements of a mask of shape", call(PagedParam::MASK_TYPE_NORM, {2, 4, 1, 20}));
  is_found("reads undefined elements of a mask of shape", call(PagedParam::MASK_TYPE_ALIBI, {1, 20}));
  Call compressed = call(PagedParam::MASK_TYPE_ALIBI, {256, 256});
  compressed.tables = {2, 19};
  compressed.keys = {300, 5};
  is_found("reads undefined elements of a mask of shape", compressed);
  is_found("expects one row with all keys, not a mask", call(PagedParam::MASK_TYPE_ALIBI, {4, 2, 20}));
  is_found("expects one row with all keys, not a mask", call(PagedParam::MASK_TYPE_ALIBI, {2, 4, 2, 20}));
  Call longer = call(PagedParam::MASK_TYPE_ALIBI, {4, 1, 128});
  longer.tables = {2, 10};
  longer.keys = {129, 5};
  is_found("expects one row with all keys, not a mask", longer);
  is_found("expects a row for each token, not a mask", call(PagedParam::MASK_TYPE_SPEC, {1, 20}));
  is_found("expects a row for each token, not a mask", call(PagedParam::MASK_TYPE_SPEC, {2, 4, 2, 20}));
  is_found("expects a row for each token, not a mask", call_of_several(PagedParam::MASK_TYPE_SPEC, {4, 20}));
  is_found("reads sequence 1 from row 1 of", call(PagedParam::MASK_TYPE_NORM, {2, 2, 20}));
  is_found("reads sequence 1 from row 21", call_of_several(PagedParam::MASK_TYPE_NORM, {2, 20, 21}));
  Call mixed = call_of_several(PagedParam::MASK_TYPE_NORM, {2, 20, 20});
  mixed.tokens = {1, 4};
  is_found("reads sequence 1 from row 0", mixed);
}

// ---- what Execute refuses -------------------------------------------------------------------------------------------

// Zeros, for one token and one key.
PagedProblem zeros(const PagedParam& param, int64_t head_size, int64_t value_head_size, int64_t block_size) {
  PagedProblem problem;
  problem.param = param;
  problem.keys = {1};
  problem.head_size = head_size;
  problem.value_head_size = value_head_size;
  problem.block_size = block_size;
  problem.query = problem.key = Floats(static_cast<size_t>(param.headNum * head_size), 0);
  problem.value = Floats(static_cast<size_t>(param.headNum * value_head_size), 0);
  if (param.maskType != PagedParam::UNDEFINED) {
    problem.mask_desc = desc_of(ACL_BF16, {1, 1});
    problem.mask = {0};
  }
  return problem;
}

TEST_F(PagedAttentionTest, ExecuteRefusesHeadsAndBlocksThatSetupAccepts) {
  const auto code = [this](int64_t head_size, int64_t value_head_size, int64_t block_size) {
    Floats results;
    return try_compute(zeros(decoding(), head_size, value_head_size, block_size), results);
  };
  EXPECT_EQ(code(128, 128, 128), atb::NO_ERROR);
  EXPECT_EQ(code(128, 128, 144), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(16, 16, 1024), atb::NO_ERROR);
  EXPECT_EQ(code(16, 16, 8), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(256, 256, 64), atb::NO_ERROR);
  EXPECT_EQ(code(256, 256, 80), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(256, 256, 256), atb::NO_ERROR);
  EXPECT_EQ(code(256, 256, 144), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(576, 512, 128), atb::NO_ERROR);
  EXPECT_EQ(code(128, 64, 128), atb::NO_ERROR);
}

TEST_F(PagedAttentionTest, ExecuteRefusesWhatSeveralTokensAndTheirMaskCannotHave) {
  // MASK_TYPE_SPEC counts as several tokens.
  const auto code = [this](const PagedParam& param, int64_t head_size, int64_t value_head_size, int64_t block_size) {
    Floats results;
    return try_compute(zeros(param, head_size, value_head_size, block_size), results);
  };
  const auto heads = [](int32_t number, PagedParam::MaskType type) {
    return changed(decoding(type), [number](PagedParam& p) { p.headNum = number; });
  };
  EXPECT_EQ(code(heads(256, PagedParam::MASK_TYPE_SPEC), 16, 16, 128), atb::NO_ERROR);
  EXPECT_EQ(code(heads(257, PagedParam::MASK_TYPE_SPEC), 16, 16, 16), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(heads(257, PagedParam::MASK_TYPE_NORM), 16, 16, 16), atb::NO_ERROR);
  EXPECT_EQ(code(heads(241, PagedParam::MASK_TYPE_SPEC), 68, 68, 16), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(heads(1, PagedParam::MASK_TYPE_SPEC), 16, 16, 144), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code(heads(1, PagedParam::MASK_TYPE_SPEC), 16, 32, 16), atb::ERROR_INVALID_PARAM);
  // Several tokens, and CALC_TYPE_SPEC with one token for each sequence.
  const auto code_of_tokens = [this](int32_t tokens, size_t num_sequences) {
    PagedProblem problem = equal_scores(spec(PagedParam::MASK_TYPE_NORM), Lengths(num_sequences, 2),
                                        Lengths(num_sequences, tokens), Floats(2 * num_sequences, 0));
    Floats results;
    return try_compute(with_mask(problem, {2, 2}, Floats(4, 0)), results);
  };
  EXPECT_EQ(code_of_tokens(2, 2000), atb::NO_ERROR);
  EXPECT_EQ(code_of_tokens(2, 2001), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code_of_tokens(1, 2001), atb::NO_ERROR);
  // The tokens of a sequence without keys do not count.
  PagedProblem empty = zeros(heads(257, PagedParam::MASK_TYPE_NORM), 1, 1, 16);
  empty.param.calcType = PagedParam::CALC_TYPE_SPEC;
  empty.keys = {0, 2};
  empty.tokens = {2, 1};
  empty.key = empty.value = Floats(514, 0);
  Floats results;
  EXPECT_EQ(try_compute(with_mask(empty, {2, 2}, Floats(4, 0)), results), atb::NO_ERROR);
}

TEST_F(PagedSetupTest, SetupAcceptsWhatExecuteRefusesWithoutFurtherChecks) {
  // Blocks of 8 positions, and block tables without a row for the second sequence.
  EXPECT_EQ(setup_of(call(),
                     [](Call& c) {
                       c.key_cache = c.value_cache = {3, 8, 2, 16}, c.tables = {1, 2};
                     }),
            atb::NO_ERROR);
  EXPECT_EQ(violations(), "");
}

}  // namespace
}  // namespace ascend_sim
