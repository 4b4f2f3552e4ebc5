// SPDX-License-Identifier: Apache-2.0
// SelfAttentionOperation: what it refuses, what its masks mean, and how it computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "support/attention.h"

namespace ascend_sim {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// ---- CreateOperation ------------------------------------------------------------------------------------------------

using CreateTest = AtbTest;

atb::Status creation_of(const Param& param) {
  atb::Operation* operation = nullptr;
  const atb::Status code = atb::CreateOperation(param, &operation);
  EXPECT_EQ(operation != nullptr, code == atb::NO_ERROR);
  atb::DestroyOperation(operation);
  return code;
}

template <class Change>
Param changed(Param param, const Change& change) {
  change(param);
  return param;
}

TEST_F(CreateTest, ParametersThatDoNotGoTogetherAreRefused) {
  const auto refuses = [](const auto& change) {
    return creation_of(changed(encoder(), change)) == atb::ERROR_INVALID_PARAM;
  };
  EXPECT_TRUE(refuses([](Param& p) { p.rsv[63] = 1; }));
  EXPECT_TRUE(refuses([](Param& p) { p.headNum = 0; }));
  EXPECT_TRUE(refuses([](Param& p) { p.kvHeadNum = -1; }));
  EXPECT_TRUE(refuses([](Param& p) { p.headNum = 4, p.kvHeadNum = 3; }));
  EXPECT_TRUE(refuses([](Param& p) { p.kvcacheCfg = Param::K_BYPASS_V_BYPASS; }));
  EXPECT_TRUE(refuses([](Param& p) { p.quantType = Param::TYPE_DEQUANT_FUSION; }));
  EXPECT_TRUE(refuses([](Param& p) { p.quantType = Param::TYPE_QUANT_QKV_ONLINE; }));
  EXPECT_TRUE(refuses([](Param& p) { p.scaleType = Param::SCALE_TYPE_MAX; }));
  EXPECT_TRUE(refuses([](Param& p) { p.isTriuMask = 1; }));
  EXPECT_TRUE(refuses([](Param& p) { p.inputLayout = atb::infer::TYPE_BNSD; }));
  EXPECT_TRUE(refuses([](Param& p) { p.mlaVHeadSize = 577; }));
  EXPECT_TRUE(refuses([](Param& p) { p.mlaVHeadSize = 128, p.clampType = Param::CLAMP_TYPE_MIN_MAX; }));
  EXPECT_TRUE(refuses([](Param& p) { p.windowSize = 1; }));
  EXPECT_TRUE(refuses([](Param& p) { p.maskType = Param::MASK_TYPE_SLIDING_WINDOW_NORM; }));
  EXPECT_TRUE(refuses([](Param& p) { p.maskType = Param::MASK_TYPE_SLIDING_WINDOW_NORM, p.windowSize = 1; }));
  EXPECT_TRUE(refuses([](Param& p) { p.cacheType = Param::CACHE_TYPE_SWA; }));
  EXPECT_TRUE(refuses([](Param& p) { p.kernelType = Param::KERNELTYPE_EXP_M8V2; }));
  EXPECT_TRUE(refuses([](Param& p) { p.calcType = Param::ENCODER, p.maskType = Param::MASK_TYPE_ALIBI_COMPRESS; }));
  EXPECT_TRUE(refuses([](Param& p) { p.calcType = Param::PREFIX_ENCODER, p.maskType = Param::MASK_TYPE_NORM; }));
}

TEST_F(CreateTest, CombinationsThatGoTogetherAreAccepted) {
  EXPECT_EQ(creation_of(encoder()), atb::NO_ERROR);
  EXPECT_EQ(creation_of(changed(encoder(), [](Param& p) { p.headNum = 4, p.kvHeadNum = 2; })), atb::NO_ERROR);
  EXPECT_EQ(creation_of(changed(with_mask(Param::MASK_TYPE_NORM_COMPRESS), [](Param& p) { p.isTriuMask = 1; })),
            atb::NO_ERROR);
  EXPECT_EQ(creation_of(changed(with_mask(Param::MASK_TYPE_SLIDING_WINDOW_NORM),
                                [](Param& p) { p.windowSize = 1, p.kernelType = Param::KERNELTYPE_DEFAULT; })),
            atb::NO_ERROR);
  EXPECT_EQ(creation_of(changed(with_mask(Param::MASK_TYPE_CAUSAL_MASK),
                                [](Param& p) { p.calcType = Param::PREFIX_ENCODER, p.isTriuMask = 1; })),
            atb::NO_ERROR);
}

TEST_F(CreateTest, OtherChipsAcceptLess) {
  const Param clamped = changed(encoder(), [](Param& p) { p.clampType = Param::CLAMP_TYPE_MIN_MAX; });
  EXPECT_EQ(creation_of(clamped), atb::NO_ERROR);
  ascend_sim_set_faults("soc=Ascend310P3");
  EXPECT_EQ(creation_of(clamped), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(creation_of(encoder()), atb::NO_ERROR);
  ascend_sim_set_faults("soc=Ascend910A");
  EXPECT_EQ(creation_of(changed(encoder(), [](Param& p) { p.calcType = Param::DECODER; })), atb::ERROR_INVALID_PARAM);
  ascend_sim_set_faults("soc=Ascend910_9391");
  EXPECT_EQ(creation_of(clamped), atb::NO_ERROR);
}

TEST_F(CreateTest, TheNumberOfInputsFollowsFromTheParameter) {
  const auto num_inputs = [](const Param& param) {
    atb::Operation* const operation = create(param);
    const uint32_t num = operation->GetInputNum();
    EXPECT_EQ(operation->GetName(), "SelfAttentionOperation");
    atb::DestroyOperation(operation);
    return num;
  };
  EXPECT_EQ(num_inputs(encoder()), 4U);
  EXPECT_EQ(num_inputs(with_mask(Param::MASK_TYPE_NORM)), 5U);
  EXPECT_EQ(num_inputs(with_mask(Param::MASK_TYPE_ALIBI_COMPRESS)), 6U);
  EXPECT_EQ(num_inputs(changed(encoder(), [](Param& p) { p.calcType = Param::ENCODER; })), 8U);
  EXPECT_EQ(num_inputs(changed(with_mask(Param::MASK_TYPE_NORM),
                               [](Param& p) { p.calcType = Param::ENCODER, p.kvcacheCfg = Param::K_BYPASS_V_BYPASS; })),
            7U);
}

TEST_F(CreateTest, ModesThatAreNotSimulatedAreRefusedBySetup) {
  atb::Operation* const operation = create(changed(encoder(), [](Param& p) { p.mlaVHeadSize = 128; }));
  const atb::TensorDesc desc = desc_of(ACL_BF16, {4, 1, 128});
  EXPECT_EQ(set_up(operation, pack_of_descs({desc, desc, desc_of(ACL_INT32, {1})}, {desc})), atb::ERROR_INVALID_PARAM);
  expect_violation("is not simulated");
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

// ---- Setup ----------------------------------------------------------------------------------------------------------

// Shapes and lengths of a correct call. Each test changes one of them.
struct Call {
  Param param = encoder();
  aclDataType dtype = ACL_BF16;
  std::vector<int32_t> lengths = {3, 2, 4, 5};
  std::vector<int64_t> lengths_shape = {2, 2};
  std::vector<int64_t> query = {5, 4, 16};
  std::vector<int64_t> key = {9, 2, 16};
  std::vector<int64_t> value = {9, 2, 16};
  std::vector<int64_t> output = {5, 4, 16};
  std::vector<int64_t> mask = {5, 5};
  bool has_lengths = true;
};

class SetupAttentionTest : public AtbTest {
 protected:
  static Call call(Param::MaskType type = Param::MASK_TYPE_UNDEFINED) {
    Call call;
    call.param.headNum = 4;
    call.param.kvHeadNum = 2;
    call.param.maskType = type;
    return call;
  }

  atb::Status set_up(Call& call) {
    atb::Operation* const operation = create(call.param);
    atb::VariantPack pack =
        pack_of_descs({desc_of(call.dtype, call.query), desc_of(call.dtype, call.key), desc_of(call.dtype, call.value)},
                      {desc_of(call.dtype, call.output)});
    atb::Tensor tensor;
    if (call.param.maskType != Param::MASK_TYPE_UNDEFINED) {
      tensor.desc = desc_of(call.dtype, call.mask);
      pack.inTensors.push_back(tensor);
    }
    tensor.desc = desc_of(ACL_INT32, call.lengths_shape);
    if (call.has_lengths) tensor.hostData = call.lengths.data();
    tensor.dataSize = call.lengths.size() * sizeof(int32_t);
    pack.inTensors.push_back(tensor);
    const atb::Status code = AtbTest::set_up(operation, pack);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }

  template <class Change>
  atb::Status set_up_changed(Call call, const Change& change) {
    change(call);
    return set_up(call);
  }
};

TEST_F(SetupAttentionTest, ACorrectCallIsAccepted) {
  Call plain = call();
  EXPECT_EQ(set_up(plain), atb::NO_ERROR);
  EXPECT_EQ(set_up_changed(call(),
                           [](Call& c) {
                             c.query = {5, 64}, c.key = c.value = {9, 32}, c.output = {5, 64};
                           }),
            atb::NO_ERROR);
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.value = {9, 2, 24}, c.output = {5, 4, 24}; }), atb::NO_ERROR);
}

