// SPDX-License-Identifier: Apache-2.0
// The gradients of attention in the reference: against central differences of the reference, against published numbers, and the
// rules for numbers that are not finite.
#include "reference/attention_gradients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "property/support/central_differences.h"
#include "property/support/random_attention.h"
#include "reference/philox.h"
#include "reference/positions.h"

namespace heed::reference {
namespace {

using property::CentralDifferences;
using property::exact;
using property::kSevenDigits;
using property::numbers_of_output;
using property::Random;
using property::random_attention_problem;
using property::sines;
using property::sum_of_squares;

TEST(AttentionGradients, AreCentralDifferencesForEveryPairOfOptions) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    AttentionProblem problem = random_attention_problem(random);
    const std::vector<double> of_output = numbers_of_output(random, problem);
    const AttentionGradients gradients = attention_gradients(problem, of_output);
    CentralDifferences differences([&] { return property::dot(attention(problem).output.values, of_output); });
    differences.add("queries", problem.queries.values, gradients.queries.values);
    differences.add("keys", problem.keys.values, gradients.keys.values);
    differences.add("values", problem.values.values, gradients.values.values);
    differences.add("constant keys", problem.constant_keys.keys.values, gradients.constant_keys.values);
    differences.add("constant values", problem.constant_keys.values.values, gradients.constant_values.values);
    differences.add("score weights", problem.score_weights, gradients.score_weights.values);
    if (!problem.limits.bias.empty()) differences.add("bias", problem.limits.bias, gradients.scores.values);
    differences.add("slopes", problem.limits.alibi_slopes, gradients.alibi_slopes.values);
    differences.add("table", problem.limits.relative_bias.weight, gradients.relative_bias.values);
    differences.add("sinks", problem.limits.sinks, gradients.sinks.values);
    differences.expect();
    if (testing::Test::HasFailure()) return;
  }
}

// D is computed from the output as it was rounded.
TEST(AttentionGradients, OfAnOutputOfFewerBitsMayBeFurtherOff) {
  Random random(5);
  const AttentionProblem problem = random_attention_problem(random);
  const std::vector<double> of_output = numbers_of_output(random, problem);
  const AttentionGradients exact = attention_gradients(problem, of_output);
  const AttentionGradients rounded = attention_gradients(problem, of_output, Format::BF16);
  EXPECT_EQ(rounded.queries.values, exact.queries.values);
  EXPECT_EQ(rounded.values.errors, exact.values.errors);
  EXPECT_GT(rounded.products.errors[0], 100 * exact.products.errors[0]);
}

// The gradient of a factor on a head's output, at 1.
TEST(AttentionGradients, ProductsAreThoseOfOutputsAndTheirGradients) {
  Random random(1);
  const AttentionProblem problem = random_attention_problem(random);
  const std::vector<double> of_output = numbers_of_output(random, problem);
  const AttentionResult forward = attention(problem);
  const std::vector<double> products = attention_gradients(problem, of_output).products.values;
  double sum = 0;
  for (double product : products) sum += product;
  EXPECT_NEAR(sum, property::dot(forward.output.values, of_output), 1e-13);
}

// Everything at once. The numbers were computed with NumPy, from inputs of sines.
class CheckValues : public testing::Test {
 protected:
  CheckValues() {
    AttentionSizes& sizes = problem.sizes;
    sizes = {2, 4, 2, 3, 5, 2, 3};
    problem.options.causal = problem.options.window = Alignment::BottomRight;
    problem.options.window_left = 1;
    problem.options.scale = 0.8;
    problem.options.soft_cap = 1.5;
    problem.options.dropout = 0.25;
    problem.options.training = true;
    problem.options.dropout_seed = 7;
    problem.queries = exact(sines(int64_t{2} * 4 * 3 * 2, 0.1));
    problem.keys = exact(sines(int64_t{2} * 2 * 5 * 2, 0.2));
    problem.values = exact(sines(int64_t{2} * 2 * 5 * 3, 0.3));
    const std::vector<double> bias = sines(int64_t{4} * 5, 0.4);
    for (size_t pair = 0; pair < size_t{2} * 4 * 3 * 5; ++pair) {
      const size_t h = pair / 15 % 4;
      problem.limits.bias.push_back(bias[h * 5 + pair % 5]);
    }
    for (double length : {5.0, 5.0, 5.0, 2.0, 2.0, 2.0}) problem.limits.lengths.push_back(length);
  }

