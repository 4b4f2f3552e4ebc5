// SPDX-License-Identifier: Apache-2.0
#include "ops/cost.h"
#include "ops/attention.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/registry.h"
#include "ops/softmax.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace heed {
namespace {

Operand given(void* data = nullptr) {
  Operand operand;
  operand.data = data;
  operand.given = 1;
  for (int64_t& stride : operand.strides) stride = 1;
  return operand;
}

// All sizes differ. The test sets those of the heads.
AttentionProblem small_problem() {
  AttentionProblem problem;
  problem.batch = 2;
  problem.num_heads = 6;
  problem.num_kv_heads = 3;
  problem.limits = unlimited(5, 7);
  return problem;
}

TEST(Cost, CountsTheVisiblePairs) {
  std::mt19937 random(4);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 5000; ++i) {
    AttentionProblem problem;
    problem.batch = pick(0, 3);
    problem.num_heads = pick(1, 3);
    problem.num_kv_heads = 1;
    const int64_t num_queries = pick(0, 9);
    problem.limits = unlimited(num_queries, pick(0, 9));
    problem.head_size = pick(1, 5);
    problem.value_head_size = pick(0, 5);
    problem.limits.sequence.band_first = pick(-problem.limits.num_queries, problem.limits.num_keys);
    problem.limits.sequence.band_last = pick(-problem.limits.num_queries, problem.limits.num_keys);
    if (pick(0, 1) == 1) problem.output = given();
    if (pick(0, 1) == 1) problem.scoring = Scoring::Additive;
    std::vector<int64_t> lens(static_cast<size_t>(problem.batch * (problem.limits.num_queries + 1)));
    for (int64_t& length : lens) length = pick(0, problem.limits.num_keys);
    const int64_t kind = pick(0, 2);  // 0: no lengths, 1: one for each batch element, 2: one for each query
    if (kind > 0) {
      problem.limits.valid_lens = given(lens.data());
      problem.limits.valid_lens.dtype = DType::I64;
      problem.limits.valid_lens.strides[0] = kind == 1 ? 1 : problem.limits.num_queries;
      problem.limits.valid_lens.strides[2] = kind == 1 ? 0 : 1;
    }
    int64_t pairs = 0;
    for (int64_t b = 0; b < problem.batch; ++b) {
      for (int64_t q = 0; q < problem.limits.num_queries; ++q) {
        const int64_t length = kind == 0   ? problem.limits.num_keys
                               : kind == 1 ? lens[static_cast<size_t>(b)]
                                           : lens[static_cast<size_t>(b * problem.limits.num_queries + q)];
        for (int64_t k = 0; k < length; ++k) {
          pairs += k >= q + problem.limits.sequence.band_first && k <= q + problem.limits.sequence.band_last ? 1 : 0;
        }
      }
    }
    const int64_t of_score = (problem.scoring == Scoring::Additive ? 4 : 2) * problem.head_size;
    const int64_t of_value = problem.output.given != 0 ? 2 * problem.value_head_size : 0;
    ASSERT_EQ(cost_of(problem).flops, static_cast<double>(pairs * problem.num_heads * (of_score + of_value)))
        << "case " << i;
  }
}

TEST(Cost, CountsTheFewPairsOfANarrowBandInALongSequenceExactly) {
  AttentionProblem problem = small_problem();
  problem.limits = unlimited((int64_t{1} << 40) + 1, (int64_t{1} << 40) + 1);
  problem.batch = problem.num_heads = problem.head_size = 1;
  problem.limits.sequence.band_first = -1;
  problem.limits.sequence.band_last = 0;
  // Two keys for each query, except for the first.
  EXPECT_EQ(cost_of(problem).flops, 2.0 * (2.0 * ((int64_t{1} << 40) + 1) - 1));
  // Sizes whose product exceeds every 64-bit integer, and a band without limits.
  problem.limits = unlimited(INT64_MAX, INT64_MAX);
  EXPECT_EQ(cost_of(problem).flops, 0x1p127);
}

