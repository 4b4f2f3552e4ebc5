// SPDX-License-Identifier: Apache-2.0
// The gradients of multi-head attention and of layers of a Transformer in the reference, against central differences of the
// reference and PyTorch's numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "property/support/central_differences.h"
#include "reference/multi_head_gradients.h"
#include "reference/transformer_gradients.h"

namespace heed::reference {
namespace {

using property::CentralDifferences;
using property::kSevenDigits;
using property::Random;
using property::random_numbers;
using property::sines;
using property::sum_of_squares;

// Adds inputs and parameters by the names of their gradients.
class NamedDifferences {
 public:
  NamedDifferences(const NamedRows& gradients, std::function<double()> loss)
      : gradients_(gradients), differences_(std::move(loss)) {}

  void add(const std::string& name, std::vector<double>& input) {
    if (input.empty()) return;
    ASSERT_TRUE(gradients_.contains(name)) << name;
    differences_.add(name, input, gradients_.at(name).values);
    ++num_added_;
  }
  void add(const std::string& name, Projection& projection) {
    add(name + ".weight", projection.weight);
    add(name + ".bias", projection.bias);
  }
  void add(const std::string& name, std::optional<Projection>& projection) {
    if (projection) add(name, *projection);
  }
  void add(const std::string& name, Norm& norm) {
    add(name + ".weight", norm.weight);
    add(name + ".bias", norm.bias);
  }
  // The parameters and limits, not the rows.
  void add(const std::string& prefix, MultiHeadProblem& problem) {
    add(prefix + "W_q", problem.query_projection);
    add(prefix + "W_k", problem.key_projection);
    add(prefix + "W_v", problem.value_projection);
    add(prefix + "W_o", problem.output_projection);
    add(prefix + "w_v.weight", problem.score_weights);
    add(prefix + "bias_k", problem.bias_key);
    add(prefix + "bias_v", problem.bias_value);
    if (problem.query_norm) {
      add(prefix + "q_norm.weight", problem.query_norm->weight);
      add(prefix + "k_norm.weight", problem.key_norm->weight);
    }
    add(prefix + "sinks", problem.limits.sinks);
    add(prefix + "relative_bias.weight", problem.limits.relative_bias.weight);
    add(prefix + "alibi_slopes", problem.limits.alibi_slopes);
    add(prefix + "bias", problem.limits.bias);
    ++num_added_;  // the gates of heads, which are no input of the reference
  }

  // Also that there are no other gradients.
  void expect() const {
    EXPECT_EQ(num_added_, gradients_.size());
    differences_.expect();
  }