  AttentionProblem problem;
  const std::vector<double> of_output = sines(int64_t{2} * 4 * 3 * 3, 0.5);
};

TEST_F(CheckValues, AreThoseOfDotProducts) {
  int num_kept = 0;
  for (int64_t pair = 0; pair < 120; ++pair)
    num_kept += dropout_keeps(7, 0.25, pair / 60, pair / 15 % 4, pair / 5 % 3, pair % 5) ? 1 : 0;
  EXPECT_EQ(num_kept, 89);
  const AttentionResult forward = attention(problem);
  EXPECT_NEAR(forward.log_sum_exp.values[0], 1.8875236, kSevenDigits);
  EXPECT_NEAR(forward.log_sum_exp.values[1], 1.4858625, kSevenDigits);
  EXPECT_NEAR(forward.log_sum_exp.values[2], 0.9352451, kSevenDigits);
  EXPECT_NEAR(forward.log_sum_exp.values[12], 1.6175866, kSevenDigits);
  EXPECT_EQ(forward.log_sum_exp.values[13], -kInfinity);
  EXPECT_EQ(forward.log_sum_exp.values[14], -kInfinity);
  EXPECT_NEAR(sum_of_squares(forward.output.values), 28.0530262, kSevenDigits);

  const AttentionGradients gradients = attention_gradients(problem, of_output);
  EXPECT_NEAR(sum_of_squares(gradients.queries.values), 1.0018046, kSevenDigits);
  EXPECT_NEAR(sum_of_squares(gradients.keys.values), 0.4572141, kSevenDigits);
  EXPECT_NEAR(sum_of_squares(gradients.values.values), 32.6765208, kSevenDigits);
  // dQ[0,1,0], dK[0,0,1]
  EXPECT_NEAR(gradients.queries.values[6], 0.0214486, kSevenDigits);
  EXPECT_NEAR(gradients.queries.values[7], 0.1258308, kSevenDigits);
  EXPECT_NEAR(gradients.keys.values[2], -0.0552729, kSevenDigits);
  EXPECT_NEAR(gradients.keys.values[3], -0.0288627, kSevenDigits);
  const Bounded bias = sum_over_repeated(gradients.scores, {2, 4, 3, 5}, {1, 4, 1, 5});
  EXPECT_NEAR(sum_of_squares(bias.values), 2.4108793, kSevenDigits);
  double sum = 0;
  for (double element : bias.values) sum += element;
  EXPECT_NEAR(sum, 0, 1e-14);
  const double of_head[] = {0, 0.2465579, -0.2189927, 0.2180678, -0.2456329};
  for (size_t k = 0; k < 5; ++k) EXPECT_NEAR(bias.values[5 + k], of_head[k], kSevenDigits) << k;

  // A head's importance: the sum over the batch of the absolute sums of its rows.
  const double importance[] = {3.3408745, 2.6280211, 4.7966074, 3.0954717};
  for (size_t h = 0; h < 4; ++h) {
    double of_items[2] = {0, 0};
    for (size_t b = 0; b < 2; ++b) {
      for (size_t q = 0; q < 3; ++q) of_items[b] += gradients.products.values[(b * 4 + h) * 3 + q];
    }
    EXPECT_NEAR(std::fabs(of_items[0]) + std::fabs(of_items[1]), importance[h], kSevenDigits) << h;
    const double of_batch = std::fabs(of_items[0] + of_items[1]);
    EXPECT_NEAR(of_batch, h == 2 ? 1.4208829 : importance[h], kSevenDigits) << h;
  }
}