// However long the text is that the ring has seen.
TEST(Cost, CountsOfARingWhatItKeeps) {
  AttentionProblem problem = small_problem();
  problem.head_size = 8;
  problem.value_head_size = 5;
  problem.output.given = 1;
  problem.limits = unlimited(3, 100000);
  problem.cached.given = 1;
  problem.cached.appends = 1;
  problem.cached.sink_tiles = 1;
  problem.cached.ring_tiles = 12;
  problem.cached.visible_rows = 100;
  problem.cached.max_rows = (problem.cached.sink_tiles + problem.cached.ring_tiles) * kCacheTileRows;
  const auto heads = static_cast<double>(problem.batch * problem.num_heads);
  const auto of_pair = 2.0 * static_cast<double>(problem.head_size + problem.value_head_size);
  EXPECT_EQ(cost_of(problem).flops, heads * 3 * (100 + kCacheTileRows) * of_pair);
  const double bytes = cost_of(problem).bytes;
  problem.limits = unlimited(3, 200000);
  EXPECT_EQ(cost_of(problem).bytes, bytes);
  // Fewer rows than the ring keeps.
  problem.limits = unlimited(3, 50);
  EXPECT_EQ(cost_of(problem).flops, heads * 3 * 50 * of_pair);
}

TEST(Cost, CountsRepeatedOperandsOnce) {
  AttentionProblem problem = small_problem();
  problem.head_size = 8;
  problem.value_head_size = 4;
  problem.queries = given();
  problem.keys = given();
  problem.values = given();
  problem.values.dtype = DType::F16;
  problem.mask = given();
  problem.mask.dtype = DType::Bool;
  problem.mask.strides[1] = 0;
  problem.output = given();
  EXPECT_EQ(cost_of(problem).bytes,
            4.0 * 2 * 6 * 5 * 8 + 4.0 * 2 * 3 * 7 * 8 + 2.0 * 2 * 3 * 7 * 4 + 2.0 * 5 * 7 + 4.0 * 2 * 6 * 5 * 4);
  // The weights of additive scores: one row for each query head, whatever the batch.
  const double without = cost_of(problem).bytes;
  problem.score_weights = given();
  problem.score_weights.dtype = DType::F16;
  problem.score_weights.strides[0] = problem.score_weights.strides[2] = 0;
  EXPECT_EQ(cost_of(problem).bytes, without + 2.0 * 6 * 8);
}

TEST(Cost, OfAttentionBackwardIsThatOfFiveProductsForTwo) {
  AttentionBackwardProblem problem;
  problem.forward = small_problem();
  problem.forward.head_size = 8;
  problem.forward.value_head_size = 4;
  problem.forward.output = given();
  problem.output_gradient = given();
  problem.bias_gradient = given();
  problem.bias_gradient.strides[0] = problem.bias_gradient.strides[1] = 0;
  EXPECT_EQ(cost_of(problem.op).flops, 2.5 * cost_of(problem.forward).flops);
  EXPECT_EQ(cost_of(problem.op).bytes, 2 * 4.0 * 2 * 6 * 5 * 4 + 4.0 * 5 * 7);
}

TEST(Cost, OfAnActivation) {
  ActivateProblem problem;
  problem.activation = Activation::Silu;
  problem.sizes[6] = 3;
  problem.sizes[7] = 5;
  problem.input.given = problem.output.given = 1;
  problem.input.strides[6] = problem.output.strides[6] = 5;
  problem.input.strides[7] = problem.output.strides[7] = 1;
  problem.output.dtype = DType::F16;
  EXPECT_EQ(cost_of(problem.op).flops, 3.0 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4.0 * 15 + 2.0 * 15);
}

TEST(Cost, OfALinearOperation) {
  LinearProblem problem;
  problem.batch = 2;
  problem.rows = 3;
  problem.input_size = 5;
  problem.input = given();
  LinearPart& first = problem.parts[0];
  first.output_size = first.head_size = 7;
  first.weight = given();
  first.bias = given();
  first.output = given();
  first.output.dtype = DType::BF16;
  const double first_flops = 2.0 * 2 * 3 * 5 * 7;
  const double first_bytes = 4.0 * 2 * 3 * 5 + 4.0 * 7 * 5 + 4.0 * 7 + 2.0 * 2 * 3 * 7;
  EXPECT_EQ(cost_of(problem).flops, first_flops);
  EXPECT_EQ(cost_of(problem).bytes, first_bytes);

  // More parts do not read the input again. A packed weight is read instead of the plain one.
  problem.num_parts = 2;
  LinearPart& second = problem.parts[1];
  second.output_size = 8;
  second.head_size = 4;
  second.weight = given();
  second.weight.dtype = DType::F16;
  second.is_packed = 1;
  second.output = given();
  EXPECT_EQ(cost_of(problem).flops, first_flops + 2.0 * 2 * 3 * 5 * 8);
  EXPECT_EQ(cost_of(problem).bytes, first_bytes + 2.0 * 8 * 5 + 4.0 * 2 * 3 * 8);

  problem.num_parts = 0;
  EXPECT_EQ(cost_of(problem).bytes, 4.0 * 2 * 3 * 5);
}

