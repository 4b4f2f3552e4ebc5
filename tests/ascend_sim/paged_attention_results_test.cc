// SPDX-License-Identifier: Apache-2.0
// PagedAttentionOperation: which keys and which rows of a mask a token meets, and how it computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/paged_attention.h"

namespace ascend_sim {
namespace {

// ---- keys and tokens ------------------------------------------------------------------------------------------------

Floats counted(size_t count) {
  Floats numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
  return numbers;
}

TEST_F(PagedAttentionTest, ATokenSeesTheKeysOfItsSequenceInTheBlocksOfItsTable) {
  // 18 and 3 keys: two blocks and one.
  EXPECT_EQ(compute(equal_scores(decoding(), {18, 3}, {}, counted(21))), (Floats{8.5F, 19}));
}

TEST_F(PagedAttentionTest, ASequenceWithoutKeysHasNoToken) {
  EXPECT_EQ(compute(equal_scores(decoding(), {0, 3, 0, 1}, {}, {1, 2, 3, 50})), (Floats{2, 50}));
}

TEST_F(PagedAttentionTest, AQueryHeadUsesTheKeyHeadOfItsGroup) {
  PagedProblem problem;
  problem.param.headNum = 4;
  problem.param.kvHeadNum = 2;
  problem.keys = {1};
  problem.query = Floats(4, 1);
  problem.key = Floats(2, 1);
  problem.value = {5, 6};
  EXPECT_EQ(compute(problem), (Floats{5, 5, 6, 6}));
}

TEST_F(PagedAttentionTest, ABlockThatIsNotInTheCachesIsAViolation) {
  for (const int32_t wrong : {1, -3}) {
    // The blocks are 2 and 1 of three.
    PagedProblem problem = equal_scores(decoding(), {18}, {}, counted(18));
    problem.wrong_block = wrong;
    EXPECT_TRUE(std::isnan(compute(problem)[0]));
    expect_violation("block 0 of sequence 0 is " + std::to_string(2 + wrong) + ", but the caches have 3 blocks");
  }
}

// A block may be given to a sequence after Setup.
TEST_F(PagedAttentionTest, LengthsAreReadInSetupAndBlockTablesByTheKernel) {
  DeviceTensor query(desc_of(ACL_BF16, {1, 1, 1})), out(desc_of(ACL_BF16, {1, 1, 1}));
  DeviceTensor key_cache(desc_of(ACL_BF16, {2, 16, 1, 1})), value_cache(desc_of(ACL_BF16, {2, 16, 1, 1}));
  DeviceTensor tables(desc_of(ACL_INT32, {1, 1}));
  query.write_floats({0});
  key_cache.write_floats(Floats(32, 1));
  value_cache.write_floats(counted(32));
  tables.write(std::vector<int32_t>{0});
  Lengths lengths = {3};
  atb::VariantPack pack = pack_of({&query, &key_cache, &value_cache, &tables}, {&out});
  pack.inTensors.push_back(on_host(lengths));
  atb::Operation* const operation = create(decoding());
  uint64_t bytes = 0;
  ASSERT_EQ(operation->Setup(pack, bytes, context_), atb::NO_ERROR);
  lengths = {100};
  tables.write(std::vector<int32_t>{1});
  void* workspace = nullptr;
  ASSERT_EQ(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(operation->Execute(pack, static_cast<uint8_t*>(workspace), bytes, context_), atb::NO_ERROR);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(out.read_floats(), Floats{17});
  EXPECT_EQ(aclrtFree(workspace), ACL_SUCCESS);
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(PagedAttentionTest, TokensThatReshapeAndCacheWroteAreSeen) {
  DeviceTensor row(desc_of(ACL_FLOAT16, {1, 1, 16})), slots(desc_of(ACL_INT32, {1}));
  DeviceTensor key_cache(desc_of(ACL_FLOAT16, {2, 16, 1, 16})), value_cache(desc_of(ACL_FLOAT16, {2, 16, 1, 16}));
  DeviceTensor tables(desc_of(ACL_INT32, {1, 2})), out(row.tensor().desc);
  tables.write(std::vector<int32_t>{1, 0});
  for (int32_t position = 0; position < 20; ++position) {
    row.write_floats(Floats(16, static_cast<float>(position)));
    slots.write(std::vector<int32_t>{position < 16 ? 16 + position : position - 16});
    run(atb::infer::ReshapeAndCacheParam(),
        pack_of({&row, &row, &key_cache, &value_cache, &slots}, {&key_cache, &value_cache}));
    Lengths lengths = {position + 1};
    row.write_floats(Floats(16, 0));
    atb::VariantPack pack = pack_of({&row, &key_cache, &value_cache, &tables}, {&out});
    pack.inTensors.push_back(on_host(lengths));
    run(decoding(), pack);
    EXPECT_EQ(out.read_floats(), Floats(16, static_cast<float>(position) / 2));
  }
}

// ---- masks ----------------------------------------------------------------------------------------------------------

TEST_F(PagedAttentionTest, MasksAreAddedUnscaled) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    for (const PagedParam::MaskType type : {PagedParam::MASK_TYPE_NORM, PagedParam::MASK_TYPE_SPEC}) {
      PagedProblem problem = equal_scores(decoding(type), {3}, {}, {2, 50, 4});
      problem.dtype = dtype;
      problem.param.qkScale = 0.5F;
      EXPECT_EQ(compute(with_mask(problem, {1, 3}, {0, kHide, 0})), Floats{3});
      // exp(1) = 2.718: a 1 does not hide.
      EXPECT_NEAR(compute(with_mask(problem, {1, 3}, {0, 1, 0}))[0], (6 + 50 * 2.7183F) / 4.7183F, 0.2);
    }
  }
}

TEST_F(PagedAttentionTest, MinusInfinityOverAllKeysOfARowGivesNaN) {
  const PagedProblem problem = equal_scores(decoding(PagedParam::MASK_TYPE_NORM), {2}, {}, {2, 4});
  EXPECT_TRUE(std::isnan(compute(with_mask(problem, {1, 2}, {-INFINITY, -INFINITY}))[0]));
  EXPECT_EQ(compute(with_mask(problem, {1, 2}, {kHide, kHide})), Floats{3});
}

TEST_F(PagedAttentionTest, OneTokenTakesTheRowOfItsMask) {
  const auto results = [this](PagedParam::MaskType type, const std::vector<int64_t>& shape, const Floats& mask) {
    return compute(with_mask(equal_scores(decoding(type), {2, 3}, {}, {1, 2, 30, 40, 50}), shape, mask));
  };
  // One row for all sequences; a row for each; and a square one of all positions, of which the last token's row is taken.
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {1, 3}, {kHide, 0, 0}), (Floats{2, 45}));
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {2, 4}, {kHide, 0, 0, 0, 0, kHide, kHide, kHide}), (Floats{2, 45}));
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {2, 1, 3}, {kHide, 0, 0, 0, kHide, kHide}), (Floats{2, 30}));
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {3, 3}, {kHide, kHide, kHide, 0, kHide, kHide, kHide, 0, kHide}),
            (Floats{1, 40}));
  // A row for each token.
  EXPECT_EQ(results(PagedParam::MASK_TYPE_SPEC, {2, 3}, {0, kHide, 0, kHide, kHide, 0}), (Floats{1, 50}));
}

