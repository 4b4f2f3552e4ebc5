// SPDX-License-Identifier: Apache-2.0
// Norms, activations, embeddings and positions of rows in the NPU's memory: in which dtype they are computed, and
// operands that share memory or whose rows are too far apart. The property tests compare random calls with the f64 reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "ascend/support/problem.h"
#include "base/sentence.h"
#include "ops/activate.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/norm.h"
#include "ops/positions.h"

namespace heed {
namespace {

constexpr DType kDTypes[] = {DType::F16, DType::BF16, DType::F32};

void set_sizes(Sizes<kElementwiseRank>& sizes, int64_t rows, int64_t size) {
  sizes[kElementwiseRank - 2] = rows;
  sizes[kElementwiseRank - 1] = size;
}

class Rows {
 public:
  Rows(const std::shared_ptr<Context>& context, DType dtype, NormKind kind, const std::vector<float>& numbers,
       int64_t size)
      : context_(context),
        weight_(tensor_of(context, dtype, {size}, std::vector<float>(static_cast<size_t>(size), 1.0f))),
        input(tensor_of(context, dtype, {num_rows(numbers, size), size}, numbers)),
        output(tensor_of(context, dtype, input.shape(), std::vector<float>(numbers.size(), 7.0f))) {
    set_sizes(problem.sizes, input.dim(0), size);
    problem.kind = kind;
    problem.epsilon = 1e-5f;
    set(problem.input, input, size);
    set(problem.output, output, size);
    set(problem.weight, weight_, 0);
  }

  static int64_t num_rows(const std::vector<float>& numbers, int64_t size) {
    return static_cast<int64_t>(numbers.size()) / size;
  }

  std::vector<float> run() const { return heed::run(context_, problem.op, output); }
  Plan plan() const { return context_->plan(problem.op); }

 private:
  std::shared_ptr<Context> context_;
  Tensor weight_;

 public:
  Tensor input;
  Tensor output;
  NormProblem problem;
};

const std::vector<float> kTwoRows = {1, 3, 10, 20};
const std::vector<float> kNormalized = {-1, 1, -1, 1};

// A row of 16 equal numbers, whose root mean square is that number.
std::vector<float> of_sixteen(float number) { return std::vector<float>(16, number); }

TEST(RowsOnTheNpu, LayerNormsAreThoseOfATB) {
  for (const bool narrows : {false, true}) {
    const auto context = Context::open(simulated_npu(narrows));
    for (const DType dtype : kDTypes) {
      const Rows rows(context, dtype, NormKind::Layer, kTwoRows, 2);
      EXPECT_EQ(rows.plan().on_host, 0);
      EXPECT_STREQ(rows.plan().kernel, "ATB LayerNorm");
      const std::vector<float> found = rows.run();
      for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], kNormalized[i], 1e-5f) << name_of(dtype);
    }
  }
}

// Two epsilons below 1e-6, of which neither replaces the other: rows of +-2^-18 have a variance of 2^-36, 1.46e-11.
TEST(RowsOnTheNpu, SmallEpsilonsOfLayerNormsAreToldApart) {
  const auto context = Context::open(simulated_npu());
  for (const DType dtype : kDTypes) {
    for (const float epsilon : {1e-12f, 1e-7f, 0x1p-36f, 5e-10f}) {
      Rows rows(context, dtype, NormKind::Layer, {0x1p-18f, -0x1p-18f}, 2);
      rows.problem.epsilon = epsilon;
      const double expected = 0x1p-18 / std::sqrt(0x1p-36 + static_cast<double>(epsilon));
      EXPECT_NEAR(rows.run()[0], expected, expected * (dtype == DType::BF16 ? 0x1p-8 : 0x1p-10)) << epsilon;
    }
  }
}

TEST(RowsOnTheNpu, LayerNormsWithAnEpsilonThatScalesRowsTooMuchAreComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  Rows rows(context, DType::F16, NormKind::Layer, {60000, -60000}, 2);
  rows.problem.epsilon = 1e-12f;
  EXPECT_EQ(rows.plan().on_host, 0);
  EXPECT_EQ(rows.run(), (std::vector<float>{1, -1}));
  rows.problem.epsilon = 1e-30f;
  EXPECT_STREQ(rows.plan().not_fastest[0], "ATB's LayerNorm cannot tell epsilons below 2.3e-13 apart");
  EXPECT_EQ(rows.run(), (std::vector<float>{1, -1}));
}

// 1 + 2^-13 is a number of F32 only, and -1 added to it one of F16 too.
TEST(RowsOnTheNpu, LayerNormsOfSixteenBitsKeepTheDigitsOfABiasAndAnAddendInF32) {
  const auto context = Context::open(simulated_npu(false));
  const Tensor finer = tensor_of(context, DType::F32, {2}, {1 + 0x1p-13f, 1 + 0x1p-13f});
  Rows with_bias(context, DType::F16, NormKind::Layer, {-256, 256}, 2);
  set(with_bias.problem.bias, finer, 0);
  Rows with_addend(context, DType::F16, NormKind::Layer, {-256, 256}, 2);
  set(with_addend.problem.addend, finer, 2);
  for (const Rows* rows : {&with_bias, &with_addend}) {
    EXPECT_EQ(rows->plan().on_host, 0);
    EXPECT_EQ(rows->run(), (std::vector<float>{0x1p-13f, 2}));
  }
}

