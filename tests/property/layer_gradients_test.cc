// SPDX-License-Identifier: Apache-2.0
// The gradients of projections, norms, activations, feed-forward networks, embeddings and losses in the reference, and the steps of
// optimizers: against central differences of the reference and published numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "property/support/central_differences.h"
#include "reference/error_bound.h"
#include "reference/feed_forward_gradients.h"
#include "reference/linear_gradients.h"
#include "reference/losses.h"
#include "reference/norm_gradients.h"
#include "reference/optimizers.h"
#include "reference/rotary.h"

namespace heed::reference {
namespace {

using property::CentralDifferences;
using property::exact;
using property::kSevenDigits;
using property::Random;
using property::random_numbers;
using property::sines;

constexpr Activation kActivations[] = {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::GeluQuick,
                                       Activation::Silu};

Projection random_projection(Random& random, int64_t inputs, int64_t outputs, bool has_bias) {
  return {inputs, outputs, random_numbers(random, outputs * inputs),
          has_bias ? random_numbers(random, outputs) : std::vector<double>()};
}

TEST(ProjectionGradients, AreCentralDifferences) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const int64_t rows = random.below(5);
    Projection projection = random_projection(random, 1 + random.below(5), 1 + random.below(5), random.chance(0.5));
    std::vector<double> input = random_numbers(random, rows * projection.input_size);
    const std::vector<double> of_output = random_numbers(random, rows * projection.output_size);
    const ProjectionGradients gradients = projection_gradients(projection, input, of_output);
    CentralDifferences differences(
        [&] { return property::dot(project(projection, exact(input), rows).values, of_output); });
    differences.add("input", input, gradients.input.values);
    differences.add("weight", projection.weight, gradients.weight.values);
    differences.add("bias", projection.bias, gradients.bias.values);
    differences.expect();
  }
}

TEST(ProjectionGradients, RowWhoseGradientIsZeroTakesNoPart) {
  const Projection projection = {2, 2, {1.0, 2.0, 3.0, kInfinity}, {5.0, 6.0}};
  const ProjectionGradients gradients =
      projection_gradients(projection, {kNaN, kInfinity, 7.0, 8.0}, {0.0, -0.0, 1.0, 0.0});
  EXPECT_EQ(gradients.input.values[0], 0.0);
  EXPECT_EQ(gradients.input.values[1], 0.0);
  EXPECT_EQ(gradients.weight.values, (std::vector<double>{7.0, 8.0, 0.0, 0.0}));
  EXPECT_EQ(gradients.bias.values, (std::vector<double>{1.0, 0.0}));
}

TEST(NormGradients, AreCentralDifferences) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const int64_t size = 1 + random.below(6);
    Norm norm;
    norm.weight = random_numbers(random, size);
    norm.subtracts_mean = random.chance(0.5);
    if (norm.subtracts_mean && random.chance(0.7)) norm.bias = random_numbers(random, size);
    norm.epsilon = random.one_of(std::vector<double>{1e-2, 0.1, 1.0});
    std::vector<double> rows = random_numbers(random, random.below(4) * size, 2.0);
    const std::vector<double> of_output = random_numbers(random, static_cast<int64_t>(rows.size()));
    const NormGradients gradients = norm_gradients(norm, rows, of_output);
    CentralDifferences differences([&] { return property::dot(normalize(norm, rows).values, of_output); });
    differences.add("rows", rows, gradients.rows.values);
    differences.add("weight", norm.weight, gradients.weight.values);
    differences.add("bias", norm.bias, gradients.bias.values);
    differences.expect();
  }
}

TEST(NormGradients, OfHeadsAreCentralDifferences) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const int64_t size = 1 + random.below(5);
    const int64_t num_heads = 1 + random.below(3);
    const int64_t num_rows = 1 + random.below(3);
    HeadNorm norm;
    norm.weight = random_numbers(random, random.chance(0.5) ? size : num_heads * size);
    norm.subtracts_mean = random.chance(0.5);
    norm.epsilon = random.one_of(std::vector<double>{1e-2, 0.1, 1.0});
    std::vector<double> heads = random_numbers(random, 2 * num_heads * num_rows * size, 2.0);
    const std::vector<double> of_output = random_numbers(random, static_cast<int64_t>(heads.size()));
    const NormGradients gradients = head_norm_gradients(norm, num_heads, num_rows, size, heads, of_output);
    CentralDifferences differences([&] {
      Bounded normed = exact(heads);
      normalize_heads(norm, num_heads, num_rows, size, std::nullopt, normed);
      return property::dot(normed.values, of_output);
    });
    differences.add("heads", heads, gradients.rows.values);
    differences.add("weight", norm.weight, gradients.weight.values);
    differences.expect();
  }
}