TEST_F(SetupAttentionTest, RanksAreCheckedFirst) {
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.query = {5}; }), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.key = {9, 32}; }), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.value = {9, 32}; }), atb::ERROR_INVALID_TENSOR_SIZE);
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.lengths_shape = {1, 2, 2}; }), atb::ERROR_INVALID_TENSOR_DIM_NUM);
}

TEST_F(SetupAttentionTest, DimensionsAreCheckedAfterRanks) {
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.value = {8, 2, 16}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.lengths_shape = {4, 1}; }), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(set_up_changed(call(),
                           [](Call& c) {
                             c.query = {5, 64}, c.key = c.value = {9, 33}, c.output = {5, 64};
                           }),
            atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(set_up_changed(call(),
                           [](Call& c) {
                             c.query = {5, 4, 577}, c.key = c.value = {9, 2, 577}, c.output = {5, 4, 577};
                           }),
            atb::ERROR_INVALID_TENSOR_DIM);
  // Setup accepts larger heads if values have another size.
  const auto with_values = [](int64_t size) {
    return [size](Call& c) { c.value = {9, 2, size}, c.output = {5, 4, size}; };
  };
  EXPECT_EQ(set_up_changed(call(), with_values(1024)), atb::NO_ERROR);
  EXPECT_EQ(set_up_changed(call(), with_values(1025)), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.output = {5, 4, 15}; }), atb::ERROR_INVALID_TENSOR_DIM);
}