TEST(RowsOnTheNpu, RmsNormsOfSixteenBitsAreThoseOfATB) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const auto context = Context::open(simulated_npu(false));
    Rows rows(context, dtype, NormKind::Rms, of_sixteen(3), 16);
    rows.problem.epsilon = 7.0f;
    EXPECT_EQ(rows.plan().on_host, 0);
    EXPECT_EQ(rows.run(), of_sixteen(0.75f));
  }
}

// F32 keeps its digits unless the context allows to narrow it.
TEST(RowsOnTheNpu, RmsNormsOfF32AreNarrowedOnlyWhereThatIsAllowed) {
  for (const bool narrows : {false, true}) {
    const auto context = Context::open(simulated_npu(narrows));
    // Rounded to BF16 it is 1.
    Rows rows(context, DType::F32, NormKind::Rms, of_sixteen(1.001f), 16);
    rows.problem.epsilon = 1.0f;
    EXPECT_EQ(rows.plan().on_host, narrows ? 0 : 1);
    const std::vector<float> found = rows.run();
    const double expected = narrows ? 0.70703125 : 1.001 / std::sqrt(1.001 * 1.001 + 1.0);
    EXPECT_NEAR(found[5], expected, 1e-7);
  }
}

TEST(RowsOnTheNpu, RmsNormsThatATBDoesNotTakeAreComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  Rows narrow(context, DType::F16, NormKind::Rms, {3, 3}, 2);
  EXPECT_STREQ(narrow.plan().not_fastest[0], "ATB's RmsNorm takes only rows whose size is a multiple of 16");
  narrow.problem.epsilon = 7.0f;
  EXPECT_EQ(narrow.run(), (std::vector<float>{0.75f, 0.75f}));
  Rows small(context, DType::F16, NormKind::Rms, of_sixteen(3), 16);
  small.problem.epsilon = 1e-7f;
  EXPECT_STREQ(small.plan().not_fastest[0], "ATB's RmsNorm cannot tell epsilons below 1e-6 apart");
  EXPECT_EQ(small.run(), of_sixteen(1.0f));
}

// Rows that are too far apart for a gather, in each operand: planned only.
TEST(RowsOnTheNpu, OperandsOutOfReachAreComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  const auto expect_on_host = [&](const Op& op) {
    const Plan plan = context->plan(op);
    EXPECT_EQ(plan.on_host, 1);
    EXPECT_EQ(said_in_c(plan.not_fastest[0]),
              "a tensor steps over more elements than the device can gather, expected a dense copy of it");
  };
  constexpr int64_t kFar = 1'000'000;
  Rows rows(context, DType::F16, NormKind::Layer, kTwoRows, 2);
  rows.problem.input.strides[kElementwiseRank - 2] = kFar;
  expect_on_host(rows.problem.op);

  ActivateProblem activation;
  activation.activation = Activation::Relu;
  set_sizes(activation.sizes, 2, 2);
  activation.input = rows.problem.input;
  activation.output = rows.problem.output;
  expect_on_host(activation.op);

  DropoutProblem copy;
  set_sizes(copy.sizes, 2, 2);
  copy.input = rows.problem.input;
  copy.output = rows.problem.output;
  expect_on_host(copy.op);

  EmbeddingProblem embedding;
  set_sizes(embedding.sizes, 2, 2);
  embedding.num_table_rows = 3;
  set(embedding.table, rows.input, kFar);
  embedding.output = rows.problem.output;
  expect_on_host(embedding.op);

  PositionsProblem positions;
  positions.batch = 1;
  positions.limits = unlimited(2, 2);
  positions.size = 2;
  positions.num_table_rows = 3;
  set(positions.table, rows.input, kFar);
  set(positions.input, rows.input, 2);
  set(positions.output, rows.output, 2);
  expect_on_host(positions.op);
}

TEST(RowsOnTheNpu, NormsMayWriteWhereTheyRead) {
  const auto context = Context::open(simulated_npu());
  Rows rows(context, DType::BF16, NormKind::Layer, kTwoRows, 2);
  rows.problem.output = rows.problem.input;
  rows.output = rows.input;
  EXPECT_EQ(rows.run(), kNormalized);
}

TEST(RowsOnTheNpu, NormsAddWhatMayBeTheirOutput) {
  const auto context = Context::open(simulated_npu());
  Rows rows(context, DType::BF16, NormKind::Layer, kTwoRows, 2);
  rows.problem.addend = rows.problem.output;
  EXPECT_EQ(rows.run(), (std::vector<float>{6, 8, 6, 8}));
}

TEST(RowsOnTheNpu, NormsOfRowsThatAreNoQueriesAreZero) {
  const auto context = Context::open(simulated_npu());
  Rows rows(context, DType::BF16, NormKind::Layer, kTwoRows, 2);
  rows.problem.has_limits = 1;
  rows.problem.limits = unlimited(2, 2);
  rows.problem.limits.sequence.query_count = 1;
  EXPECT_EQ(rows.run(), (std::vector<float>{-1, 1, 0, 0}));
}

