// SPDX-License-Identifier: Apache-2.0
// A program may be compiled against one set of headers and run with the other's library. So sizes, offsets and values
// are the vendor's, as measured on x86-64.
#include <gtest/gtest.h>

#include <cstddef>

#include "acl/acl.h"
#include "atb/atb_infer.h"

// Defined in c_headers.c.
extern "C" int is_c();

namespace {

using namespace atb::infer;
using Attention = SelfAttentionParam;

TEST(LayoutTest, HeadersOfAscendClAreC) { EXPECT_EQ(is_c(), 1); }

TEST(LayoutTest, StructsHaveTheVendorsSizes) {
  EXPECT_EQ(sizeof(atb::Dims), 72U);
  EXPECT_EQ(sizeof(atb::TensorDesc), 80U);
  EXPECT_EQ(sizeof(atb::Tensor), 104U);
  EXPECT_EQ(sizeof(atb::SVector<atb::Tensor>), 6784U);
  EXPECT_EQ(sizeof(atb::VariantPack), 13568U);
  EXPECT_EQ(sizeof(atb::SVector<int64_t>), 544U);
  EXPECT_EQ(sizeof(SelfAttentionParam), 144U);
  EXPECT_EQ(sizeof(LinearParam), 32U);
  EXPECT_EQ(sizeof(SoftmaxParam), 552U);
  EXPECT_EQ(sizeof(ElewiseParam), 64U);
  EXPECT_EQ(sizeof(TransposeParam), 296U);
  EXPECT_EQ(sizeof(GatherParam), 32U);
  EXPECT_EQ(sizeof(ConcatParam), 16U);
  EXPECT_EQ(sizeof(SliceParam), 1096U);
  EXPECT_EQ(sizeof(FillParam), 848U);
  EXPECT_EQ(sizeof(AsStridedParam), 1640U);
  EXPECT_EQ(sizeof(LayerNormParam), 136U);
  EXPECT_EQ(sizeof(RmsNormParam), 144U);
  EXPECT_EQ(sizeof(RopeParam), 16U);
  EXPECT_EQ(sizeof(ActivationParam), 24U);
  EXPECT_EQ(sizeof(PagedAttentionParam), 120U);
  EXPECT_EQ(sizeof(ReshapeAndCacheParam), 24U);
}

TEST(LayoutTest, MembersOfSelfAttentionParamHaveTheVendorsOffsets) {
  EXPECT_EQ(offsetof(Attention, quantType), 0U);
  EXPECT_EQ(offsetof(Attention, headNum), 8U);
  EXPECT_EQ(offsetof(Attention, kvHeadNum), 12U);
  EXPECT_EQ(offsetof(Attention, qScale), 16U);
  EXPECT_EQ(offsetof(Attention, qkScale), 20U);
  EXPECT_EQ(offsetof(Attention, isTriuMask), 28U);
  EXPECT_EQ(offsetof(Attention, calcType), 32U);
  EXPECT_EQ(offsetof(Attention, kernelType), 36U);
  EXPECT_EQ(offsetof(Attention, maskType), 52U);
  EXPECT_EQ(offsetof(Attention, kvcacheCfg), 56U);
  EXPECT_EQ(offsetof(Attention, scaleType), 60U);
  EXPECT_EQ(offsetof(Attention, inputLayout), 64U);
  EXPECT_EQ(offsetof(Attention, mlaVHeadSize), 68U);
  EXPECT_EQ(offsetof(Attention, cacheType), 72U);
  EXPECT_EQ(offsetof(Attention, windowSize), 76U);
  EXPECT_EQ(offsetof(Attention, rsv), 80U);
}

TEST(LayoutTest, MembersOfTheParametersForCachesHaveTheVendorsOffsets) {
  using Paged = PagedAttentionParam;
  EXPECT_EQ(offsetof(Paged, headNum), 0U);
  EXPECT_EQ(offsetof(Paged, qkScale), 4U);
  EXPECT_EQ(offsetof(Paged, kvHeadNum), 8U);
  EXPECT_EQ(offsetof(Paged, maskType), 12U);
  EXPECT_EQ(offsetof(Paged, batchRunStatusEnable), 16U);
  EXPECT_EQ(offsetof(Paged, quantType), 20U);
  EXPECT_EQ(offsetof(Paged, outDataType), 24U);
  EXPECT_EQ(offsetof(Paged, hasQuantOffset), 28U);
  EXPECT_EQ(offsetof(Paged, compressType), 32U);
  EXPECT_EQ(offsetof(Paged, calcType), 36U);
  EXPECT_EQ(offsetof(Paged, scaleType), 40U);
  EXPECT_EQ(offsetof(Paged, inputLayout), 44U);
  EXPECT_EQ(offsetof(Paged, mlaVHeadSize), 48U);
  EXPECT_EQ(offsetof(Paged, qScale), 52U);
  EXPECT_EQ(offsetof(Paged, rsv), 56U);
  EXPECT_EQ(offsetof(ReshapeAndCacheParam, compressType), 0U);
  EXPECT_EQ(offsetof(ReshapeAndCacheParam, kvCacheCfg), 4U);
  EXPECT_EQ(offsetof(ReshapeAndCacheParam, rsv), 8U);
}

TEST(LayoutTest, EnumeratorsHaveTheVendorsValues) {
  EXPECT_EQ(Attention::PA_ENCODER, 3);
  EXPECT_EQ(Attention::KERNELTYPE_HIGH_PRECISION, 1);
  EXPECT_EQ(Attention::MASK_TYPE_NORM, 1);
  EXPECT_EQ(Attention::MASK_TYPE_ALIBI, 2);
  EXPECT_EQ(Attention::MASK_TYPE_NORM_COMPRESS, 3);
  EXPECT_EQ(Attention::MASK_TYPE_CAUSAL_MASK, 9);
  EXPECT_EQ(TYPE_BNSD, 1);
  EXPECT_EQ(ElewiseParam::ELEWISE_CAST, 1);
  EXPECT_EQ(ElewiseParam::ELEWISE_MULS, 2);
  EXPECT_EQ(ElewiseParam::ELEWISE_LOGICAL_NOT, 7);
  EXPECT_EQ(ElewiseParam::ELEWISE_ADD, 8);
  EXPECT_EQ(ElewiseParam::ELEWISE_REALDIV, 10);
  EXPECT_EQ(ElewiseParam::ELEWISE_SUB, 15);
  EXPECT_EQ(ElewiseParam::ELEWISE_TANH, 20);
  EXPECT_EQ(LayerNormParam::LAYER_NORM_NORM, 1);
  EXPECT_EQ(RmsNormParam::RMS_NORM_NORM, 1);
  EXPECT_EQ(RmsNormParam::HIGH_PERFORMANCE_MODE, 1);
  EXPECT_EQ(ACTIVATION_GELU, 2);
  EXPECT_EQ(PagedAttentionParam::MASK_TYPE_SPEC, 3);
  EXPECT_EQ(PagedAttentionParam::CALC_TYPE_SPEC, 1);
  EXPECT_EQ(ReshapeAndCacheParam::K_CACHE_V_CACHE_NZ, 2);
  EXPECT_EQ(atb::ERROR_RT_FAIL, 4);
  EXPECT_EQ(atb::ERROR_INVALID_TENSOR_INI_MATCH, 13);
  EXPECT_EQ(atb::ERROR_INVALID_TENSOR_DIM_NUM, 16);
  EXPECT_EQ(atb::ERROR_OUT_OF_DEVICE_MEMORY, 26);
  EXPECT_EQ(atb::ERROR_OUT_OF_HOST_MEMORY, 27);
  EXPECT_EQ(atb::ERROR_COPY_HOST_MEMORY_FAIL, 29);
  EXPECT_EQ(ACL_BF16, 27);
  EXPECT_EQ(ACL_FORMAT_FRACTAL_NZ, 29);
  EXPECT_EQ(ACL_MEMCPY_DEVICE_TO_DEVICE, 3);
  EXPECT_EQ(ACL_RT_OVERFLOW_MODE_SATURATION, 0);
  EXPECT_EQ(ACL_RT_OVERFLOW_MODE_INFNAN, 1);
}

TEST(LayoutTest, ParametersBeginWithTheVendorsDefaults) {
  const Attention attention;
  EXPECT_EQ(attention.qScale, 1);
  EXPECT_EQ(attention.qkScale, 1);
  EXPECT_EQ(attention.outDataType, ACL_DT_UNDEFINED);
  const LinearParam linear;
  EXPECT_FALSE(linear.transposeA);
  EXPECT_TRUE(linear.transposeB);
  EXPECT_TRUE(linear.hasBias);
  EXPECT_EQ(LayerNormParam().normParam.epsilon, 1e-5F);
  EXPECT_EQ(RmsNormParam().normParam.epsilon, 1e-5F);
  EXPECT_EQ(RopeParam().rotaryCoeff, 4);
  EXPECT_EQ(RopeParam().cosFormat, 0);
  EXPECT_EQ(ActivationParam().dim, -1);
  EXPECT_EQ(PagedAttentionParam().qkScale, 1);
  EXPECT_EQ(PagedAttentionParam().qScale, 0);
}

}  // namespace
