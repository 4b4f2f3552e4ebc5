// SPDX-License-Identifier: Apache-2.0
// The key blocks of SelfAttentionOperation's kernel. A compressed triangle makes them visible: the kernel adds it only
// to the last block, and for some block widths and lengths not at all.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/attention.h"

namespace ascend_sim {
namespace {

// The head size of queries and keys, and that of values.
struct HeadSize {
  int64_t keys;
  int64_t values;
};

Floats triangle(size_t size) {
  Floats mask(size * size);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % size > i / size ? 1 : 0;
  return mask;
}

// A problem with as many queries as keys under a compressed triangle. All scores are 0, so a row is the mean of the
// values of its visible keys. The last keys are marked: each has a 1 in an element of its own, the last key in element
// 0. So output element i is the weight of the i-th key from the end.
Problem causal(const HeadSize& size, int32_t length) {
  Problem problem;
  problem.param = with_mask(Param::MASK_TYPE_NORM_COMPRESS);
  problem.param.isTriuMask = 1;
  problem.mask_desc = desc_of(problem.dtype, {128, 128});
  problem.mask = triangle(128);
  problem.query_lengths = problem.key_lengths = {length};
  problem.head_size = size.keys;
  problem.value_head_size = size.values;
  problem.query = problem.key = Floats(static_cast<size_t>(length * size.keys), 0);
  problem.value = Floats(static_cast<size_t>(length * size.values), 0);
  for (int64_t i = 0; i < size.values && i < length; ++i)
    problem.value[static_cast<size_t>((length - 1 - i) * size.values + i)] = 1;
  return problem;
}

class AttentionBlocksTest : public AttentionTest {
 protected:
  // Whether each row sees the keys up to its own index and no others, as far as keys are marked.
  bool is_causal(const Problem& problem) {
    const Floats results = compute(problem);
    const int64_t length = problem.key_lengths[0];
    for (int64_t row = 0; row < length; ++row) {
      const float weight = atb_library::round_to(problem.dtype, 1.0F / static_cast<float>(row + 1));
      for (int64_t i = 0; i < problem.value_head_size && i < length; ++i) {
        const float expected = length - 1 - i <= row ? weight : 0;
        if (results[static_cast<size_t>(row * problem.value_head_size + i)] != expected) return false;
      }
    }
    return true;
  }
};

// With five key blocks or more, the kernel works on two at a time. If the last pair has at most 128 keys, the kernel
// adds the triangle only if the second block begins after 64 keys, so not for wider blocks. A last block of one key
// needs no triangle: the only row that sees it sees all keys.
TEST_F(AttentionBlocksTest, TheTriangleIsNotAppliedToANarrowPairOfBlocksUnlessBlocksHave64Keys) {
  struct Blocks {
    int64_t head_size;
    int32_t num_keys;
    int32_t number;
  };
  for (const Blocks& of : {Blocks{144, 112, 6}, {145, 96, 6}, {160, 96, 8}, {176, 80, 6}, {192, 80, 6}}) {
    const int32_t first = (of.number - 1) * of.num_keys + 2;
    const int32_t last = (of.number - 2) * of.num_keys + 128;
    const auto has_triangle = [&](int32_t length) { return is_causal(causal({of.head_size, of.head_size}, length)); };
    EXPECT_TRUE(has_triangle(first - 1)) << of.head_size << " " << first - 1;
    EXPECT_FALSE(has_triangle(first)) << of.head_size << " " << first;
    EXPECT_FALSE(has_triangle(last)) << of.head_size << " " << last;
    EXPECT_TRUE(has_triangle(last + 1)) << of.head_size << " " << last + 1;
  }
}

TEST_F(AttentionBlocksTest, TheTriangleIsNotAppliedThereInAnyTypeAndKernel) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    for (const Param::KernelType type : {Param::KERNELTYPE_HIGH_PRECISION, Param::KERNELTYPE_DEFAULT}) {
      const auto has_triangle = [&](int32_t length) {
        Problem problem = causal({176, 176}, length);
        problem.dtype = problem.mask_desc->dtype = dtype;
        problem.param.kernelType = type;
        // Only this kernel adds the mask instead of multiplying it by -3e38.
        if (dtype == ACL_FLOAT16 && type == Param::KERNELTYPE_DEFAULT) {
          for (float& element : problem.mask) element *= -10000;
        }
        return is_causal(problem);
      };
      EXPECT_TRUE(has_triangle(401)) << dtype << " " << type;
      EXPECT_FALSE(has_triangle(402)) << dtype << " " << type;
      EXPECT_FALSE(has_triangle(448)) << dtype << " " << type;
      EXPECT_TRUE(has_triangle(449)) << dtype << " " << type;
    }
  }
}

// Lengths near the ends of blocks of 64, 80, 96, 112 and 128 keys.
TEST_F(AttentionBlocksTest, TheTriangleIsAppliedAtEveryLengthForOtherHeadSizes) {
  for (const HeadSize& size : {HeadSize{16, 16}, {128, 128}, {193, 193}, {256, 256}}) {
    for (const int32_t length : {1, 64, 129, 257, 322, 402, 448, 482, 512, 562, 576, 642})
      EXPECT_TRUE(is_causal(causal(size, length))) << size.keys << " " << length;
  }
}

// These have other kernels, with blocks of 128 keys.
TEST_F(AttentionBlocksTest, TheTriangleIsAppliedForHeadsAbove256AndOtherValueSizes) {
  for (const HeadSize& size : {HeadSize{192, 128}, {128, 192}, {272, 272}, {576, 512}}) {
    for (const int32_t length : {402, 482, 642})
      EXPECT_TRUE(is_causal(causal(size, length))) << size.keys << " " << size.values << " " << length;
  }
}

TEST_F(AttentionBlocksTest, AFullMaskIsAppliedWhereverBlocksEnd) {
  for (const int32_t length : {448, 482}) {
    for (const uint32_t is_triangular : {0U, 1U}) {
      Problem problem = causal({160, 160}, length);
      problem.param.maskType = Param::MASK_TYPE_NORM;
      problem.param.isTriuMask = is_triangular;
      problem.mask_desc = desc_of(problem.dtype, {length, length});
      problem.mask = triangle(static_cast<size_t>(length));
      EXPECT_TRUE(is_causal(problem)) << length << " " << is_triangular;
    }
  }
}

}  // namespace
}  // namespace ascend_sim