TEST(AdditiveCheckValues, AreThoseOfTheWeights) {
  AttentionProblem problem;
  problem.sizes = {1, 1, 1, 2, 4, 3, 2};
  problem.options.scoring = Scoring::Additive;
  problem.options.scale = 0.7;
  problem.queries = exact(sines(6, 0.1));
  problem.keys = exact(sines(12, 0.2));
  problem.values = exact(sines(8, 0.3));
  problem.score_weights = sines(3, 0.4);
  const std::vector<double> weights = attention_gradients(problem, sines(4, 0.5)).score_weights.values;
  EXPECT_NEAR(weights[0], 0.4903185, kSevenDigits);
  EXPECT_NEAR(weights[1], 0.2009969, kSevenDigits);
  EXPECT_NEAR(weights[2], -0.1027708, kSevenDigits);
}

// Two rows and three keys; row 0 sees keys 0 and 1, row 1 keys 1 and 2.
class NotFinite : public testing::Test {
 protected:
  NotFinite() {
    problem.sizes = {1, 1, 1, 2, 3, 2, 2};
    problem.limits.mask = {1, 1, 0, 0, 1, 1};
    problem.limits.bias.assign(6, 0.25);
    problem.queries = exact(sines(4, 0.1));
    problem.keys = exact(sines(6, 0.2));
    problem.values = exact(sines(6, 0.3));
  }

  AttentionGradients gradients() const { return attention_gradients(problem, of_output); }

  // Elements of a row of two are all finite, or all NaN.
  static bool is_nan(const Bounded& array, size_t row) {
    EXPECT_EQ(std::isnan(array.values[2 * row]), std::isnan(array.values[2 * row + 1])) << row;
    return std::isnan(array.values[2 * row]);
  }

  AttentionProblem problem;
  std::vector<double> of_output = sines(4, 0.5);
};

// Rule (b), and rule (d) for those that the row sees.
TEST_F(NotFinite, QueryReachesOnlyTheKeysThatItsRowSees) {
  problem.queries.values[0] = kNaN;
  const AttentionGradients result = gradients();
  EXPECT_TRUE(is_nan(result.queries, 0));
  EXPECT_FALSE(is_nan(result.queries, 1));
  for (const Bounded* array : {&result.keys, &result.values}) {
    EXPECT_TRUE(is_nan(*array, 0));
    EXPECT_TRUE(is_nan(*array, 1));
    EXPECT_FALSE(is_nan(*array, 2));
  }
  EXPECT_TRUE(std::isnan(result.scores.values[1]));
  EXPECT_EQ(result.scores.values[2], 0.0);
}

TEST_F(NotFinite, GradientOfAnOutputReachesOnlyTheKeysThatItsRowSees) {
  for (double number : {kNaN, kInfinity, -kInfinity}) {
    of_output[3] = number;
    const AttentionGradients result = gradients();
    EXPECT_FALSE(is_nan(result.queries, 0));
    EXPECT_TRUE(is_nan(result.queries, 1));
    EXPECT_FALSE(is_nan(result.keys, 0));
    EXPECT_TRUE(is_nan(result.keys, 1));
    EXPECT_TRUE(is_nan(result.keys, 2));
    // Of the column that has it.
    EXPECT_FALSE(std::isnan(result.values.values[1]));
    EXPECT_TRUE(std::isnan(result.values.values[3]));
    EXPECT_TRUE(std::isnan(result.values.values[5]));
    EXPECT_FALSE(std::isnan(result.values.values[4]));
  }
}