 private:
  const NamedRows& gradients_;
  CentralDifferences differences_;
  size_t num_added_ = 0;
};

Projection random_weights(Random& random, int64_t inputs, int64_t outputs) {
  return {inputs, outputs, random_numbers(random, outputs * inputs),
          random.chance(0.5) ? random_numbers(random, outputs) : std::vector<double>()};
}

// Without rows.
MultiHeadProblem random_attention(Random& random, int64_t batch, int64_t num_queries, int64_t num_keys,
                                  int64_t query_size, int64_t key_size, int64_t value_size) {
  MultiHeadProblem problem;
  AttentionSizes& sizes = problem.sizes;
  sizes.batch = batch;
  sizes.num_kv_heads = 1 + random.below(2);
  sizes.num_heads = sizes.num_kv_heads * (1 + random.below(2));
  sizes.num_queries = num_queries;
  sizes.num_keys = num_keys;
  sizes.head_size = 2 * (1 + random.below(2));
  sizes.value_head_size = 1 + random.below(3);
  problem.query_projection = random_weights(random, query_size, sizes.num_heads * sizes.head_size);
  problem.key_projection = random_weights(random, key_size, sizes.num_kv_heads * sizes.head_size);
  problem.value_projection = random_weights(random, value_size, sizes.num_kv_heads * sizes.value_head_size);
  problem.output_projection = random_weights(random, sizes.num_heads * sizes.value_head_size, query_size);
  const bool is_additive = random.chance(0.2);
  if (is_additive) {
    problem.options.scoring = Scoring::Additive;
    problem.score_weights = random_numbers(random, sizes.num_heads * sizes.head_size);
  }
  if (random.chance(0.3)) {
    problem.options.dropout = 0.3;
    problem.options.training = true;
    problem.options.dropout_seed = random.next();
  }
  if (random.chance(0.3)) problem.options.causal = Alignment::BottomRight;
  if (random.chance(0.3)) problem.options.empty_rows = EmptyRows::Mean;
  if (random.chance(0.3)) {
    for (int64_t i = 0; i < batch * num_queries; ++i)
      problem.limits.lengths.push_back(static_cast<double>(random.below(num_keys + 1)));
  }
  if (random.chance(0.3)) {
    for (int64_t b = 0; b < batch; ++b) problem.limits.query_counts.push_back(random.below(num_queries + 1));
  }
  if (random.chance(0.3))
    problem.limits.bias = random_numbers(random, batch * sizes.num_heads * num_queries * num_keys);
  if (random.chance(0.3)) problem.limits.sinks = random_numbers(random, sizes.num_heads);
  if (random.chance(0.3)) problem.limits.alibi_slopes = random_numbers(random, sizes.num_heads);
  if (random.chance(0.3)) problem.limits.relative_bias = {random_numbers(random, 4 * sizes.num_heads), 4, 6, true};
  if (!is_additive && random.chance(0.3)) {
    problem.bias_key = random_numbers(random, sizes.num_kv_heads * sizes.head_size);
    problem.bias_value = random_numbers(random, sizes.num_kv_heads * sizes.value_head_size);
  }
  if (!is_additive && random.chance(0.3)) problem.has_zero_key = true;
  if (random.chance(0.3)) {
    const bool is_shared = random.chance(0.5);
    const auto norm = [&](int64_t heads) {
      return HeadNorm{random_numbers(random, (is_shared ? 1 : heads) * sizes.head_size), 0.1, random.chance(0.5)};
    };
    problem.query_norm = norm(sizes.num_heads);
    problem.key_norm = norm(sizes.num_kv_heads);
  }
  if (random.chance(0.4)) {
    RotaryOptions rotary;
    rotary.size = 2;
    rotary.pairing = random.chance(0.5) ? Pairing::Half : Pairing::Interleaved;
    problem.rotary = rotary;
  }
  return problem;
}

TEST(MultiHeadGradients, AreCentralDifferences) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t batch = 1 + random.below(2);
    const int64_t num_queries = 1 + random.below(3);
    const int64_t num_keys = 1 + random.below(4);
    MultiHeadProblem problem = random_attention(random, batch, num_queries, num_keys, 1 + random.below(3),
                                                1 + random.below(3), 1 + random.below(3));
    if (random.chance(0.2)) problem.output_projection.reset();
    if (random.chance(0.1)) {
      problem.value_projection.reset();
      problem.values =
          random_numbers(random, batch * num_keys * problem.sizes.num_kv_heads * problem.sizes.value_head_size);
    } else {
      problem.values = random_numbers(random, batch * num_keys * problem.value_projection->input_size);
    }
    problem.queries = random_numbers(random, batch * num_queries * problem.query_projection->input_size);
    problem.keys = random_numbers(random, batch * num_keys * problem.key_projection.input_size);
    const std::vector<double> of_output =
        random_numbers(random, static_cast<int64_t>(multi_head_attention(problem).output.values.size()));
    const NamedRows gradients = multi_head_gradients(problem, of_output, unmoved);
    NamedDifferences differences(gradients,
                                 [&] { return property::dot(multi_head_attention(problem).output.values, of_output); });
    differences.add("queries", problem.queries);
    differences.add("keys", problem.keys);
    differences.add("values", problem.values);
    differences.add("", problem);
    differences.expect();
    if (testing::Test::HasFailure()) return;
  }
}

Norm random_norm(Random& random, int64_t size) {
  Norm norm;
  norm.weight = random_numbers(random, size);
  norm.subtracts_mean = random.chance(0.7);
  if (norm.subtracts_mean) norm.bias = random_numbers(random, size);
  norm.epsilon = 0.1;
  return norm;
}

