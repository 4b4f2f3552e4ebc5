// SPDX-License-Identifier: Apache-2.0
// The errors that the reference states for gradients hold for plain F32 arithmetic, and are no wider than a test can use.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "property/support/central_differences.h"
#include "property/support/random_attention.h"
#include "reference/attention_gradients.h"
#include "reference/error_bound.h"
#include "reference/feed_forward_gradients.h"
#include "reference/linear_gradients.h"
#include "reference/losses.h"
#include "reference/norm_gradients.h"
#include "reference/philox.h"
#include "reference/positions.h"
#include "reference/visibility.h"

namespace heed::reference {
namespace {

using property::Random;
using property::random_numbers;
using Floats = std::vector<float>;

Floats floats(const std::vector<double>& numbers) {
  Floats result;
  for (double number : numbers) result.push_back(static_cast<float>(number));
  return result;
}

// Inputs that F32 has.
void round_all(std::vector<double>& numbers) {
  for (double& number : numbers) number = static_cast<double>(static_cast<float>(number));
}

std::vector<double> rounded_numbers(Random& random, int64_t count, double largest = 1.0) {
  std::vector<double> numbers = random_numbers(random, count, largest);
  round_all(numbers);
  return numbers;
}

// How much of the errors is used at most.
class Used {
 public:
  void add(const char* name, const Bounded& expected, const Floats& actual) {
    ASSERT_EQ(expected.values.size(), actual.size()) << name;
    for (size_t i = 0; i < actual.size(); ++i) {
      const auto number = static_cast<double>(actual[i]);
      EXPECT_TRUE(accepts(Format::F32, expected.values[i], expected.errors[i], number))
          << name << ", element " << i << ": " << number << " for " << expected.values[i] << " within "
          << expected.errors[i];
      ASSERT_TRUE(std::isfinite(expected.errors[i])) << name << ", element " << i;
      largest_ = std::max(largest_, used_fraction(Format::F32, expected.values[i], expected.errors[i], number));
    }
  }

  double largest() const { return largest_; }

 private:
  double largest_ = 0;
};

// Backward of attention in F32, as simply as possible: what it keeps of a row is its output and log_sum_exp.
class FloatAttention {
 public:
  FloatAttention(const AttentionProblem& problem, const std::vector<double>& of_output)
      : problem_(problem), sizes_(problem.sizes), of_output_(floats(of_output)) {
    scale_ = static_cast<float>(problem.options.scale != 0.0 ? problem.options.scale
                                                             : 1.0 / std::sqrt(static_cast<double>(sizes_.head_size)));
    cap_ = static_cast<float>(problem.options.soft_cap);
    queries_.resize(problem.queries.values.size());
    keys_.resize(problem.keys.values.size());
    values_.resize(problem.values.values.size());
    constant_keys_.resize(problem.constant_keys.keys.values.size());
    constant_values_.resize(problem.constant_keys.values.values.size());
    score_weights_.resize(problem.score_weights.size());
    sinks_.resize(problem.limits.sinks.size());
    scores_.resize(static_cast<size_t>(sizes_.batch * sizes_.num_heads * sizes_.num_queries * sizes_.num_keys));
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      for (int64_t h = 0; h < sizes_.num_heads; ++h) {
        for (int64_t q = 0; q < num_queries(sizes_, problem.limits, b); ++q) add_row(b, h, q);
      }
    }
  }

  void expect(const AttentionGradients& expected, Used& used) const {
    used.add("queries", expected.queries, queries_);
    used.add("keys", expected.keys, keys_);
    used.add("values", expected.values, values_);
    used.add("constant keys", expected.constant_keys, constant_keys_);
    used.add("constant values", expected.constant_values, constant_values_);
    used.add("score weights", expected.score_weights, score_weights_);
    used.add("scores", expected.scores, scores_);
    used.add("sinks", expected.sinks, sinks_);
  }

 private:
  struct Key {
    int64_t k = 0;
    bool is_constant = false;
    int64_t row = 0;
    float score = 0;
    float slope = 1;  // of the cap
    float factor = 1;
  };