void expect_digits(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], kSevenDigits) << i;
}

TEST(NormGradients, AreThoseOfTheCheckValues) {
  const std::vector<double> x = {1, 2, 4, 8};
  const std::vector<double> of_output = {1, -1, 0.5, 2};
  Norm norm;
  norm.weight = {1, 0.5, 2, 1};
  norm.epsilon = 1e-6;
  expect_digits(normalize(norm, x).values, {0.2169305, 0.2169305, 1.7354436, 1.7354436});
  expect_digits(norm_gradients(norm, x, of_output).rows.values, {0.1658880, -0.2105501, 0.0127606, 0.0255212});
  norm.bias = {0, 0.1, 0.2, 0.3};
  norm.epsilon = 1e-5;
  norm.subtracts_mean = true;
  expect_digits(normalize(norm, x).values, {-1.0257546, -0.2263765, 0.3865008, 1.8852571});
  expect_digits(norm_gradients(norm, x, of_output).rows.values, {0.2919140, -0.3567844, 0.0243262, 0.0405442});
}

TEST(NormGradients, RowThatIsNotFiniteChangesOnlyItselfAndTheSums) {
  Norm norm;
  norm.weight = {1, 1};
  norm.epsilon = 1e-5;
  norm.subtracts_mean = true;
  for (double number : {kNaN, kInfinity}) {
    const std::vector<double> rows = {number, 1.0, 2.0, 5.0};
    const NormGradients gradients = norm_gradients(norm, rows, {1.0, 1.0, 1.0, 2.0});
    EXPECT_TRUE(std::isnan(gradients.rows.values[0]));
    EXPECT_TRUE(std::isnan(gradients.rows.values[1]));
    EXPECT_TRUE(std::isfinite(gradients.rows.values[2]));
    EXPECT_TRUE(std::isnan(gradients.weight.values[1]));
    // A row whose gradient is 0 takes no part.
    const NormGradients without = norm_gradients(norm, rows, {0.0, 0.0, 1.0, 2.0});
    EXPECT_EQ(without.rows.values[0], 0.0);
    EXPECT_TRUE(std::isfinite(without.weight.values[1]));
  }
}

TEST(ActivationSlopes, AreCentralDifferences) {
  for (Activation activation : kActivations) {
    for (double x = -6.05; x < 6.0; x += 0.1) {
      const double difference =
          (activate(activation, {x + 1e-6, 0.0}).value - activate(activation, {x - 1e-6, 0.0}).value) / 2e-6;
      EXPECT_NEAR(activation_slope(activation, x).value, difference, 1e-9)
          << static_cast<int>(activation) << ", x " << x;
    }
  }
}

TEST(ActivationSlopes, AreThoseOfTheCheckValues) {
  const auto expect = [](Activation activation, double value, double slope) {
    EXPECT_NEAR(activate(activation, {1.0, 0.0}).value, value, kSevenDigits);
    EXPECT_NEAR(activation_slope(activation, 1.0).value, slope, kSevenDigits);
  };
  expect(Activation::Gelu, 0.8413447, 1.0833155);
  expect(Activation::GeluTanh, 0.8411920, 1.0829641);
  EXPECT_NEAR(activate(Activation::GeluQuick, {1.0, 0.0}).value, 0.8457958, kSevenDigits);
  expect(Activation::Silu, 0.7310586, 0.9276705);
  EXPECT_EQ(activation_slope(Activation::Relu, 0.0).value, 0.0);
  EXPECT_EQ(activation_slope(Activation::Relu, -0.0).value, 0.0);
}

// Exponentials that overflow make no NaN.
TEST(ActivationSlopes, AreFiniteEverywhere) {
  for (Activation activation : kActivations) {
    for (double x : {-1e4, -300.0, -40.0, 40.0, 300.0, 1e4}) {
      EXPECT_NEAR(activation_slope(activation, x).value, x > 0 ? 1.0 : 0.0, 1e-12)
          << static_cast<int>(activation) << ", x " << x;
      EXPECT_LT(activation_slope(activation, x).error, 1e-5) << static_cast<int>(activation) << ", x " << x;
    }
  }
}