TEST_F(SetupAttentionTest, TheMasksRankIsChecked) {
  const auto norm = [](Call& c) { c.mask = {5}; };
  EXPECT_EQ(set_up_changed(call(Param::MASK_TYPE_NORM), norm), atb::ERROR_INVALID_TENSOR_SIZE);
  const auto three = [](Call& c) { c.param.isTriuMask = 1, c.mask = {1, 128, 128}; };
  EXPECT_EQ(set_up_changed(call(Param::MASK_TYPE_NORM_COMPRESS), three), atb::ERROR_INVALID_TENSOR_SIZE);
  const auto large = [](Call& c) { c.param.isTriuMask = 1, c.mask = {256, 256}; };
  EXPECT_EQ(set_up_changed(call(Param::MASK_TYPE_NORM_COMPRESS), large), atb::ERROR_INVALID_TENSOR_DIM);
}

TEST_F(SetupAttentionTest, TheLengthsMustBeOnTheHost) {
  EXPECT_EQ(set_up_changed(call(), [](Call& c) { c.has_lengths = false; }), atb::ERROR_INVALID_PARAM);
}

TEST_F(SetupAttentionTest, TheKernelChecksTheMask) {
  const auto mask_is = [this](Param::MaskType type, const std::vector<int64_t>& shape) {
    return set_up_changed(call(type), [&shape](Call& c) { c.mask = shape; });
  };
  EXPECT_EQ(mask_is(Param::MASK_TYPE_NORM, {3, 5}), atb::NO_ERROR);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_NORM, {2, 8, 9}), atb::NO_ERROR);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_NORM, {2, 5}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_NORM, {3, 4}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_NORM, {4, 5, 5}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_NORM, {2, 4, 5, 5}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_ALIBI, {4, 5, 5}), atb::NO_ERROR);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_ALIBI, {2, 4, 5, 5}), atb::NO_ERROR);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_ALIBI, {2, 5, 5}), atb::ERROR_RT_FAIL);
  EXPECT_EQ(mask_is(Param::MASK_TYPE_ALIBI, {2, 2, 5, 5}), atb::ERROR_RT_FAIL);
  // More queries than any sequence has keys, and lengths of 0.
  const auto longer = [](Call& c) { c.lengths = {4, 1, 3, 2}, c.key = c.value = {5, 2, 16}; };
  EXPECT_EQ(set_up_changed(call(Param::MASK_TYPE_NORM), longer), atb::ERROR_RT_FAIL);
  EXPECT_EQ(set_up_changed(call(), longer), atb::NO_ERROR);
  const auto nothing = [](Call& c) { c.lengths = {0, 0, 0, 0}; };
  EXPECT_EQ(set_up_changed(call(Param::MASK_TYPE_NORM), nothing), atb::ERROR_RT_FAIL);
}