TEST(Cost, OfALinearOperationCountsWhatFollowsTheSums) {
  LinearProblem problem;
  problem.batch = 2;
  problem.rows = 3;
  problem.input_size = 5;
  LinearPart& part = problem.parts[0];
  part.output_size = part.head_size = 7;
  const double sums = 2.0 * 2 * 3 * 5 * 7;
  const double outputs = 2.0 * 3 * 7;
  part.scale = 0.5F;
  EXPECT_EQ(cost_of(problem).flops, sums + outputs);
  part.soft_cap = 30;
  EXPECT_EQ(cost_of(problem).flops, sums + 4 * outputs);
  EXPECT_EQ(cost_of(problem).bytes, 0);
  part.scale = 1;
  part.activation = Activation::Silu;
  part.factor = part.addend = given();
  part.addend.dtype = DType::F16;
  EXPECT_EQ(cost_of(problem).flops, sums + 8 * outputs);
  EXPECT_EQ(cost_of(problem).bytes, 6 * outputs);
  part.sum = given();
  EXPECT_EQ(cost_of(problem).bytes, 10 * outputs);
}

// The keys of two batch elements, with lengths 3 and 5 of 7.
TEST(Cost, OfALinearOperationCountsTheRowsThatAreWanted) {
  int32_t lens[] = {3, 5};
  LinearProblem problem;
  problem.batch = 2;
  problem.rows = 7;
  problem.input_size = 5;
  problem.input = given();
  problem.limits = unlimited(2, 7);
  problem.limits.valid_lens = given(lens);
  problem.limits.valid_lens.dtype = DType::I32;
  problem.limits.valid_lens.strides[2] = 0;
  LinearPart& part = problem.parts[0];
  part.output_size = 8;
  part.head_size = 4;
  part.weight = given();
  part.output = given();
  part.wanted_rows = WantedRows::Visible;
  const double weight = 4.0 * 8 * 5;
  const double output = 4.0 * (3 + 5) * 8;
  EXPECT_EQ(cost_of(problem).flops, 2.0 * (3 + 5) * 5 * 8);
  EXPECT_EQ(cost_of(problem).bytes, weight + output + 4.0 * (3 + 5) * 5);

  // With one input for the whole batch, the rows that any batch element wants are read. Then a single row for all.
  problem.input.strides[1] = 0;
  EXPECT_EQ(cost_of(problem).bytes, weight + output + 4.0 * 5 * 5);
  problem.input.strides[1] = 1;
  problem.input.strides[2] = 0;
  EXPECT_EQ(cost_of(problem).bytes, weight + output + 4.0 * 2 * 5);
  problem.input.strides[2] = 1;
  problem.input.strides[1] = 0;
  problem.batch = 1;
  EXPECT_EQ(cost_of(problem).bytes, weight + 4.0 * 3 * 8 + 4.0 * 3 * 5);
  problem.input.strides[1] = 1;
  problem.batch = 2;

  // If parts want different rows, the rows that any of them wants are read.
  problem.num_parts = 3;
  problem.parts[1] = problem.parts[2] = part;
  part.wanted_rows = WantedRows::All;
  EXPECT_EQ(cost_of(problem).flops, 2.0 * (14 + 8 + 8) * 5 * 8);
  EXPECT_EQ(cost_of(problem).bytes, 3 * weight + 4.0 * 14 * 8 + 2 * output + 4.0 * 14 * 5);
}