TEST(FeedForwardGradients, AreCentralDifferences) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t inputs = 1 + random.below(4);
    const int64_t hidden = 1 + random.below(5);
    FeedForward network;
    network.first = random_projection(random, inputs, hidden, random.chance(0.5));
    if (random.chance(0.5)) network.gate = random_projection(random, inputs, hidden, random.chance(0.5));
    network.second = random_projection(random, hidden, 1 + random.below(4), random.chance(0.5));
    network.activation = kActivations[seed % 5];
    if (random.chance(0.4)) network.dropout = {0.3, random.next()};
    const int64_t num_rows = 1 + random.below(3);
    std::vector<double> rows = random_numbers(random, num_rows * inputs, 2.0);
    const std::vector<double> of_output = random_numbers(random, num_rows * network.second.output_size);
    const NamedRows gradients = feed_forward_gradients(network, rows, of_output, unmoved);
    CentralDifferences differences([&] { return property::dot(feed_forward(network, rows).values, of_output); });
    size_t num_added = 0;
    const auto add = [&](const std::string& name, std::vector<double>& input) {
      if (input.empty()) return;
      differences.add(name, input, gradients.at(name).values);
      ++num_added;
    };
    add("queries", rows);
    add("W_1.weight", network.first.weight);
    add("W_1.bias", network.first.bias);
    if (network.gate) {
      add("W_gate.weight", network.gate->weight);
      add("W_gate.bias", network.gate->bias);
    }
    add("W_2.weight", network.second.weight);
    add("W_2.bias", network.second.bias);
    EXPECT_EQ(num_added, gradients.size());
    differences.expect();
  }
}

TEST(DropoutGradient, IsThatOfWhatIsKept) {
  Random random(1);
  const Dropout dropout = {0.4, 9};
  const std::vector<double> of_output = random_numbers(random, 40);
  Bounded dropped = exact(of_output);
  drop(dropout, dropped, std::nullopt);
  EXPECT_EQ(dropout_gradient(dropout, of_output).values, dropped.values);
  for (double element : dropout_gradient(dropout, std::vector<double>(40, kNaN)).values)
    EXPECT_TRUE(std::isnan(element) || element == 0.0);
}

TEST(EmbeddingGradient, AddsTheRowsOfEachIdButNotOfThePadding) {
  const std::vector<double> of_output = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(embedding_gradient({2, 0, 2, 1}, 3, 2, 0.5, -1, of_output).values,
            (std::vector<double>{1.5, 2, 3.5, 4, 3, 4}));
  EXPECT_EQ(embedding_gradient({2, 0, 2, 1}, 3, 2, 0.5, 2, of_output).values,
            (std::vector<double>{1.5, 2, 3.5, 4, 0, 0}));
  EXPECT_EQ(plus(exact({1, 2}), exact({3, 4})).values, (std::vector<double>{4, 6}));
}

// A rotation is turned back, with the factor of its cosines and sines.
TEST(RotaryGradients, AreRotationsBack) {
  for (Pairing pairing : {Pairing::Half, Pairing::Interleaved}) {
    RotaryOptions options;
    options.size = 4;
    options.offset = 1;
    options.pairing = pairing;
    options.attention_factor = 1.25;
    const std::vector<Frequency> frequencies = rotary_frequencies(options);
    std::vector<double> row = sines(6, 0.3);
    const std::vector<double> of_output = sines(6, 0.7);
    const auto rotated = [&](std::vector<double> values, int64_t position) {
      std::vector<double> errors(values.size());
      rotate(options, frequencies, position, std::nullopt, values.data(), errors.data());
      return values;
    };
    CentralDifferences differences([&] { return property::dot(rotated(row, 11), of_output); });
    differences.add("row", row, rotated(of_output, -11));
    differences.expect();
  }
}

CrossEntropyProblem random_losses(Random& random) {
  CrossEntropyProblem problem;
  problem.batch = 1 + random.below(3);
  problem.steps = 1 + random.below(4);
  problem.classes = 1 + random.below(5);
  problem.logits = random_numbers(random, problem.batch * problem.steps * problem.classes, 3.0);
  for (int64_t token = 0; token < problem.batch * problem.steps; ++token)
    problem.labels.push_back(random.chance(0.2) ? -100 : random.below(problem.classes));
  if (random.chance(0.5)) {
    for (int64_t b = 0; b < problem.batch; ++b) problem.lengths.push_back(random.below(problem.steps + 1));
  }
  if (random.chance(0.5)) problem.label_smoothing = random.uniform(0.0, 1.0);
  problem.reduction = random.one_of(std::vector<Reduction>{Reduction::Mean, Reduction::Sum, Reduction::MeanOfItems});
  return problem;
}