TEST_F(PagedAttentionTest, AnAlibiMaskHasARowForEachHeadAndPerhapsSequence) {
  PagedProblem problem;
  problem.param = decoding(PagedParam::MASK_TYPE_ALIBI);
  problem.param.headNum = 2;
  problem.keys = {2, 2};
  problem.query = Floats(4, 0);
  problem.key = Floats(8, 1);
  problem.value = {1, 10, 2, 20, 3, 30, 4, 40};
  EXPECT_EQ(compute(with_mask(problem, {2, 1, 2}, {0, kHide, kHide, 0})), (Floats{1, 20, 3, 40}));
  EXPECT_EQ(compute(with_mask(problem, {2, 2, 1, 2}, {0, kHide, kHide, 0, kHide, 0, 0, kHide})),
            (Floats{1, 20, 4, 30}));
}

TEST_F(PagedAttentionTest, SeveralTokensTakeTheRowsOfTheirMask) {
  const auto results = [this](PagedParam::MaskType type, const std::vector<int64_t>& shape, const Floats& mask) {
    return compute(with_mask(equal_scores(spec(type), {2, 3}, {2, 2}, {1, 2, 30, 40, 50}), shape, mask));
  };
  const Floats causal = {0, kHide, kHide, 0, 0, kHide, 0, 0, 0};
  // The square one is of all positions, so that a token sees the keys up to its own.
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {3, 3}, causal), (Floats{1, 1.5F, 35, 40}));
  // Otherwise each sequence begins with the first row.
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {2, 3}, {0, kHide, kHide, kHide, 0, kHide}), (Floats{1, 2, 30, 40}));
  Floats planes(18, kHide);
  for (const size_t shown : {0, 4, 11, 13}) planes[shown] = 0;
  EXPECT_EQ(results(PagedParam::MASK_TYPE_NORM, {2, 3, 3}, planes), (Floats{1, 2, 50, 40}));
  EXPECT_EQ(
      results(PagedParam::MASK_TYPE_SPEC, {4, 3}, {0, kHide, kHide, kHide, 0, kHide, kHide, kHide, 0, 0, kHide, 0}),
      (Floats{1, 2, 50, 40}));
}