TEST(Cost, BytesAreThoseOfEveryOperandOnce) {
  AttentionProblem problem = small_problem();
  problem.head_size = 11;
  problem.value_head_size = 13;
  for (Operand* operand : {&problem.queries, &problem.keys, &problem.values, &problem.mask, &problem.bias,
                           &problem.output, &problem.weights, &problem.log_sum_exp}) {
    *operand = given();
  }
  problem.mask.dtype = DType::Bool;
  problem.log_sum_exp.strides[3] = 0;
  problem.score_weights = given();
  problem.score_weights.strides[0] = 0;
  problem.score_weights.strides[2] = 0;
  problem.limits.valid_lens = given();
  problem.limits.valid_lens.dtype = DType::I64;
  problem.limits.valid_lens.strides[1] = 0;
  problem.limits.valid_lens.strides[3] = 0;
  const int64_t pairs = int64_t{2} * 6 * 5 * 7;
  const int64_t two = 2;
  const int64_t f32 = two * 6 * 5 * 11 + two * 3 * 7 * 11 + two * 3 * 7 * 13 + two * 3 * 11 + pairs + two * 6 * 5 * 13 +
                      pairs + two * 6 * 5;
  EXPECT_EQ(cost_of(problem).bytes, static_cast<double>(4 * f32 + pairs + 8 * two * 5));
}

TEST(Cost, BytesAreTheSameWhateverTheStridesOfAxesThatAnOperandDoesNotHave) {
  AttentionProblem problem = small_problem();
  problem.head_size = 11;
  problem.score_weights = problem.limits.valid_lens = problem.log_sum_exp = given();
  EXPECT_EQ(cost_of(problem).bytes, 4 * (6 * 11 + 2 * 5 + 2 * 6 * 5));
}

TEST(Cost, OfDropoutIsAnOperationForEachElementWhereSomeAreDropped) {
  DropoutProblem problem;
  problem.sizes[6] = 3;
  problem.sizes[7] = 5;
  problem.input.given = problem.output.given = 1;
  problem.input.dtype = DType::F16;
  problem.input.strides[7] = 1;  // one row, repeated
  problem.output.strides[6] = 5;
  problem.output.strides[7] = 1;
  EXPECT_EQ(cost_of(problem).flops, 0);
  EXPECT_EQ(cost_of(problem).bytes, 5 * 2 + 15 * 4);
  problem.dropout = 0.5F;
  EXPECT_EQ(cost_of(problem).flops, 15);
}

TEST(Cost, OfAnEmbeddingIsThatOfItsScaleAndAddend) {
  EmbeddingProblem problem;
  problem.sizes[6] = 3;
  problem.sizes[7] = 5;
  problem.num_table_rows = 2;
  problem.table.given = problem.output.given = 1;
  problem.table.dtype = DType::F16;
  problem.output.strides[6] = 5;
  problem.output.strides[7] = 1;
  EXPECT_EQ(cost_of(problem).flops, 0);
  EXPECT_EQ(cost_of(problem).bytes, 2 * 5 * 2 + 15 * 4);
  problem.addend.given = 1;
  problem.addend.dtype = DType::BF16;
  problem.addend.strides[7] = 1;  // one row, repeated
  EXPECT_EQ(cost_of(problem).flops, 15);
  EXPECT_EQ(cost_of(problem).bytes, 2 * 5 * 2 + 5 * 2 + 15 * 4);
  problem.scale = 2;
  EXPECT_EQ(cost_of(problem.op).flops, 30);
}