  float key(const Key& of, int64_t d) const {
    const Bounded& keys = of.is_constant ? problem_.constant_keys.keys : problem_.keys;
    return static_cast<float>(keys.values[static_cast<size_t>(of.row * sizes_.head_size + d)]);
  }
  float value(const Key& of, int64_t d) const {
    const Bounded& values = of.is_constant ? problem_.constant_keys.values : problem_.values;
    return static_cast<float>(values.values[static_cast<size_t>(of.row * sizes_.value_head_size + d)]);
  }
  float query(int64_t row, int64_t d) const {
    return static_cast<float>(problem_.queries.values[static_cast<size_t>(row * sizes_.head_size + d)]);
  }
  float score_weight(int64_t h, int64_t d) const {
    return static_cast<float>(problem_.score_weights[static_cast<size_t>(h * sizes_.head_size + d)]);
  }
  bool is_additive() const { return problem_.options.scoring == Scoring::Additive; }

  void set_score(int64_t b, int64_t h, int64_t q, int64_t row, Key& of) const {
    float sum = 0;
    for (int64_t d = 0; d < sizes_.head_size; ++d)
      sum += is_additive() ? score_weight(h, d) * std::tanh(query(row, d) + key(of, d)) : query(row, d) * key(of, d);
    of.score = sum * scale_;
    if (cap_ != 0) {
      const float tanh = std::tanh(of.score / cap_);
      of.score = cap_ * tanh;
      of.slope = 1 - tanh * tanh;
    }
    if (of.is_constant) return;
    const int64_t distance =
        key_position(sizes_, problem_.limits, b, of.k) - query_position(sizes_, problem_.limits, b, q);
    const AttentionLimits& limits = problem_.limits;
    if (!limits.alibi_slopes.empty())
      of.score -=
          static_cast<float>(limits.alibi_slopes[static_cast<size_t>(h)]) * std::fabs(static_cast<float>(distance));
    if (!limits.relative_bias.weight.empty())
      of.score += static_cast<float>(
          limits.relative_bias
              .weight[static_cast<size_t>(relative_bucket(limits.relative_bias, distance) * sizes_.num_heads + h)]);
    if (!limits.bias.empty())
      of.score += static_cast<float>(limits.bias[static_cast<size_t>(row * sizes_.num_keys + of.k)]);
  }

  void add_row(int64_t b, int64_t h, int64_t q) {
    const int64_t row = (b * sizes_.num_heads + h) * sizes_.num_queries + q;
    const int64_t kv_head = h / (sizes_.num_heads / sizes_.num_kv_heads);
    const int64_t keys_here = num_keys(sizes_, problem_.limits, b);
    const AttentionOptions& options = problem_.options;
    std::vector<Key> seen;
    for (int64_t k = 0; k < sizes_.num_keys + problem_.constant_keys.count; ++k) {
      Key of;
      of.k = k;
      of.is_constant = k >= sizes_.num_keys;
      if (!of.is_constant && !is_visible(problem_, b, h, q, k)) continue;
      of.row = of.is_constant ? kv_head * problem_.constant_keys.count + k - sizes_.num_keys
                              : (b * sizes_.num_kv_heads + kv_head) * sizes_.num_keys + k;
      const int64_t number = of.is_constant ? keys_here + k - sizes_.num_keys : k;
      if (options.drops()) {
        const bool kept = dropout_keeps(options.dropout_seed, options.dropout, b, h, q, number);
        of.factor = kept ? static_cast<float>(1.0 / (1.0 - options.dropout)) : 0.0F;
      }
      set_score(b, h, q, row, of);
      seen.push_back(of);
    }
    if (seen.empty()) {
      if (options.empty_rows == EmptyRows::Mean) add_mean(b, h, q, row, kv_head, keys_here);
      return;
    }
    add_seen(h, row, seen);
  }

  void add_mean(int64_t b, int64_t h, int64_t q, int64_t row, int64_t kv_head, int64_t keys_here) {
    const AttentionOptions& options = problem_.options;
    for (int64_t k = 0; k < keys_here; ++k) {
      float weight = 1 / static_cast<float>(keys_here);
      if (options.drops()) {
        const bool kept = dropout_keeps(options.dropout_seed, options.dropout, b, h, q, k);
        weight *= kept ? static_cast<float>(1.0 / (1.0 - options.dropout)) : 0.0F;
      }
      const int64_t key_row = (b * sizes_.num_kv_heads + kv_head) * sizes_.num_keys + k;
      for (int64_t d = 0; d < sizes_.value_head_size; ++d)
        values_[static_cast<size_t>(key_row * sizes_.value_head_size + d)] += weight * of_output(row, d);
    }
  }