// As in F32, with one rounding to the output's dtype.
TEST(RowsOnTheNpu, EmbeddingsRoundOnceAsOnTheHost) {
  const auto context = Context::open(simulated_npu(false));
  const int32_t ids[] = {2, 0};
  const Tensor table = tensor_of(context, DType::F16, {3, 2}, {1, 2, 3, 4, 5, 683});
  EmbeddingProblem problem;
  set_sizes(problem.sizes, 2, 2);
  problem.ids = ids;
  problem.num_table_rows = 3;
  set(problem.table, table, 2);
  const Tensor output = Tensor::zeros(context, DType::F16, {2, 2});
  set(problem.output, output, 2);
  EXPECT_EQ(context->plan(problem.op).on_host, 0);
  EXPECT_STREQ(context->plan(problem.op).kernel, "ATB Gather");
  EXPECT_EQ(run(context, problem.op, output), (std::vector<float>{5, 683, 1, 2}));

  // 683 * 3 = 2049 is a number of F32 only: rounded to F16 it is 2048, and so is its sum with 1.
  problem.scale = 3;
  const Tensor ones = tensor_of(context, DType::F16, {2, 2}, {1, 1, 1, 1});
  set(problem.addend, ones, 2);
  EXPECT_STREQ(context->plan(problem.op).kernel, "ATB Gather and Elewise");
  EXPECT_EQ(run(context, problem.op, output), (std::vector<float>{16, 2050, 4, 7}));
  // The addend is the output.
  problem.addend = problem.output;
  EXPECT_EQ(run(context, problem.op, output), (std::vector<float>{31, 4100, 7, 13}));
  problem.addend = {};
  EXPECT_EQ(run(context, problem.op, output), (std::vector<float>{15, 2048, 3, 6}));
  problem.scale = 0.003f;
  EXPECT_STREQ(context->plan(problem.op).not_fastest[0], "ATB's Elewise cannot tell factors below 1/256 apart");
  EXPECT_NEAR(run(context, problem.op, output)[1], 2.049f, 1e-3f);
}

// SWISH takes no F32, and keeps its digits unless the context allows to narrow it; the others are computed in F32.
TEST(RowsOnTheNpu, ActivationsOfF32AreNarrowedOnlyWhereThatIsAllowed) {
  for (const bool narrows : {false, true}) {
    const auto context = Context::open(simulated_npu(narrows));
    for (const Activation activation : {Activation::Relu, Activation::Gelu, Activation::Silu}) {
      // Rounded to BF16 it is 1.
      const Tensor input = tensor_of(context, DType::F32, {1, 1}, {1.001f});
      const Tensor output = Tensor::zeros(context, DType::F32, {1, 1});
      ActivateProblem problem;
      problem.activation = activation;
      set(problem.input, input, 1);
      set(problem.output, output, 1);
      const bool is_narrow = activation == Activation::Silu;
      EXPECT_EQ(context->plan(problem.op).on_host, is_narrow && !narrows ? 1 : 0);
      double expected = 1.001;
      if (activation == Activation::Gelu) expected *= 0.5 * std::erfc(-1.001 * std::sqrt(0.5));
      if (activation == Activation::Silu) expected = narrows ? 0.73046875 : 1.001 / (1 + std::exp(-1.001));
      EXPECT_NEAR(run(context, problem.op, output)[0], expected, 1e-6);
    }
  }
}

TEST(RowsOnTheNpu, PositionsAreThoseOfTheSequences) {
  const auto context = Context::open(simulated_npu(false));
  const Tensor table = tensor_of(context, DType::F32, {5, 1}, {1, 10, 100, 1000, 10000});
  for (const bool is_packed : {false, true}) {
    // Two batch elements of 2 rows, which begin at positions 0 and 2.
    const Tensor input = tensor_of(context, DType::BF16, {4, 1}, {1, 2, 3, 4});
    const Tensor output = Tensor::zeros(context, DType::F32, {4, 1});
    Sequence sequences[2];
    for (int64_t b = 0; b < 2; ++b) {
      sequences[b].query_begin = is_packed ? 2 * b : 0;
      sequences[b].query_count = 2;
      sequences[b].query_position = 2 * b;
    }
    PositionsProblem problem;
    problem.batch = 2;
    problem.limits = unlimited(2, 2);
    problem.limits.has_table = 1;
    problem.limits.table = sequences;
    problem.size = 1;
    problem.num_table_rows = 5;
    problem.first_row = 1;
    set(problem.table, table, 1);
    set(problem.input, input, 1);
    set(problem.output, output, 1);
    problem.input.strides[1] = problem.output.strides[1] = is_packed ? 0 : 2;
    EXPECT_EQ(context->plan(problem.op).on_host, 0);
    EXPECT_EQ(run(context, problem.op, output), (std::vector<float>{11, 102, 1003, 10004}));
  }
}

}  // namespace
}  // namespace heed