TransformerLayer random_layer(Random& random, int64_t batch, int64_t num_rows, int64_t num_encoder_rows, int64_t size) {
  TransformerLayer layer;
  layer.self_attention = random_attention(random, batch, num_rows, num_rows, size, size, size);
  layer.self_attention.limits.compares_rows = true;
  layer.self_attention.limits.key_counts = layer.self_attention.limits.query_counts;
  if (num_encoder_rows > 0)
    layer.cross_attention = random_attention(random, batch, num_rows, num_encoder_rows, size, size, size);
  if (layer.cross_attention) layer.cross_attention->limits.query_counts = layer.self_attention.limits.query_counts;
  const int64_t hidden = 1 + random.below(4);
  layer.feed_forward.first = random_weights(random, size, hidden);
  if (random.chance(0.3)) layer.feed_forward.gate = random_weights(random, size, hidden);
  layer.feed_forward.second = random_weights(random, hidden, size);
  layer.feed_forward.activation = random.chance(0.5) ? Activation::GeluTanh : Activation::Silu;
  layer.norm_first = random.chance(0.5);
  const bool has_output_norms = random.chance(0.3);
  const bool has_dropout = random.chance(0.4);
  if (random.chance(0.3)) layer.residual_scale = 0.7;
  for (int part = 0; part < (num_encoder_rows > 0 ? 3 : 2); ++part) {
    layer.norms.emplace_back(random_norm(random, size));
    if (has_output_norms) layer.output_norms.push_back(random_norm(random, size));
    layer.dropouts.push_back({has_dropout ? 0.25 : 0.0, random.next()});
  }
  if (layer.norm_first && random.chance(0.2)) layer.norms[0].reset();
  return layer;
}

void add_layer(const std::string& prefix, TransformerLayer& layer, NamedDifferences& differences) {
  differences.add(prefix + "self_attention.", layer.self_attention);
  if (layer.cross_attention) differences.add(prefix + "cross_attention.", *layer.cross_attention);
  differences.add(prefix + "feed_forward.W_1", layer.feed_forward.first);
  differences.add(prefix + "feed_forward.W_gate", layer.feed_forward.gate);
  differences.add(prefix + "feed_forward.W_2", layer.feed_forward.second);
  for (size_t i = 0; i < layer.norms.size(); ++i) {
    if (layer.norms[i]) differences.add(prefix + "norm_" + std::to_string(i + 1), *layer.norms[i]);
    if (!layer.output_norms.empty())
      differences.add(prefix + "output_norm_" + std::to_string(i + 1), layer.output_norms[i]);
  }
}

// The rows that are padding are 0 in the output.
std::vector<double> output_of(const TransformerStack& stack, const std::vector<double>& rows,
                              const std::vector<double>& encoder_rows) {
  std::vector<double> output = transform(stack, rows, encoder_rows, unmoved);
  const MultiHeadProblem& attention = stack.layers[0].self_attention;
  const size_t size = rows.size() / static_cast<size_t>(attention.sizes.batch * attention.sizes.num_queries);
  for (size_t b = 0; b < attention.limits.query_counts.size(); ++b) {
    for (int64_t q = attention.limits.query_counts[b]; q < attention.sizes.num_queries; ++q) {
      const size_t row = b * static_cast<size_t>(attention.sizes.num_queries) + static_cast<size_t>(q);
      for (size_t e = 0; e < size; ++e) output[row * size + e] = 0;
    }
  }
  return output;
}

TEST(TransformerGradients, AreCentralDifferences) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int64_t batch = 1 + random.below(2);
    const int64_t num_rows = 1 + random.below(3);
    const int64_t num_encoder_rows = random.chance(0.5) ? 1 + random.below(3) : 0;
    const int64_t size = 1 + random.below(3);
    TransformerStack stack;
    const int64_t num_layers = 1 + random.below(2);
    for (int64_t i = 0; i < num_layers; ++i) {
      stack.layers.push_back(random_layer(random, batch, num_rows, num_encoder_rows, size));
      // All layers have the same padding.
      for (auto counts : {&AttentionLimits::query_counts, &AttentionLimits::key_counts})
        stack.layers.back().self_attention.limits.*counts = stack.layers.front().self_attention.limits.*counts;
      if (num_encoder_rows > 0)
        stack.layers.back().cross_attention->limits.query_counts =
            stack.layers.front().self_attention.limits.query_counts;
    }
    if (random.chance(0.5)) stack.final_norm = random_norm(random, size);
    std::vector<double> rows = random_numbers(random, batch * num_rows * size);
    std::vector<double> encoder_rows = random_numbers(random, batch * num_encoder_rows * size);
    const std::vector<double> of_output = random_numbers(random, batch * num_rows * size);
    const NamedRows gradients = transformer_gradients(stack, rows, encoder_rows, of_output, unmoved);
    NamedDifferences differences(gradients,
                                 [&] { return property::dot(output_of(stack, rows, encoder_rows), of_output); });
    differences.add("queries", rows);
    differences.add("keys", encoder_rows);
    for (size_t i = 0; i < stack.layers.size(); ++i)
      add_layer("layers." + std::to_string(i) + ".", stack.layers[i], differences);
    if (stack.final_norm) differences.add("norm", *stack.final_norm);
    differences.expect();
    if (testing::Test::HasFailure()) return;
  }
}