TEST(Cost, OfASoftmaxIsFourOperationsForEachScore) {
  SoftmaxProblem problem;
  problem.batch = 2;
  problem.num_heads = 3;
  problem.num_queries = 5;
  problem.num_keys = 7;
  problem.scores = problem.weights = given();
  problem.scores.dtype = DType::F16;
  problem.scores.strides[1] = 0;  // the same scores for every head
  EXPECT_EQ(cost_of(problem).flops, 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(cost_of(problem).bytes, 2 * (2 * 5 * 7) + 4 * (2 * 3 * 5 * 7));
  // One length for each batch element.
  problem.valid_lens = given();
  problem.valid_lens.dtype = DType::I64;
  problem.valid_lens.strides[2] = 0;
  EXPECT_EQ(cost_of(problem).flops, 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(cost_of(problem).bytes, 2 * (2 * 5 * 7) + 4 * (2 * 3 * 5 * 7) + 8 * 2);
}

TEST(Cost, OfANormIsThatOfItsTermsForEachElement) {
  NormProblem problem;
  problem.sizes[6] = 3;
  problem.sizes[7] = 5;
  for (ElementwiseOperand* operand : {&problem.input, &problem.output}) {
    operand->given = 1;
    operand->strides[6] = 5;
    operand->strides[7] = 1;
  }
  problem.weight = given();
  problem.weight.dtype = DType::F16;
  problem.kind = NormKind::Rms;
  EXPECT_EQ(cost_of(problem).flops, 4 * 15);
  EXPECT_EQ(cost_of(problem).bytes, 2 * (4 * 15) + 2 * 5);
  problem.kind = NormKind::Layer;
  problem.bias = given();
  EXPECT_EQ(cost_of(problem).flops, 7 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 2 * (4 * 15) + 2 * 5 + 4 * 5);
}

TEST(Cost, OfPositionsIsAnAdditionForEachElement) {
  PositionsProblem problem;
  problem.batch = 2;
  problem.limits = unlimited(3, 3);
  problem.size = 5;
  problem.num_table_rows = 7;
  problem.table = problem.input = problem.output = given();
  problem.table.dtype = DType::BF16;
  EXPECT_EQ(cost_of(problem.op).flops, 2 * 3 * 5);
  EXPECT_EQ(cost_of(problem.op).bytes, 2 * (7 * 5) + 2 * (4 * 2 * 3 * 5));
}

TEST(Cost, OfRotationsIsAComplexProductForEachPair) {
  RotationsProblem problem;
  problem.batch = 2;
  problem.limits = unlimited(3, 7);
  problem.num_pairs = 4;
  problem.output = given();
  EXPECT_EQ(cost_of(problem.op).flops, 6 * (2 * 3 * 4));
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (2 * 3 * 8));
  problem.of_keys = 1;
  EXPECT_EQ(cost_of(problem.op).flops, 6 * (2 * 7 * 4));
}

ElementwiseOperand row_major(const int64_t (&sizes)[kElementwiseRank], DType dtype) {
  ElementwiseOperand operand;
  operand.given = 1;
  operand.dtype = dtype;
  int64_t stride = 1;
  for (int axis = kElementwiseRank - 1; axis >= 0; --axis) {
    operand.strides[axis] = stride;
    stride *= sizes[axis];
  }
  return operand;
}

TEST(Cost, OfArrays) {
  ElementwiseProblem sum;
  sum.sizes[6] = 3;
  sum.sizes[7] = 5;
  sum.inputs[0] = row_major(sum.sizes, DType::F32);
  sum.inputs[1] = row_major(sum.sizes, DType::F16);
  // One row that is repeated.
  sum.inputs[1].strides[6] = 0;
  sum.output = row_major(sum.sizes, DType::F32);
  EXPECT_EQ(cost_of(sum.op).flops, 15);
  EXPECT_EQ(cost_of(sum.op).bytes, 4 * 15 + 2 * 5 + 4 * 15);

  ReduceProblem reduction;
  reduction.sizes[6] = 3;
  reduction.sizes[7] = 5;
  reduction.num_reduced = 1;
  reduction.input = row_major(reduction.sizes, DType::F32);
  reduction.output = row_major({1, 1, 1, 1, 1, 1, 3, 1}, DType::F32);
  EXPECT_EQ(cost_of(reduction.op).flops, 15);
  EXPECT_EQ(cost_of(reduction.op).bytes, 4 * (15 + 3));
  reduction.reduction = Reduction::Norm;
  EXPECT_EQ(cost_of(reduction.op).flops, 30);

  CumulativeSumProblem sums;
  sums.sizes[7] = 6;
  sums.input = row_major(sums.sizes, DType::I32);
  sums.output = row_major(sums.sizes, DType::I64);
  EXPECT_EQ(cost_of(sums.op).flops, 6);
  EXPECT_EQ(cost_of(sums.op).bytes, 6 * (4 + 8));

  SortProblem sort;
  sort.sizes[6] = 2;
  sort.sizes[7] = 7;
  sort.num_wanted = 3;
  sort.input = row_major(sort.sizes, DType::F32);
  sort.indices = row_major({1, 1, 1, 1, 1, 1, 2, 3}, DType::I64);
  EXPECT_EQ(cost_of(sort.op).flops, 14 * 3);
  EXPECT_EQ(cost_of(sort.op).bytes, 4 * 14 + 8 * 6);

  GatherProblem gather;
  gather.sizes[6] = 4;
  gather.sizes[7] = 5;
  gather.axis = 6;
  gather.axis_size = 100;
  gather.indices = row_major({1, 1, 1, 1, 1, 1, 4, 1}, DType::I32);
  gather.indices.strides[7] = 0;
  gather.output = row_major(gather.sizes, DType::F32);
  EXPECT_EQ(cost_of(gather.op).flops, 0);
  EXPECT_EQ(cost_of(gather.op).bytes, 2 * 4 * 20 + 4 * 4);

  MatmulProblem matmul;
  matmul.sizes[5] = 2;
  matmul.sizes[6] = 3;
  matmul.sizes[7] = 4;
  matmul.inner_size = 5;
  matmul.a = row_major({1, 1, 1, 1, 1, 2, 3, 5}, DType::F64);
  matmul.b = row_major({1, 1, 1, 1, 1, 1, 5, 4}, DType::F64);
  matmul.b.strides[5] = 0;
  matmul.product = row_major(matmul.sizes, DType::F64);
  EXPECT_EQ(cost_of(matmul.op).flops, 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(cost_of(matmul.op).bytes, 8 * (30 + 20 + 24));

  RotateProblem rotate;
  rotate.batch = 2;
  rotate.num_heads = 3;
  rotate.length = rotate.num_positions = 5;
  rotate.row_size = 8;
  rotate.rotary_size = 6;
  rotate.input.given = rotate.output.given = rotate.cosines.given = 1;
  std::copy_n(std::array<int64_t, 4>{120, 40, 8, 1}.begin(), 4, rotate.input.strides);
  std::copy_n(rotate.input.strides, 4, rotate.output.strides);
  rotate.cosines.strides[2] = 3;
  rotate.cosines.strides[3] = 1;
  EXPECT_EQ(cost_of(rotate.op).flops, 2 * 3 * 5 * 3 * 6);
  EXPECT_EQ(cost_of(rotate.op).bytes, 4 * (240 + 240 + 15));

  CrossEntropyProblem entropy;
  entropy.batch = 2;
  entropy.num_steps = 3;
  entropy.num_classes = 10;
  const auto set_strides = [](Operand& operand, DType dtype, const std::array<int64_t, 4>& strides) {
    operand.given = 1;
    operand.dtype = dtype;
    std::copy_n(strides.begin(), 4, operand.strides);
  };
  set_strides(entropy.logits, DType::F32, {30, 0, 10, 1});
  set_strides(entropy.labels, DType::I64, {3, 0, 1, 0});
  set_strides(entropy.losses, DType::F64, {3, 0, 1, 0});
  EXPECT_EQ(cost_of(entropy.op).flops, 3 * 60);
  EXPECT_EQ(cost_of(entropy.op).bytes, 4 * 60 + (8 + 8) * 6);
  entropy.gradient = entropy.logits;
  EXPECT_EQ(cost_of(entropy.op).flops, 5 * 60);
  EXPECT_EQ(cost_of(entropy.op).bytes, 2 * 4 * 60 + (8 + 8) * 6);
}

TEST(Cost, OfAWeightGradientIsThatOfTheGradientsThatAreWanted) {
  WeightGradientProblem problem;
  problem.batch = 2;
  problem.rows = 3;
  problem.input_size = 5;
  problem.output_size = 7;
  problem.head_size = 7;
  problem.output_gradient = problem.input = problem.weight_gradient = given();
  EXPECT_EQ(cost_of(problem.op).flops, 2 * 6 * 5 * 7);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (6 * 7 + 6 * 5 + 7 * 5));
  problem.weight_gradient = {};
  problem.bias_gradient = given();
  EXPECT_EQ(cost_of(problem.op).flops, 6 * 7);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (6 * 7 + 6 * 5 + 7));
}