  float of_output(int64_t row, int64_t d) const {
    return of_output_[static_cast<size_t>(row * sizes_.value_head_size + d)];
  }

  void add_seen(int64_t h, int64_t row, const std::vector<Key>& seen) {
    const auto head = static_cast<size_t>(h);
    float maximum = seen[0].score;
    for (const Key& of : seen) maximum = std::max(maximum, of.score);
    float sum = 0;
    for (const Key& of : seen) sum += std::exp(of.score - maximum);
    if (!problem_.limits.sinks.empty()) sum += std::exp(static_cast<float>(problem_.limits.sinks[head]) - maximum);
    const float log_sum_exp = maximum + std::log(sum);
    float product = 0;
    for (int64_t d = 0; d < sizes_.value_head_size; ++d) {
      float output = 0;
      for (const Key& of : seen) output += std::exp(of.score - maximum) * of.factor * value(of, d);
      product += of_output(row, d) * (output / sum);
    }
    for (const Key& of : seen) {
      const float weight = std::exp(of.score - log_sum_exp);
      float of_weight = 0;
      for (int64_t d = 0; d < sizes_.value_head_size; ++d) {
        of_weight += of_output(row, d) * value(of, d);
        Floats& values = of.is_constant ? constant_values_ : values_;
        values[static_cast<size_t>(of.row * sizes_.value_head_size + d)] += weight * of.factor * of_output(row, d);
      }
      const float of_score = weight * (of.factor * of_weight - product);
      if (!of.is_constant) scores_[static_cast<size_t>(row * sizes_.num_keys + of.k)] = of_score;
      const float scaled = of_score * of.slope * scale_;
      Floats& keys = of.is_constant ? constant_keys_ : keys_;
      for (int64_t d = 0; d < sizes_.head_size; ++d) {
        const auto query_element = static_cast<size_t>(row * sizes_.head_size + d);
        const auto key_element = static_cast<size_t>(of.row * sizes_.head_size + d);
        if (!is_additive()) {
          queries_[query_element] += scaled * key(of, d);
          keys[key_element] += scaled * query(row, d);
          continue;
        }
        const float tanh = std::tanh(query(row, d) + key(of, d));
        const float of_sum = scaled * score_weight(h, d) * (1 - tanh * tanh);
        score_weights_[static_cast<size_t>(h * sizes_.head_size + d)] += scaled * tanh;
        queries_[query_element] += of_sum;
        keys[key_element] += of_sum;
      }
    }
    if (!problem_.limits.sinks.empty())
      sinks_[head] -= std::exp(static_cast<float>(problem_.limits.sinks[head]) - log_sum_exp) * product;
  }