// Whatever padding holds reaches no gradient, and padding has gradients of 0.
TEST(TransformerGradients, PaddingThatIsNaNTakesNoPart) {
  for (const bool norm_first : {false, true}) {
    Random random(3);
    TransformerLayer layer = random_layer(random, 2, 3, 2, 2);
    layer.norm_first = norm_first;
    for (auto counts : {&AttentionLimits::query_counts, &AttentionLimits::key_counts})
      layer.self_attention.limits.*counts = {2, 3};
    layer.cross_attention->limits.query_counts = {2, 3};
    layer.cross_attention->limits.lengths = {1, 1, 1, 2, 2, 2};
    layer.cross_attention->options.empty_rows = EmptyRows::Zero;
    std::vector<double> rows = random_numbers(random, 12);
    std::vector<double> encoder_rows = random_numbers(random, 8);
    std::vector<double> of_output = random_numbers(random, 12);
    const NamedRows before = transformer_gradients(layer, rows, encoder_rows, of_output, unmoved);
    rows[4] = rows[5] = encoder_rows[2] = of_output[4] = kNaN;
    encoder_rows[3] = of_output[5] = kInfinity;
    const NamedRows after = transformer_gradients(layer, rows, encoder_rows, of_output, unmoved);
    for (const auto& [name, gradient] : before) EXPECT_EQ(after.at(name).values, gradient.values) << name;
    for (size_t i : {4, 5}) EXPECT_EQ(after.at("queries").values[i], 0.0) << i;
    for (size_t i : {2, 3}) EXPECT_EQ(after.at("keys").values[i], 0.0) << i;
  }
}

// A bound that carried the errors of all steps through a stack would allow anything.
TEST(TransformerGradients, ErrorsOfMovedStepsAreSmall) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TransformerStack stack;
    for (int layer = 0; layer < 2; ++layer) {
      stack.layers.push_back(random_layer(random, 2, 3, 4, 4));
      for (auto counts : {&AttentionLimits::query_counts, &AttentionLimits::key_counts})
        (stack.layers.back().self_attention.limits.*counts).clear();
      stack.layers.back().cross_attention->limits.query_counts.clear();
    }
    const std::vector<double> rows = random_numbers(random, 24);
    const std::vector<double> encoder_rows = random_numbers(random, 32);
    const std::vector<double> of_output = random_numbers(random, 24);
    const NamedBounds bounds = with_moved_steps([&](const AfterStep& after_step) {
      return transformer_gradients(stack, rows, encoder_rows, of_output, after_step);
    });
    double largest = 0;
    double largest_error = 0;
    for (const auto& [name, bound] : bounds) {
      for (size_t i = 0; i < bound.values.size(); ++i) {
        largest = std::max(largest, std::fabs(bound.values[i]));
        largest_error = std::max(largest_error, bound.errors[i]);
      }
    }
    EXPECT_GT(largest_error, 1e-8 * largest);
    EXPECT_LT(largest_error, 1e-3 * largest);
  }
}

// nn.TransformerEncoderLayer's and nn.TransformerDecoderLayer's parameters, in the order of their state_dict, are sines that begin at 0.1, 0.2 and so on.
class SineParameters {
 public:
  Projection projection(int64_t inputs, int64_t outputs) {
    std::vector<double> weight = next(outputs * inputs);
    return {inputs, outputs, std::move(weight), next(outputs)};
  }
  Norm norm(int64_t size) {
    Norm norm;
    norm.weight = next(size);
    norm.bias = next(size);
    norm.epsilon = 1e-5;
    norm.subtracts_mean = true;
    return norm;
  }
  MultiHeadProblem attention(int64_t num_queries, int64_t num_keys) {
    constexpr int64_t kSize = 4;
    MultiHeadProblem problem;
    problem.sizes = {2, 2, 2, num_queries, num_keys, 2, 2};
    const Projection packed = projection(kSize, 3 * kSize);
    const auto part = [&](int64_t i) {
      const auto weight = packed.weight.begin() + i * kSize * kSize;
      const auto bias = packed.bias.begin() + i * kSize;
      return Projection{kSize, kSize, {weight, weight + kSize * kSize}, {bias, bias + kSize}};
    };
    problem.query_projection = part(0);
    problem.key_projection = part(1);
    problem.value_projection = part(2);
    problem.output_projection = projection(kSize, kSize);
    return problem;
  }