// One token beside several of another sequence.
TEST_F(PagedAttentionTest, SequencesOfOneAndOfSeveralTokensMayBeMixed) {
  const Floats values = {1, 2, 3, 30, 40, 50};
  const PagedProblem square = equal_scores(spec(PagedParam::MASK_TYPE_NORM), {3, 3}, {1, 2}, values);
  EXPECT_EQ(compute(with_mask(square, {3, 3}, {0, kHide, kHide, kHide, 0, kHide, kHide, 0, 0})),
            (Floats{2.5F, 40, 45}));
  const PagedProblem rows = equal_scores(spec(PagedParam::MASK_TYPE_SPEC), {3, 3}, {1, 2}, values);
  EXPECT_EQ(compute(with_mask(rows, {3, 3}, {0, kHide, kHide, kHide, 0, kHide, kHide, 0, 0})), (Floats{1, 40, 45}));
}

TEST_F(PagedAttentionTest, SeveralTokensDoNotSeeTheBlocksAfterThoseOfACausalMask) {
  // Two blocks of queries, of 128 and 16. The first one would see 128 keys, and all its rows do so without a mask.
  PagedProblem problem = equal_scores(spec(PagedParam::MASK_TYPE_NORM), {144}, {144}, counted(144));
  problem = with_mask(problem, {144, 144}, Floats(size_t{144} * 144, 0));
  Floats expected(128, 63.5F);
  expected.resize(144, 71.5F);
  EXPECT_EQ(compute(problem), expected);
  // With more keys than tokens the causal mask ends at the last key. The next block is seen as a whole.
  problem = equal_scores(spec(PagedParam::MASK_TYPE_NORM), {145}, {144}, counted(145));
  problem = with_mask(problem, {145, 145}, Floats(size_t{145} * 145, 0));
  expected.assign(128, 71.5F);
  expected.resize(144, 72);
  EXPECT_EQ(compute(problem), expected);
  // Each sequence counts from its own keys, but with MASK_TYPE_SPEC from those of the longest one.
  Floats values = counted(144);
  values.resize(144 + 160, 0);
  problem = equal_scores(spec(PagedParam::MASK_TYPE_NORM), {144, 160}, {144, 1}, values);
  problem = with_mask(problem, {160, 160}, Floats(size_t{160} * 160, 0));
  expected.assign(128, 63.5F);
  expected.resize(144, 71.5F);
  expected.push_back(0);
  EXPECT_EQ(compute(problem), expected);
  problem = equal_scores(spec(PagedParam::MASK_TYPE_SPEC), {144, 160}, {144, 1}, values);
  problem = with_mask(problem, {145, 160}, Floats(size_t{145} * 160, 0));
  expected.assign(144, 71.5F);
  expected.push_back(0);
  EXPECT_EQ(compute(problem), expected);
}

TEST_F(PagedAttentionTest, LargerHeadsHaveSmallerBlocksOfQueries) {
  // The first block of 64 queries sees 64 keys.
  PagedProblem problem = equal_scores(spec(PagedParam::MASK_TYPE_NORM), {80}, {80}, {});
  problem.head_size = 256;
  problem.query = problem.key = Floats(size_t{80} * 256, 0);
  for (size_t key = 0; key < 80; ++key) problem.value.insert(problem.value.end(), 256, static_cast<float>(key));
  Floats expected(size_t{64} * 256, 31.5F);
  expected.resize(size_t{80} * 256, 39.5F);
  EXPECT_EQ(compute(with_mask(problem, {80, 80}, Floats(6400, 0))), expected);
}