  const AttentionProblem& problem_;
  const AttentionSizes& sizes_;
  Floats of_output_;
  float scale_ = 1;
  float cap_ = 0;
  Floats queries_, keys_, values_, constant_keys_, constant_values_, score_weights_, sinks_, scores_;
};

void round_inputs(AttentionProblem& problem) {
  for (std::vector<double>* input :
       {&problem.queries.values, &problem.keys.values, &problem.values.values, &problem.constant_keys.keys.values,
        &problem.constant_keys.values.values, &problem.score_weights, &problem.limits.bias,
        &problem.limits.alibi_slopes, &problem.limits.relative_bias.weight, &problem.limits.sinks})
    round_all(*input);
  problem.options.scale = static_cast<double>(static_cast<float>(problem.options.scale));
  problem.options.soft_cap = static_cast<double>(static_cast<float>(problem.options.soft_cap));
}

TEST(GradientBounds, OfAttentionHoldForPlainFloats) {
  Used used;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const bool is_small = seed % 2 == 0;
    AttentionProblem problem = property::random_attention_problem(
        random, is_small ? property::LargestSizes{} : property::LargestSizes{9, 40, 20});
    // Scores of up to some hundreds.
    const double factor = seed % 3 == 0 ? 8.0 : 1.0;
    for (double& element : problem.queries.values) element *= factor;
    round_inputs(problem);
    std::vector<double> of_output = property::numbers_of_output(random, problem);
    round_all(of_output);
    FloatAttention(problem, of_output).expect(attention_gradients(problem, of_output), used);
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%.3f of the errors is used\n", used.largest());
  EXPECT_GT(used.largest(), 0.1);
}

TEST(GradientBounds, OfProjectionsHoldForPlainFloats) {
  Used used;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const int64_t rows = 1 + random.below(30);
    const Projection projection = {1 + random.below(20), 1 + random.below(20), {}, {}};
    Projection with_weight = projection;
    const int64_t inputs = projection.input_size;
    const int64_t outputs = projection.output_size;
    with_weight.weight = rounded_numbers(random, inputs * outputs);
    with_weight.bias = rounded_numbers(random, outputs);
    const std::vector<double> input = rounded_numbers(random, rows * inputs);
    const std::vector<double> of_output = rounded_numbers(random, rows * outputs);
    Floats of_input(input.size());
    Floats of_weight(with_weight.weight.size());
    Floats of_bias(with_weight.bias.size());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < outputs; ++n) {
        const auto incoming = static_cast<float>(of_output[static_cast<size_t>(row * outputs + n)]);
        of_bias[static_cast<size_t>(n)] += incoming;
        for (int64_t e = 0; e < inputs; ++e) {
          const auto weight = static_cast<size_t>(n * inputs + e);
          const auto x = static_cast<size_t>(row * inputs + e);
          of_input[x] += incoming * static_cast<float>(with_weight.weight[weight]);
          of_weight[weight] += incoming * static_cast<float>(input[x]);
        }
      }
    }
    const ProjectionGradients expected = projection_gradients(with_weight, input, of_output);
    used.add("input", expected.input, of_input);
    used.add("weight", expected.weight, of_weight);
    used.add("bias", expected.bias, of_bias);
  }
  EXPECT_GT(used.largest(), 0.1);
}

// Of one row, with the differences from the mean taken twice, as rule 18 says.
class FloatNorm {
 public:
  FloatNorm(const Norm& norm, const double* x)
      : size_(norm.weight.size()), y_(floats({x, x + norm.weight.size()})), norm_(norm) {
    for (int time = 0; time < (norm.subtracts_mean ? 2 : 0); ++time) {
      const float mean = mean_of(y_);
      for (float& element : y_) element -= mean;
    }
    Floats squares = y_;
    for (float& element : squares) element *= element;
    inverse_ = 1 / std::sqrt(mean_of(squares) + static_cast<float>(norm.epsilon));
    for (float& element : y_) element *= inverse_;
  }

  void add(const double* of_output, Floats& rows, Floats& weight) {
    Floats t;
    Floats products;
    for (size_t i = 0; i < size_; ++i) {
      const auto incoming = static_cast<float>(of_output[i]);
      t.push_back(incoming * static_cast<float>(norm_.weight[i]));
      products.push_back(t[i] * y_[i]);
      weight[i] += incoming * y_[i];
    }
    const float mean = norm_.subtracts_mean ? mean_of(t) : 0.0F;
    const float product = mean_of(products);
    for (size_t i = 0; i < size_; ++i) rows.push_back(inverse_ * (t[i] - mean - y_[i] * product));
  }

 private:
  static float mean_of(const Floats& numbers) {
    float sum = 0;
    for (float number : numbers) sum += number;
    return sum / static_cast<float>(numbers.size());
  }

  size_t size_;
  Floats y_;
  const Norm& norm_;
  float inverse_ = 1;
};

TEST(GradientBounds, OfNormsHoldForPlainFloats) {
  Used used;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t size = 1 + random.below(40);
    Norm norm;
    norm.weight = rounded_numbers(random, size);
    norm.subtracts_mean = random.chance(0.5);
    norm.epsilon = random.one_of(std::vector<double>{0x1p-30, 0x1p-17, 0x1p-10});
    const int64_t rows = 1 + random.below(8);
    std::vector<double> x = rounded_numbers(random, rows * size, random.one_of(std::vector<double>{1e-3, 1.0, 1e3}));
    if (random.chance(0.3)) {
      for (double& element : x) element = 1000.0 + std::round(element * 16) / 16;
    }
    round_all(x);
    const std::vector<double> of_output = rounded_numbers(random, rows * size);
    Floats of_rows;
    Floats of_weight(norm.weight.size());
    for (int64_t row = 0; row < rows; ++row)
      FloatNorm(norm, x.data() + row * size).add(of_output.data() + row * size, of_rows, of_weight);
    const NormGradients expected = norm_gradients(norm, x, of_output);
    used.add("rows", expected.rows, of_rows);
    used.add("weight", expected.weight, of_weight);
  }
  std::printf("%.3f of the errors is used\n", used.largest());
  EXPECT_GT(used.largest(), 0.02);
}