 private:
  std::vector<double> next(int64_t count) { return sines(count, 0.1 * ++number_); }

  int number_ = 0;
};

TransformerLayer sine_layer(int64_t num_rows, int64_t num_encoder_rows) {
  SineParameters parameters;
  TransformerLayer layer;
  layer.self_attention = parameters.attention(num_rows, num_rows);
  if (num_encoder_rows > 0) layer.cross_attention = parameters.attention(num_rows, num_encoder_rows);
  layer.feed_forward.first = parameters.projection(4, 6);
  layer.feed_forward.second = parameters.projection(6, 4);
  for (int part = 0; part < (num_encoder_rows > 0 ? 3 : 2); ++part) layer.norms.emplace_back(parameters.norm(4));
  layer.dropouts.resize(layer.norms.size());
  return layer;
}

void expect_first_row(const std::vector<double>& output, const std::vector<double>& expected) {
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(output[i], expected[i], 0.5e-6) << i;
}

double sum_of_squares_of(const NamedRows& gradients, const std::string& name) {
  return sum_of_squares(gradients.at(name).values);
}

TEST(TransformerGradients, OfAnEncoderLayerAreThoseOfTheCheckValues) {
  TransformerLayer layer = sine_layer(3, 0);
  layer.self_attention.limits.lengths = {3, 3, 3, 2, 2, 2};
  const std::vector<double> rows = sines(24, 0.5);
  const std::vector<double> of_output = sines(24, 0.9);
  expect_first_row(transform({{layer}, {}}, rows, {}, unmoved), {1.951386, -0.533236, 1.087530, 0.067804});
  const NamedRows gradients = transformer_gradients(layer, rows, {}, of_output, unmoved);
  EXPECT_NEAR(sum_of_squares_of(gradients, "queries"), 0.2140647, kSevenDigits);
  double of_packed = 0;
  for (const char* name : {"W_q", "W_k", "W_v"})
    of_packed += sum_of_squares_of(gradients, std::string("self_attention.") + name + ".weight");
  EXPECT_NEAR(of_packed, 0.2035902, kSevenDigits);

  layer.norm_first = true;
  layer.feed_forward.activation = Activation::Gelu;
  expect_first_row(transform({{layer}, {}}, rows, {}, unmoved), {5.131090, 0.020973, 3.914632, 2.913345});
  EXPECT_NEAR(sum_of_squares_of(transformer_gradients(layer, rows, {}, of_output, unmoved), "queries"), 14.130951,
              0.5e-6);
}

TEST(TransformerGradients, OfADecoderLayerAreThoseOfTheCheckValues) {
  TransformerLayer layer = sine_layer(2, 3);
  const std::vector<double> rows = sines(16, 0.7);
  const std::vector<double> encoder_rows = sines(24, 0.5);
  layer.cross_attention->limits.lengths = {3, 3, 2, 2};
  expect_first_row(transform({{layer}, {}}, rows, encoder_rows, unmoved), {2.529601, -0.221238, 0.105155, -0.358622});
  layer.self_attention.options.causal = Alignment::TopLeft;
  expect_first_row(transform({{layer}, {}}, rows, encoder_rows, unmoved), {2.523350, -0.227439, 0.109042, -0.357489});
  const NamedRows gradients = transformer_gradients(layer, rows, encoder_rows, sines(16, 0.9), unmoved);
  EXPECT_NEAR(sum_of_squares_of(gradients, "keys"), 0.0036588, kSevenDigits);
  EXPECT_NEAR(sum_of_squares_of(gradients, "queries"), 0.0078173, 2 * kSevenDigits);
}

}  // namespace
}  // namespace heed::reference