// Rule (a).
TEST_F(NotFinite, KeysAndValuesThatNoRowSeesAreNotRead) {
  problem.limits.mask = {1, 1, 0, 0, 1, 0};
  const AttentionGradients before = gradients();
  for (double number : {kNaN, kInfinity}) {
    problem.keys.values[4] = problem.values.values[5] = problem.limits.bias[2] = number;
    const AttentionGradients result = gradients();
    EXPECT_EQ(result.queries.values, before.queries.values);
    EXPECT_EQ(result.keys.values, before.keys.values);
    EXPECT_EQ(result.values.values, before.values.values);
    EXPECT_EQ(result.scores.values, before.scores.values);
    for (size_t i : {4, 5}) {
      EXPECT_EQ(result.keys.values[i], 0.0);
      EXPECT_EQ(result.values.values[i], 0.0);
    }
  }
}

// Rule (c).
TEST_F(NotFinite, EmptyRowHasNoGradientsWhateverArrives) {
  problem.limits.mask = {0, 0, 0, 0, 1, 1};
  problem.limits.sinks = {0.5};
  problem.queries.values[0] = kNaN;
  of_output[0] = kInfinity;
  AttentionGradients result = gradients();
  EXPECT_EQ(result.queries.values[0], 0.0);
  EXPECT_EQ(result.queries.values[1], 0.0);
  for (const Bounded* array : {&result.queries, &result.keys, &result.values, &result.scores, &result.sinks}) {
    for (double element : array->values) EXPECT_TRUE(std::isfinite(element));
  }
  problem.options.empty_rows = EmptyRows::Mean;
  of_output[0] = 6.0;
  const AttentionGradients of_mean = gradients();
  EXPECT_EQ(of_mean.keys.values, result.keys.values);
  EXPECT_EQ(of_mean.sinks.values, result.sinks.values);
  for (size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(of_mean.values.values[2 * k] - result.values.values[2 * k], 2.0, 1e-15) << k;
}

TEST_F(NotFinite, RowWhoseGradientIsZeroPassesOnZeroWhateverItHolds) {
  problem.queries.values[0] = kNaN;
  of_output[0] = of_output[1] = 0.0;
  const AttentionGradients result = gradients();
  for (const Bounded* array : {&result.queries, &result.keys, &result.values, &result.scores, &result.products}) {
    for (double element : array->values) EXPECT_TRUE(std::isfinite(element));
  }
  EXPECT_EQ(result.queries.values[0], 0.0);
  EXPECT_EQ(result.keys.values[0], 0.0);
  EXPECT_EQ(result.values.values[0], 0.0);
}

// Rule (e): a table of distances hides nothing, not even with -inf.
TEST_F(NotFinite, VisibleScoreOfMinusInfinityHasNoGradient) {
  problem.limits.mask.clear();
  problem.limits.positions = {0, 1};
  problem.limits.relative_bias = {{0.0, -kInfinity, 0.0, 0.0}, 4, 6, false};
  const AttentionGradients result = gradients();
  for (const Bounded* array : {&result.queries, &result.keys, &result.values, &result.scores, &result.relative_bias}) {
    for (double element : array->values) EXPECT_TRUE(std::isfinite(element));
  }
  // Row 1 is one behind key 0.
  EXPECT_EQ(result.scores.values[3], 0.0);
  EXPECT_EQ(result.relative_bias.values[1], 0.0);
}

// Rule (f).
TEST_F(NotFinite, GradientsOfARowsScoresAddUpToZeroWithThatOfItsSink) {
  const AttentionGradients plain = gradients();
  EXPECT_NEAR(plain.scores.values[0] + plain.scores.values[1], 0.0, 1e-15);
  problem.limits.sinks = {0.5};
  const AttentionGradients result = gradients();
  const AttentionResult forward = attention(problem);
  double of_sink = 0;
  for (size_t q = 0; q < 2; ++q) {
    const double of_row =
        result.scores.values[3 * q] + result.scores.values[3 * q + 1] + result.scores.values[3 * q + 2];
    const double weight = std::exp(0.5 - forward.log_sum_exp.values[q]);
    EXPECT_NEAR(of_row, weight * result.products.values[q], 1e-15) << q;
    of_sink -= of_row;
  }
  EXPECT_NEAR(result.sinks.values[0], of_sink, 1e-15);
}

}  // namespace
}  // namespace heed::reference