// ---- the arithmetic -------------------------------------------------------------------------------------------------

TEST_F(PagedAttentionTest, AScaleNearThatOfTheLastLaunchIsReplacedByIt) {
  PagedProblem problem = equal_scores(decoding(), {2}, {}, {1, 0});
  problem.query = {1};
  problem.key = {0x1p20F, 0};
  const auto with_scale = [&](float scale) {
    problem.param.qkScale = scale;
    return compute(problem);
  };
  const Floats first = with_scale(1e-6F);
  EXPECT_NEAR(first[0], 0.74F, 0.01F);
  EXPECT_EQ(with_scale(1e-7F), first);
  // Other lengths with the same shapes are another launch.
  problem.keys = {1};
  problem.key = problem.value = {1};
  compute(problem);
  problem.keys = {2};
  problem.key = {0x1p20F, 0};
  problem.value = {1, 0};
  EXPECT_NEAR(with_scale(1e-7F)[0], 0.526F, 0.01F);
}

TEST_F(PagedAttentionTest, ProbabilitiesAreRoundedToTheType) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    // The probabilities are 1 and exp(-1). The value of the first key is minus the rounded number, so the result is 0
    // only if the probability is rounded.
    PagedProblem problem = equal_scores(decoding(), {2}, {}, {-std::exp(-1.0F), 1});
    problem.dtype = dtype;
    problem.query = {1};
    problem.key = {0, -1};
    EXPECT_EQ(compute(problem), Floats{0});
  }
}

TEST_F(PagedAttentionTest, ScoresOfSeveralTokensInBinary16OverflowBeforeScaling) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    PagedProblem one = equal_scores(spec(PagedParam::MASK_TYPE_NORM), {2}, {1}, {1, 1});
    one.dtype = dtype;
    one.param.qkScale = 0.001F;
    one.query = {300};
    one.key = {300, 1};
    EXPECT_EQ(compute(with_mask(one, {2, 2}, Floats(4, 0))), Floats{1});
    PagedProblem two = one;
    two.tokens = {2};
    two.query = {300, 300};
    const Floats results = compute(with_mask(two, {2, 2}, Floats(4, 0)));
    for (const float result : results) EXPECT_EQ(std::isnan(result), dtype == ACL_FLOAT16);
  }
}

// The result in f64, from the rounded numbers that the tensors hold. The mask has a row for each token.
Floats reference(const PagedProblem& problem) {
  const auto d = static_cast<size_t>(problem.head_size);
  const auto value_d = static_cast<size_t>(problem.value_head_size > 0 ? problem.value_head_size : problem.head_size);
  const auto heads = static_cast<size_t>(problem.param.headNum);
  const auto kv_heads = static_cast<size_t>(problem.param.kvHeadNum);
  const auto at = [&](const Floats& values, size_t i) {
    return double{atb_library::round_to(problem.dtype, values[i])};
  };
  Floats out;
  size_t first_key = 0, token = 0;
  for (size_t s = 0; s < problem.keys.size(); ++s) {
    const auto keys = static_cast<size_t>(problem.keys[s]);
    const size_t tokens = problem.tokens.empty() ? 1 : static_cast<size_t>(problem.tokens[s]);
    for (size_t i = 0; i < tokens; ++i, ++token) {
      for (size_t h = 0; h < heads; ++h) {
        std::vector<double> sums(value_d, 0);
        double denominator = 0;
        for (size_t j = 0; j < keys; ++j) {
          const size_t key = (first_key + j) * kv_heads + h / (heads / kv_heads);
          double score = 0;
          for (size_t e = 0; e < d; ++e)
            score += at(problem.query, (token * heads + h) * d + e) * at(problem.key, key * d + e);
          score *= double{problem.param.qkScale};
          if (problem.mask_desc)
            score += at(problem.mask, token * static_cast<size_t>(problem.mask_desc->shape.dims[1]) + j);
          const double weight = std::exp(score);
          denominator += weight;
          for (size_t e = 0; e < value_d; ++e) sums[e] += weight * at(problem.value, key * value_d + e);
        }
        for (const double sum : sums) out.push_back(static_cast<float>(sum / denominator));
      }
    }
    first_key += keys;
  }
  return out;
}