TEST_F(SetupAttentionTest, WhatHardwareDoesNotCheckIsAViolation) {
  const auto is_found = [this](Param::MaskType type, const std::string& sentence, const auto& change) {
    EXPECT_NE(set_up_changed(call(type), change), atb::NO_ERROR) << sentence;
    expect_violation(sentence);
  };
  constexpr Param::MaskType kNone = Param::MASK_TYPE_UNDEFINED;
  is_found(kNone, "query has 6 tokens, but the lengths come to 5", [](Call& c) {
    c.query = {6, 4, 16}, c.output = c.query;
  });
  is_found(kNone, "key has 8 tokens, but the lengths come to 9", [](Call& c) { c.key = c.value = {8, 2, 16}; });
  is_found(kNone, "but headNum is 4", [](Call& c) { c.query = {5, 3, 16}, c.output = c.query; });
  is_found(kNone, "but kvHeadNum is 2", [](Call& c) { c.key = c.value = {9, 3, 16}; });
  is_found(kNone, "query has the head size 8, key 16", [](Call& c) { c.query = {5, 4, 8}; });
  is_found(kNone, "dataSize is below", [](Call& c) { c.lengths.pop_back(); });
  is_found(Param::MASK_TYPE_ALIBI, "must be square", [](Call& c) { c.mask = {4, 5, 6}; });
  is_found(Param::MASK_TYPE_ALIBI, "taken for a compressed one", [](Call& c) { c.mask = {5, 5}; });
  is_found(Param::MASK_TYPE_NORM_COMPRESS, "without isTriuMask", [](Call& c) { c.mask = {128, 128}; });
  is_found(Param::MASK_TYPE_NORM, "whose queries and keys are not as many", [](Call& c) { c.param.isTriuMask = 1; });
}

// ---- what Execute refuses -------------------------------------------------------------------------------------------

// A problem of one head with zeros.
Problem zeros(Param::KernelType type, const std::vector<int32_t>& query_lengths,
              const std::vector<int32_t>& key_lengths) {
  Problem problem;
  problem.param.kernelType = type;
  problem.query_lengths = query_lengths;
  problem.key_lengths = key_lengths;
  problem.query = Floats(static_cast<size_t>(total(query_lengths)), 0);
  problem.key = problem.value = Floats(static_cast<size_t>(total(key_lengths)), 0);
  return problem;
}