float float_slope(Activation activation, float x) {
  const auto logistic = [](float y, float s) { return 1 / (1 + std::exp(-s * y)); };
  const auto slope = [&](float y, float of_y) {
    const float sigma = logistic(std::fabs(y), 1);
    const float rest = logistic(std::fabs(y), -1);
    return (y < 0 ? rest : sigma) + x * of_y * sigma * rest;
  };
  constexpr float kTwoRoots = 1.5957691216F;
  switch (activation) {
    case Activation::Relu: return x > 0 ? 1.0F : 0.0F;
    case Activation::Gelu: return 0.5F * std::erfc(-x * 0.70710678F) + x * std::exp(-0.5F * x * x) * 0.39894228F;
    case Activation::GeluTanh:
      return slope(kTwoRoots * (x + 0.044715F * x * x * x), kTwoRoots * (1 + 0.134145F * x * x));
    case Activation::GeluQuick: return slope(1.702F * x, 1.702F);
    case Activation::Silu: break;
  }
  return slope(x, 1);
}

TEST(GradientBounds, OfActivationsHoldForPlainFloats) {
  for (Activation activation :
       {Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::GeluQuick, Activation::Silu}) {
    SCOPED_TRACE(static_cast<int>(activation));
    Used used;
    Random random(1);
    std::vector<double> x = rounded_numbers(random, 4000, 12.0);
    const std::vector<double> of_output = rounded_numbers(random, 4000);
    Floats actual;
    for (size_t i = 0; i < x.size(); ++i)
      actual.push_back(static_cast<float>(of_output[i]) * float_slope(activation, static_cast<float>(x[i])));
    used.add("x", activation_gradient(activation, x, of_output, 4000), actual);
    std::printf("%.3f of the errors is used\n", used.largest());
    EXPECT_GE(used.largest(), activation == Activation::Relu ? 0.0 : 0.05);
  }
}

TEST(GradientBounds, OfCrossEntropyHoldForPlainFloats) {
  Used of_losses;
  Used of_logits;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    CrossEntropyProblem problem;
    problem.steps = 1 + random.below(6);
    problem.classes = 1 + random.below(40);
    problem.logits =
        rounded_numbers(random, problem.steps * problem.classes, random.one_of(std::vector<double>{1.0, 30.0}));
    for (int64_t token = 0; token < problem.steps; ++token) problem.labels.push_back(random.below(problem.classes));
    if (random.chance(0.5)) problem.label_smoothing = 0.125;
    const auto smoothing = static_cast<float>(problem.label_smoothing);
    const auto classes = static_cast<float>(problem.classes);
    const float weight = 1 / static_cast<float>(problem.steps);
    Floats losses;
    Floats gradients;
    for (int64_t token = 0; token < problem.steps; ++token) {
      const auto first = problem.logits.begin() + token * problem.classes;
      const Floats logits = floats({first, first + problem.classes});
      const float maximum = *std::max_element(logits.begin(), logits.end());
      float sum = 0;
      float total = 0;
      for (float logit : logits) {
        sum += std::exp(logit - maximum);
        total += logit;
      }
      const float log_sum_exp = maximum + std::log(sum);
      const auto label = static_cast<size_t>(problem.labels[static_cast<size_t>(token)]);
      losses.push_back((1 - smoothing) * (log_sum_exp - logits[label]) + smoothing * (log_sum_exp - total / classes));
      for (size_t i = 0; i < logits.size(); ++i)
        gradients.push_back(
            weight * (std::exp(logits[i] - maximum) / sum - (i == label ? 1 - smoothing : 0) - smoothing / classes));
    }
    const CrossEntropyResult expected = cross_entropy(problem);
    of_losses.add("losses", expected.losses, losses);
    of_logits.add("logits", expected.logits, gradients);
  }
  std::printf("%.3f and %.3f of the errors is used\n", of_losses.largest(), of_logits.largest());
  EXPECT_GT(of_losses.largest(), 0.02);
  EXPECT_GT(of_logits.largest(), 0.02);
}

}  // namespace
}  // namespace heed::reference