class PagedResultsTest : public PagedAttentionTest {
 protected:
  static Floats random_numbers(std::mt19937& random, size_t count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    Floats numbers(count);
    for (float& number : numbers) number = uniform(random);
    return numbers;
  }

  // Four heads of queries and two of keys.
  static PagedProblem random_problem(std::mt19937& random, const PagedParam& param, aclDataType dtype,
                                     const Lengths& keys, const Lengths& tokens, int64_t value_head_size) {
    PagedProblem problem;
    problem.param = changed(param, [](PagedParam& p) { p.headNum = 4, p.kvHeadNum = 2, p.qkScale = 0.25F; });
    problem.dtype = dtype;
    problem.keys = keys;
    problem.tokens = tokens;
    problem.head_size = 16;
    problem.value_head_size = value_head_size;
    size_t num_keys = 0;
    for (const int32_t length : keys) num_keys += static_cast<size_t>(length);
    problem.query = random_numbers(random, problem.num_tokens() * 4 * 16);
    problem.key = random_numbers(random, num_keys * 2 * 16);
    problem.value = random_numbers(random, num_keys * 2 * static_cast<size_t>(value_head_size));
    return problem;
  }

  // Rows for the tokens that show the keys up to the token's own and add a number to each.
  static PagedProblem with_causal_rows(std::mt19937& random, PagedProblem problem) {
    const int32_t columns = *std::max_element(problem.keys.begin(), problem.keys.end());
    Floats mask;
    for (size_t s = 0; s < problem.keys.size(); ++s) {
      const int32_t tokens = problem.tokens.empty() ? 1 : problem.tokens[s];
      for (int32_t i = 0; i < tokens; ++i) {
        Floats row = random_numbers(random, static_cast<size_t>(columns));
        for (int32_t j = problem.keys[s] - tokens + i + 1; j < columns; ++j) row[static_cast<size_t>(j)] = kHide;
        mask.insert(mask.end(), row.begin(), row.end());
      }
    }
    const auto rows = static_cast<int64_t>(mask.size()) / columns;
    return with_mask(std::move(problem), {rows, columns}, mask);
  }

  // Values are below 1, so the rounding of a probability and that of the result each add at most one unit. The binary16
  // kernel rounds a score four times (it is below 16 before the scale, below 4 after it, below 5 with the mask, and the
  // difference of two below 10), and also the sum and the denominator.
  void expect_near_reference(const PagedProblem& problem, bool has_half_scores) {
    const Floats results = compute(problem);
    const Floats expected = reference(problem);
    ASSERT_EQ(results.size(), expected.size());
    const float unit = problem.dtype == ACL_FLOAT16 ? 0x1p-11F : 0x1p-8F;
    const float bound = unit * (has_half_scores ? 2.1F + 2 * (16 * 0.25F + 4 + 5 + 10) + 2 : 2.1F);
    for (size_t i = 0; i < results.size(); ++i) ASSERT_NEAR(results[i], expected[i], bound) << i;
  }
};

TEST_F(PagedResultsTest, OfOneTokenAreWithinTheRoundingErrorsOfTheType) {
  std::mt19937 random(1);
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    for (const int64_t block_size : {16, 128}) {
      for (const int64_t value_head_size : {16, 32}) {
        PagedProblem problem = random_problem(random, decoding(), dtype, {300, 1, 17, 128}, {}, value_head_size);
        problem.block_size = block_size;
        expect_near_reference(problem, false);
      }
    }
    expect_near_reference(
        with_causal_rows(random, random_problem(random, decoding(PagedParam::MASK_TYPE_SPEC), dtype, {40, 9}, {}, 16)),
        false);
  }
}

TEST_F(PagedResultsTest, OfSeveralTokensAreWithinTheRoundingErrorsOfTypeAndKernel) {
  std::mt19937 random(1);
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    for (const int64_t block_size : {16, 128}) {
      PagedProblem problem =
          random_problem(random, spec(PagedParam::MASK_TYPE_SPEC), dtype, {300, 150, 17, 130}, {2, 150, 1, 130}, 16);
      problem.block_size = block_size;
      expect_near_reference(with_causal_rows(random, problem), dtype == ACL_FLOAT16);
    }
  }
}

}  // namespace
}  // namespace ascend_sim