// Three rows of five elements.
template <typename Problem>
void give_rows(Problem& problem, std::initializer_list<ElementwiseOperand*> operands) {
  problem.sizes[6] = 3;
  problem.sizes[7] = 5;
  for (ElementwiseOperand* operand : operands) {
    operand->given = 1;
    operand->strides[6] = 5;
    operand->strides[7] = 1;
  }
}

TEST(Cost, OfTheGradientsOfANorm) {
  NormBackwardProblem problem;
  give_rows(problem, {&problem.output_gradient, &problem.input, &problem.input_gradient});
  problem.weight = given();
  problem.kind = NormKind::Rms;
  EXPECT_EQ(cost_of(problem.op).flops, 12 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (3 * 15 + 5));
  problem.kind = NormKind::Layer;
  problem.weight_gradient = problem.bias_gradient = given();
  give_rows(problem, {&problem.addend});
  EXPECT_EQ(cost_of(problem.op).flops, 17 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (4 * 15 + 3 * 5));
}

TEST(Cost, OfTheGradientsOfAnActivation) {
  ActivateBackwardProblem problem;
  give_rows(problem, {&problem.output_gradient, &problem.sum, &problem.sum_gradient});
  problem.activation = Activation::Silu;
  EXPECT_EQ(cost_of(problem.op).flops, 7 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * 3 * 15);
  problem.soft_cap = 30;
  give_rows(problem, {&problem.factor, &problem.factor_gradient});
  EXPECT_EQ(cost_of(problem.op).flops, 14 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * 5 * 15);
}