TEST_F(AttentionTest, ExecuteRefusesLengthsThatSetupAccepts) {
  const auto code_of = [this](Param::KernelType type, const std::vector<int32_t>& query_lengths,
                              const std::vector<int32_t>& key_lengths) {
    Floats results;
    return try_compute(zeros(type, query_lengths, key_lengths), results);
  };
  EXPECT_EQ(code_of(Param::KERNELTYPE_HIGH_PRECISION, {3, 2}, {4, 5}), atb::NO_ERROR);
  EXPECT_EQ(code_of(Param::KERNELTYPE_HIGH_PRECISION, {3, 2}, {9, 0}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code_of(Param::KERNELTYPE_HIGH_PRECISION, {5, 0}, {4, 5}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code_of(Param::KERNELTYPE_DEFAULT, {3, 2}, {4, 5}), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(code_of(Param::KERNELTYPE_DEFAULT, {3, 2}, {3, 2}), atb::NO_ERROR);
  EXPECT_EQ(code_of(Param::KERNELTYPE_DEFAULT, {1, 2}, {9, 2}), atb::NO_ERROR);
  EXPECT_EQ(code_of(Param::KERNELTYPE_DEFAULT, {0, 2}, {0, 2}), atb::NO_ERROR);
  EXPECT_EQ(code_of(Param::KERNELTYPE_DEFAULT, {3, -1}, {3, -1}), atb::ERROR_INVALID_PARAM);
}

TEST_F(AttentionTest, ExecuteRefusesHeadSizesThatSetupAccepts) {
  const auto code_of = [this](int64_t value_head_size) {
    Problem problem = zeros(Param::KERNELTYPE_HIGH_PRECISION, {1}, {2});
    problem.value_head_size = value_head_size;
    problem.value = Floats(static_cast<size_t>(2 * value_head_size), 0);
    Floats results;
    return try_compute(problem, results);
  };
  EXPECT_EQ(code_of(576), atb::NO_ERROR);
  EXPECT_EQ(code_of(577), atb::ERROR_INVALID_PARAM);
}

TEST_F(AttentionTest, ExecuteRefusesMoreSequencesThanALaunchHasArgumentsFor) {
  for (const Param::KernelType type : {Param::KERNELTYPE_HIGH_PRECISION, Param::KERNELTYPE_DEFAULT}) {
    Floats results;
    const std::vector<int32_t> most(9700, 1);
    EXPECT_EQ(try_compute(zeros(type, most, most), results), atb::NO_ERROR);
    const std::vector<int32_t> too_many(9701, 1);
    EXPECT_EQ(try_compute(zeros(type, too_many, too_many), results), atb::ERROR_INVALID_PARAM);
  }
}

// ---- the arithmetic -------------------------------------------------------------------------------------------------

TEST_F(AttentionTest, RowsOfASequenceWithoutKeysAreNotWritten) {
  Problem problem;
  problem.param.kernelType = Param::KERNELTYPE_DEFAULT;
  problem.query_lengths = {1, 0, 1};
  problem.key_lengths = {0, 0, 1};
  problem.query = {0, 0};
  problem.key = {1};
  problem.value = {7};
  const Floats results = compute(problem);
  EXPECT_TRUE(std::isnan(results[0]));
  EXPECT_EQ(results[1], 7);
}

TEST_F(AttentionTest, SequencesArePackedAndSeeTheirOwnKeysOnly) {
  Problem problem;
  problem.query_lengths = {1, 2};
  problem.key_lengths = {2, 3};
  problem.query = {0, 0, 0};
  problem.key = Floats(5, 1);
  problem.value = {2, 4, 10, 20, 30};
  EXPECT_EQ(compute(problem), (Floats{3, 20, 20}));
}

TEST_F(AttentionTest, AQueryHeadUsesTheKeyHeadOfItsGroup) {
  Problem problem;
  problem.param.headNum = 4;
  problem.param.kvHeadNum = 2;
  problem.query_lengths = problem.key_lengths = {1};
  problem.query = Floats(4, 1);
  problem.key = Floats(2, 1);
  problem.value = {5, 6};
  EXPECT_EQ(compute(problem), (Floats{5, 5, 6, 6}));
}

TEST_F(AttentionTest, AScaleNearThatOfTheLastLaunchIsReplacedByIt) {
  Problem problem;
  problem.query_lengths = {1, 1};
  problem.key_lengths = {1, 2};
  problem.query = {1, 1};
  problem.key = {0, 0x1p20F, 0};
  problem.value = {0, 1, 0};
  const auto with_scale = [&](float scale) {
    problem.param.qkScale = scale;
    return compute(problem);
  };
  const Floats first = with_scale(1e-6F);
  EXPECT_NEAR(first[1], 0.74F, 0.01F);
  EXPECT_EQ(with_scale(1e-7F), first);
  // A refused call adds no launch.
  Floats nothing;
  problem.key_lengths = {3, 0};
  EXPECT_EQ(try_compute(problem, nothing), atb::ERROR_INVALID_PARAM);
  problem.key_lengths = {1, 2};
  EXPECT_EQ(with_scale(1e-7F), first);
  // Other lengths with the same shapes are another launch.
  problem.key_lengths = {2, 1};
  EXPECT_NEAR(with_scale(1e-7F)[0], 0.526F, 0.01F);
  EXPECT_NEAR(with_scale(1e-6F)[0], 0.526F, 0.01F);
  // Another kernel is another launch too.
  problem.param.kernelType = Param::KERNELTYPE_DEFAULT;
  EXPECT_NEAR(with_scale(1e-6F)[0], 0.74F, 0.01F);
}

TEST_F(AttentionTest, TheScaleIsQkScaleAndQScaleIsIgnored) {
  Problem problem = equal_scores(encoder(), ACL_FLOAT16, {0, 1});
  problem.query = {1};
  problem.key = {0, 1};
  problem.param.qkScale = 0.69314718F;
  problem.param.qScale = 100;
  // exp(ln 2) = 2: weights 1/3 and 2/3.
  EXPECT_NEAR(compute(problem)[0], 2.0F / 3, 1e-3);
}

TEST_F(AttentionTest, OnesHideInAMultipliedMask) {
  for (const Param::KernelType kernel : {Param::KERNELTYPE_HIGH_PRECISION, Param::KERNELTYPE_DEFAULT}) {
    Param param = with_mask(Param::MASK_TYPE_NORM);
    param.kernelType = kernel;
    EXPECT_EQ(masked(param, ACL_BF16, {2, 50, 4}, {0, 1, 0}), Floats{3});
    // Every positive number hides.
    EXPECT_EQ(masked(param, ACL_BF16, {2, 50, 4}, {0, 0.5F, 0}), Floats{3});
  }
  EXPECT_EQ(masked(with_mask(Param::MASK_TYPE_NORM), ACL_FLOAT16, {2, 50, 4}, {0, 1, 0}), Floats{3});
}

TEST_F(AttentionTest, AFullyHiddenRowIsTheMeanOfAllValues) {
  EXPECT_EQ(masked(with_mask(Param::MASK_TYPE_NORM), ACL_BF16, {1, 2, 6}, {1, 1, 1}), Floats{3});
  // Adding -3e38 makes the differences between scores disappear.
  Problem problem = equal_scores(with_mask(Param::MASK_TYPE_NORM), ACL_FLOAT16, {1, 2, 6});
  problem.query = {10};
  problem.key = {1, -1, 2};
  problem.mask_desc = desc_of(ACL_FLOAT16, {1, 3});
  problem.mask = {1, 1, 1};
  EXPECT_EQ(compute(problem), Floats{3});
}

TEST_F(AttentionTest, AdditiveHideValuesInAMultipliedMaskGiveNaN) {
  for (const float hide : {-10000.0F, -kInfinity})
    EXPECT_TRUE(std::isnan(masked(with_mask(Param::MASK_TYPE_NORM), ACL_BF16, {2, 50, 4}, {0, hide, 0})[0]));
}

TEST_F(AttentionTest, AnAlibiMaskIsAddedUnscaled) {
  // exp(0.6931) is about 2; in the 16-bit types the number is about 0.693.
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    const float weight = std::exp(atb_library::round_to(dtype, 0.69314718F));
    const float expected = 3 * weight / (1 + weight);
    EXPECT_NEAR(masked(with_mask(Param::MASK_TYPE_ALIBI), dtype, {0, 3}, {0, 0.69314718F})[0], expected, 0.02);
    EXPECT_EQ(masked(with_mask(Param::MASK_TYPE_ALIBI), dtype, {2, 50, 4}, {0, -10000, 0}), Floats{3});
    // A 1 does not hide.
    EXPECT_GT(masked(with_mask(Param::MASK_TYPE_ALIBI), dtype, {0, 3}, {0, 1})[0], 2);
  }
}

TEST_F(AttentionTest, MinusInfinityOverTheFirstBlockOfKeysGivesNaN) {
  Floats values(200, 1), mask(200, 0);
  std::fill_n(mask.begin(), 128, -kInfinity);
  EXPECT_TRUE(std::isnan(masked(with_mask(Param::MASK_TYPE_ALIBI), ACL_BF16, values, mask)[0]));
  // Not with a finite number, nor if -infinity covers only a part of the block.
  std::fill_n(mask.begin(), 128, -1e30F);
  EXPECT_EQ(masked(with_mask(Param::MASK_TYPE_ALIBI), ACL_BF16, values, mask), Floats{1});
  std::fill_n(mask.begin(), 127, -kInfinity);
  mask[127] = 0;
  EXPECT_EQ(masked(with_mask(Param::MASK_TYPE_ALIBI), ACL_BF16, values, mask), Floats{1});
}

TEST_F(AttentionTest, TheBinary16KernelAddsEveryMaskUnscaled) {
  Param param = with_mask(Param::MASK_TYPE_NORM);
  param.kernelType = Param::KERNELTYPE_DEFAULT;
  EXPECT_EQ(masked(param, ACL_FLOAT16, {2, 50, 4}, {0, -10000, 0}), Floats{3});
  // exp(1) = 2.718, so the result is 3 * 2.718 / 3.718. The other kernels would hide the key.
  EXPECT_NEAR(masked(param, ACL_FLOAT16, {0, 3}, {0, 1})[0], 2.193F, 2e-3);
  // In a fully hidden row, scores near -10000 are rounded to multiples of 8. The scores 0 and 16 still differ.
  Problem problem = equal_scores(param, ACL_FLOAT16, {1, 2});
  problem.query = {4};
  problem.key = {0, 4};
  problem.mask_desc = desc_of(ACL_FLOAT16, {1, 2});
  problem.mask = {-10000, -10000};
  EXPECT_EQ(compute(problem), Floats{2});
}

TEST_F(AttentionTest, TheBinary16KernelOverflowsBeforeScaling) {
  Problem problem = equal_scores(encoder(), ACL_FLOAT16, {1, 1});
  problem.query = {300};
  problem.key = {300, 1};
  problem.param.qkScale = 0.001F;
  EXPECT_EQ(compute(problem), Floats{1});
  problem.param.kernelType = Param::KERNELTYPE_DEFAULT;
  EXPECT_TRUE(std::isnan(compute(problem)[0]));
}

TEST_F(AttentionTest, NaNsAndInfinitiesInHiddenValuesReachTheResult) {
  // The probability is exactly 0, and 0 times infinity is NaN.
  EXPECT_TRUE(std::isnan(masked(with_mask(Param::MASK_TYPE_NORM), ACL_BF16, {2, kInfinity, 4}, {0, 1, 0})[0]));
}

TEST_F(AttentionTest, CompressedAndFullTrianglesGiveTheSameResult) {
  constexpr size_t kLength = 300;
  Problem problem;
  problem.dtype = ACL_FLOAT16;
  problem.query_lengths = problem.key_lengths = {static_cast<int32_t>(kLength)};
  problem.query = Floats(kLength, 0);
  problem.key = Floats(kLength, 1);
  Floats means;
  for (size_t i = 0; i < kLength; ++i) {
    problem.value.push_back(static_cast<float>(i));
    means.push_back(static_cast<float>(i) / 2);
  }
  const auto triangle = [](size_t size) {
    Floats mask(size * size);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % size > i / size ? 1 : 0;
    return mask;
  };
  problem.param.maskType = Param::MASK_TYPE_NORM_COMPRESS;
  problem.param.isTriuMask = 1;
  problem.mask_desc = desc_of(ACL_FLOAT16, {128, 128});
  problem.mask = triangle(128);
  EXPECT_EQ(compute(problem), means);
  problem.param.maskType = Param::MASK_TYPE_NORM;
  problem.mask_desc = desc_of(ACL_FLOAT16, {kLength, kLength});
  problem.mask = triangle(kLength);
  EXPECT_EQ(compute(problem), means);
  problem.param.isTriuMask = 0;
  EXPECT_EQ(compute(problem), means);
}

TEST_F(AttentionTest, MasksMayHaveAPlaneForEachSequenceOrHead) {
  Problem problem = equal_scores(with_mask(Param::MASK_TYPE_NORM), ACL_BF16, {1, 2});
  problem.query_lengths = {1, 1};
  problem.key_lengths = {2, 2};
  problem.query = {0, 0};
  problem.key = Floats(4, 1);
  problem.value = {1, 2, 3, 4};
  problem.mask_desc = desc_of(ACL_BF16, {2, 1, 2});
  problem.mask = {0, 1, 1, 0};
  EXPECT_EQ(compute(problem), (Floats{1, 4}));

  problem.param = with_mask(Param::MASK_TYPE_ALIBI);
  problem.param.headNum = 2;
  problem.query = Floats(4, 0);
  problem.key = Floats(8, 1);
  problem.value = {1, 10, 2, 20, 3, 30, 4, 40};
  problem.mask_desc = desc_of(ACL_BF16, {2, 2, 2});
  problem.mask = {0, -1e30F, 0, 0, -1e30F, 0, 0, 0};
  EXPECT_EQ(compute(problem), (Floats{1, 20, 3, 40}));
  problem.mask_desc = desc_of(ACL_BF16, {2, 2, 2, 2});
  problem.mask = {0, -1e30F, 0, 0, -1e30F, 0, 0, 0, -1e30F, 0, 0, 0, 0, -1e30F, 0, 0};
  EXPECT_EQ(compute(problem), (Floats{1, 20, 4, 30}));
}

TEST_F(AttentionTest, LengthsAreReadOnlyInSetup) {
  DeviceTensor query(desc_of(ACL_BF16, {1, 1, 1})), key(desc_of(ACL_BF16, {2, 1, 1})),
      value(desc_of(ACL_BF16, {2, 1, 1}));
  DeviceTensor out(desc_of(ACL_BF16, {1, 1, 1}));
  query.write_floats({0});
  key.write_floats({1, 1});
  value.write_floats({2, 4});
  std::vector<int32_t> lengths = {1, 2};
  atb::VariantPack pack = pack_of({&query, &key, &value}, {&out});
  atb::Tensor host;
  host.desc = desc_of(ACL_INT32, {2, 1});
  host.hostData = lengths.data();
  host.dataSize = 8;
  pack.inTensors.push_back(host);
  atb::Operation* const operation = create(encoder());
  uint64_t bytes = 0;
  ASSERT_EQ(operation->Setup(pack, bytes, context_), atb::NO_ERROR);
  lengths = {100, 100};
  void* workspace = nullptr;
  ASSERT_GT(bytes, 0U);
  ASSERT_EQ(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(operation->Execute(pack, static_cast<uint8_t*>(workspace), bytes, context_), atb::NO_ERROR);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(out.read_floats(), Floats{3});
  EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

// The result in f64, from the rounded numbers that the tensors hold.
Floats reference(const Problem& problem) {
  const auto d = static_cast<size_t>(problem.head_size);
  const auto heads = static_cast<size_t>(problem.param.headNum);
  const auto kv_heads = static_cast<size_t>(problem.param.kvHeadNum);
  const auto at = [&](const Floats& values, size_t i) {
    return double{atb_library::round_to(problem.dtype, values[i])};
  };
  Floats out;
  size_t first_key = 0, query = 0;
  for (size_t s = 0; s < problem.query_lengths.size(); ++s) {
    const auto keys = static_cast<size_t>(problem.key_lengths[s]);
    for (int32_t row = 0; row < problem.query_lengths[s]; ++row, ++query) {
      for (size_t h = 0; h < heads; ++h) {
        std::vector<double> sums(d, 0);
        double denominator = 0;
        for (size_t j = 0; j < keys; ++j) {
          const size_t key = ((first_key + j) * kv_heads + h / (heads / kv_heads)) * d;
          double score = 0;
          for (size_t i = 0; i < d; ++i)
            score += at(problem.query, (query * heads + h) * d + i) * at(problem.key, key + i);
          const double weight = std::exp(score * double{problem.param.qkScale});
          denominator += weight;
          for (size_t i = 0; i < d; ++i) sums[i] += weight * at(problem.value, key + i);
        }
        for (const double sum : sums) out.push_back(static_cast<float>(sum / denominator));
      }
    }
    first_key += keys;
  }
  return out;
}

TEST_F(AttentionTest, ResultsAreWithinTheRoundingErrorsOfTypeAndKernel) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    for (const Param::KernelType kernel : {Param::KERNELTYPE_HIGH_PRECISION, Param::KERNELTYPE_DEFAULT}) {
      Problem problem;
      problem.dtype = dtype;
      problem.param.kernelType = kernel;
      problem.param.headNum = 4;
      problem.param.kvHeadNum = 2;
      problem.head_size = 16;
      problem.param.qkScale = 0.25F;
      problem.query_lengths = {1, 140, 9};
      problem.key_lengths = {200, 140, 9};
      const auto fill = [&](Floats& values, int64_t tokens, int64_t num_heads) {
        values.resize(static_cast<size_t>(tokens * num_heads * problem.head_size));
        for (float& value : values) value = uniform(random);
      };
      fill(problem.query, total(problem.query_lengths), 4);
      fill(problem.key, total(problem.key_lengths), 2);
      fill(problem.value, total(problem.key_lengths), 2);
      const Floats results = compute(problem);
      const Floats expected = reference(problem);
      ASSERT_EQ(results.size(), expected.size());
      const float unit = dtype == ACL_FLOAT16 ? 0x1p-11F : 0x1p-8F;
      // Values are below 1, so the rounding of a probability and that of the result each add at most one unit. The
      // binary16 kernel rounds a score three times (it is below 16 before the scale and below 4 after it), and also the
      // sum and the denominator.
      const bool is_half_kernel = dtype == ACL_FLOAT16 && kernel == Param::KERNELTYPE_DEFAULT;
      const float bound = unit * (is_half_kernel ? 2.1F + 2 * (16 * 0.25F + 4 + 8) + 2 : 2.1F);
      for (size_t i = 0; i < results.size(); ++i) ASSERT_NEAR(results[i], expected[i], bound) << i;
    }
  }
}

}  // namespace
}  // namespace ascend_sim