TEST(CrossEntropy, GradientsAreCentralDifferences) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    CrossEntropyProblem problem = random_losses(random);
    CentralDifferences differences([&] { return cross_entropy(problem).total.value; });
    differences.add("logits", problem.logits, cross_entropy(problem).logits.values);
    differences.expect();
  }
}

TEST(CrossEntropy, IsThatOfTheCheckValues) {
  CrossEntropyProblem problem;
  problem.batch = 2;
  problem.steps = 3;
  problem.classes = 5;
  for (int i = 0; i < 30; ++i) problem.logits.push_back(2.0 * std::sin(0.3 + 0.9 * i));
  problem.labels = {1, 4, 0, 2, 3, 2};
  problem.lengths = {3, 1};
  const CrossEntropyResult mean = cross_entropy(problem);
  const double losses[] = {0.8738638, 0.9570112, 1.1205132, 2.3981139, 0.0, 0.0};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(mean.losses.values[i], losses[i], kSevenDigits) << i;
  EXPECT_NEAR(mean.total.value, 1.3373755, kSevenDigits);
  problem.reduction = Reduction::MeanOfItems;
  EXPECT_NEAR(cross_entropy(problem).total.value, 0.9837961 + 0.7993713, 2 * kSevenDigits);
  problem.label_smoothing = 0.1;
  EXPECT_NEAR(cross_entropy(problem).losses.values[0], 0.9985067, kSevenDigits);
}

TEST(CrossEntropy, TokensThatDoNotCountAreNotRead) {
  CrossEntropyProblem problem;
  problem.batch = 1;
  problem.steps = 2;
  problem.classes = 2;
  problem.logits = {1.0, 2.0, kNaN, kInfinity};
  problem.labels = {0, -100};
  const CrossEntropyResult result = cross_entropy(problem);
  EXPECT_TRUE(std::isfinite(result.total.value));
  EXPECT_EQ(result.logits.values[2], 0.0);
  problem.labels = {-100, -100};
  EXPECT_EQ(cross_entropy(problem).total.value, 0.0);
}

TEST(SquaredError, GradientIsTheCentralDifference) {
  std::vector<double> x = sines(7, 0.1);
  const std::vector<double> target = sines(7, 0.6);
  CentralDifferences differences([&] { return squared_error(x, target, 0.5 / 7).total.value; });
  differences.add("x", x, squared_error(x, target, 0.5 / 7).gradient.values);
  differences.expect();
}

std::vector<double> after_steps(const Adam& options, const std::vector<double>& gradients) {
  std::vector<double> parameter = {1.0};
  std::vector<double> result;
  Moments moments;
  for (double gradient : gradients) {
    step(options, {gradient}, parameter, moments);
    result.push_back(parameter[0]);
  }
  return result;
}

TEST(Optimizers, HaveTheCheckValues) {
  const auto expect = [](const std::vector<double>& actual, const std::vector<double>& expected) {
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(actual[i], expected[i], 0.6e-9) << i;
  };
  Adam adam;
  adam.weight_decay = 0.01;
  Adam of_djl = adam;
  of_djl.is_epsilon_uncorrected = true;
  const std::vector<double> gradients = {0.5, -0.25, 0.125};
  expect(after_steps(adam, gradients), {0.99899, 0.998713673, 0.998363257});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(after_steps(of_djl, gradients)[i], after_steps(adam, gradients)[i], 1e-9);
  const std::vector<double> tiny = {1e-7, 1e-7, 1e-7};
  expect(after_steps(adam, tiny), {0.999080909, 0.998161827, 0.997242755});
  expect(after_steps(of_djl, tiny), {0.999749747, 0.999430786, 0.999067016});
  std::vector<double> parameter = {1.0};
  std::vector<double> buffer;
  std::vector<double> of_sgd;
  for (double gradient : gradients) {
    step(Sgd{0.1, 0.9, 0.0, false}, {gradient}, parameter, buffer);
    of_sgd.push_back(parameter[0]);
  }
  expect(of_sgd, {0.95, 0.93, 0.8995});
}

}  // namespace
}  // namespace heed::reference