TEST(Cost, OfTheGradientOfATable) {
  EmbeddingBackwardProblem problem;
  give_rows(problem, {&problem.output_gradient});
  problem.num_table_rows = 7;
  problem.table_gradient = given();
  EXPECT_EQ(cost_of(problem.op).flops, 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (15 + 7 * 5));
  problem.scale = 2;
  EXPECT_EQ(cost_of(problem.op).flops, 30);
}

TEST(Cost, OfTheGradientsOfTransformedHeads) {
  HeadTransformBackwardProblem problem;
  problem.num_heads = 2;
  problem.batch = 3;
  problem.rows = 5;
  problem.head_size = 8;
  problem.transform.layout = RotaryLayout::Half;
  problem.transform.rotary_size = 6;
  problem.output_gradient = problem.sum_gradient = problem.transform.rotations = given();
  EXPECT_EQ(cost_of(problem.op).flops, 240 * 3);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (2 * 240 + 15 * 6));
  problem.transform.norm = NormKind::Rms;
  problem.transform.norm_weight = problem.sum = problem.norm_weight_gradient = given();
  EXPECT_EQ(cost_of(problem.op).flops, 240 * 15);
  EXPECT_EQ(cost_of(problem.op).bytes, 4 * (3 * 240 + 15 * 6 + 2 * 2 * 8));
}

TEST(Cost, OfAnOperationIsThatOfItsProblem) {
  LinearProblem linear;
  linear.batch = linear.rows = linear.input_size = 3;
  linear.parts[0].output_size = linear.parts[0].head_size = 5;
  AttentionProblem attention = small_problem();
  attention.head_size = 2;
  attention.limits.sequence.band_first = -5;
  attention.limits.sequence.band_last = 7;
  SoftmaxProblem softmax;
  softmax.batch = softmax.num_heads = softmax.num_queries = softmax.num_keys = 2;
  DropoutProblem dropout;
  dropout.dropout = 0.5F;
  EXPECT_EQ(cost_of(linear.op).flops, 2 * 3 * 3 * 3 * 5);
  EXPECT_EQ(cost_of(attention.op).flops, 2 * 6 * 5 * 7 * (2 * 2));
  EXPECT_EQ(cost_of(softmax.op).flops, 4 * 16);
  EXPECT_EQ(cost_of(dropout.op).flops, 1);
  MergePart parts[2];
  MergeProblem merge;
  merge.sizes[6] = 3;
  merge.sizes[7] = 5;
  merge.parts = parts;
  merge.num_parts = 2;
  EXPECT_EQ(cost_of(merge.op).flops, 2 * (3 * 3 + 2 * 15));
}

}  // namespace
}  // namespace heed
