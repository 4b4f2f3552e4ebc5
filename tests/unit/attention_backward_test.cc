// SPDX-License-Identifier: Apache-2.0
// The gradients of attention on every ISA: against the f64 reference for random problems, the rules for numbers that are not
// finite, and the promises about bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "available_isas.h"
#include "backward_call.h"
#include "failure.h"

namespace heed::cpu {
namespace {

using reference::Alignment;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Each option is given or not, whatever the others are.
BackwardCall random_call(Random& random, bool is_large) {
  BackwardCall call;
  call.batch = 1 + random.below(3);
  call.num_kv_heads = 1 + random.below(2);
  call.num_heads = call.num_kv_heads * (1 + random.below(3));
  call.num_queries = 1 + random.below(is_large ? 150 : 12);
  call.num_keys = 1 + random.below(is_large ? 300 : 20);
  call.head_size = 1 + random.below(is_large ? 40 : 10);
  call.value_head_size = 1 + random.below(is_large ? 40 : 10);
  reference::AttentionOptions& options = call.options;
  if (random.chance(0.3)) options.scoring = reference::Scoring::Additive;
  options.scale = static_cast<double>(static_cast<float>(random.uniform(-1.5, 1.5)));
  if (random.chance(0.3)) options.soft_cap = static_cast<double>(static_cast<float>(random.uniform(0.5, 2.0)));
  const std::vector<Alignment> alignments = {Alignment::None, Alignment::None, Alignment::TopLeft,
                                             Alignment::BottomRight};
  options.causal = random.one_of(alignments);
  options.window = random.one_of(alignments);
  if (options.window != Alignment::None) {
    options.window_left = random.below(call.num_keys) - 1;
    options.window_right = random.below(call.num_keys) - 1;
  }
  if (random.chance(0.4)) options.empty_rows = reference::EmptyRows::Mean;
  if (random.chance(0.4)) {
    options.dropout = static_cast<double>(static_cast<float>(random.uniform(0.1, 0.7)));
    options.training = true;
    options.dropout_seed = random.next();
  }
  const std::vector<std::array<size_t, 4>> orders = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {2, 3, 1, 0}};
  call.make_arrays(random.one_of(orders), random.below(2));
  call.queries.fill(random, 1.5);
  call.keys.fill(random, 1.5);
  call.values.fill(random, 1.0);
  call.output_gradient.fill(random, 1.0);
  if (random.chance(0.3)) {
    for (int64_t b = 0; b < call.batch; ++b) {
      call.query_counts.push_back(random.below(call.num_queries + 1));
      call.key_counts.push_back(random.below(call.num_keys + 1));
    }
  } else if (random.chance(0.3)) {
    const int64_t of_element = random.chance(0.5) ? 1 : call.num_queries;
    for (int64_t i = 0; i < call.batch * of_element; ++i) call.lengths.push_back(random.below(call.num_keys + 1));
  }
  if (random.chance(0.2)) {
    for (int64_t i = 0; i < call.batch * call.num_queries; ++i)
      call.positions.push_back(random.below(2 * call.num_keys));
  }
  const auto pair_sizes = [&] {
    return std::array<int64_t, 4>{random.chance(0.5) ? 1 : call.batch, random.chance(0.5) ? 1 : call.num_heads,
                                  random.chance(0.2) ? 1 : call.num_queries, random.chance(0.1) ? 1 : call.num_keys};
  };
  if (random.chance(0.3)) {
    call.mask_sizes = pair_sizes();
    const auto& sizes = call.mask_sizes;
    for (int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2] * sizes[3]; ++i)
      call.mask.push_back(random.chance(0.7) ? static_cast<uint8_t>(1 + random.below(255)) : 0);
  }
  if (random.chance(0.4)) {
    call.bias =
        Array(pair_sizes(), random.chance(0.8) ? std::array<size_t, 4>{0, 1, 2, 3} : std::array<size_t, 4>{0, 1, 3, 2});
    call.bias.fill(random, 1.0);
    for (float& element : call.bias.data) element = random.chance(0.1) ? -kInfinity : element;
  }
  const bool is_additive = options.scoring == reference::Scoring::Additive;
  if (random.chance(0.3)) call.alibi_slopes = Array({1, call.num_heads, 1, 1});
  if (random.chance(0.3)) {
    call.buckets = {random.chance(0.5) ? RelativeBias::BothWays : RelativeBias::OneWay, 4, is_large ? 40 : 6};
    call.relative_bias = Array({1, call.num_heads, 1, 4});
  }
  if (random.chance(0.3)) call.sinks = Array({1, call.num_heads, 1, 1});
  if (is_additive) {
    call.score_weights = Array({1, call.num_heads, 1, call.head_size});
  } else if (random.chance(0.3)) {
    call.has_zero_key = random.chance(0.5);
    if (!call.has_zero_key || random.chance(0.5)) {
      call.bias_key = Array({1, call.num_kv_heads, 1, call.head_size});
      call.bias_value = Array({1, call.num_kv_heads, 1, call.value_head_size});
    }
  }
  for (Array* array :
       {&call.alibi_slopes, &call.relative_bias, &call.sinks, &call.score_weights, &call.bias_key, &call.bias_value})
    array->fill(random, array == &call.alibi_slopes ? 0.1 : 1.0);
  return call;
}

// What a random call has, for the trace of a failure.
std::string description_of(const BackwardCall& call, uint64_t seed) {
  const auto& options = call.options;
  std::string text = "seed " + std::to_string(seed) + ":";
  const auto add = [&text](const char* name, int64_t value) {
    text += std::string(" ") + name + " " + std::to_string(value);
  };
  add("B", call.batch);
  add("H", call.num_heads);
  add("Hkv", call.num_kv_heads);
  add("Q", call.num_queries);
  add("K", call.num_keys);
  add("D", call.head_size);
  add("Dv", call.value_head_size);
  add("additive", static_cast<int64_t>(options.scoring));
  add("capped", options.soft_cap != 0 ? 1 : 0);
  add("causal", static_cast<int64_t>(options.causal));
  add("window", static_cast<int64_t>(options.window));
  add("mean", static_cast<int64_t>(options.empty_rows));
  add("drops", options.drops() ? 1 : 0);
  add("counts", static_cast<int64_t>(call.query_counts.size()));
  add("lengths", static_cast<int64_t>(call.lengths.size()));
  add("positions", static_cast<int64_t>(call.positions.size()));
  add("mask", static_cast<int64_t>(call.mask.size()));
  add("bias", static_cast<int64_t>(call.bias.data.size()));
  add("alibi_slopes", call.alibi_slopes.is_given() ? 1 : 0);
  add("relative_bias", call.relative_bias.is_given() ? 1 : 0);
  add("sinks", call.sinks.is_given() ? 1 : 0);
  add("bias_key", call.bias_key.is_given() ? 1 : 0);
  add("zero_key", call.has_zero_key ? 1 : 0);
  return text;
}

// As the rows of the engine's array are, from one of the reference with one row for each bucket or constant key.
reference::Bounded of_relative_bias(const BackwardCall& call, const reference::Bounded& table) {
  reference::Bounded result(table.values.size());
  for (int64_t h = 0; h < call.num_heads; ++h) {
    for (int64_t n = 0; n < call.buckets.num_buckets; ++n) {
      const auto to = static_cast<size_t>(h * call.buckets.num_buckets + n);
      const auto from = static_cast<size_t>(n * call.num_heads + h);
      result.values[to] = table.values[from];
      result.errors[to] = table.errors[from];
    }
  }
  return result;
}
reference::Bounded of_bias_key(const BackwardCall& call, const reference::Bounded& constant, int64_t size) {
  const int64_t count = 1 + (call.has_zero_key ? 1 : 0);
  reference::Bounded result(static_cast<size_t>(call.num_kv_heads * size));
  for (int64_t h = 0; h < call.num_kv_heads; ++h) {
    for (int64_t d = 0; d < size; ++d) {
      result.values[static_cast<size_t>(h * size + d)] = constant.values[static_cast<size_t>(h * count * size + d)];
      result.errors[static_cast<size_t>(h * size + d)] = constant.errors[static_cast<size_t>(h * count * size + d)];
    }
  }
  return result;
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

// Without options, in row-major arrays.
BackwardCall plain_call(int64_t batch, int64_t num_heads, int64_t num_kv_heads, int64_t num_queries, int64_t num_keys,
                        int64_t head_size, int64_t value_head_size) {
  Random random(9);
  BackwardCall call;
  call.batch = batch;
  call.num_heads = num_heads;
  call.num_kv_heads = num_kv_heads;
  call.num_queries = num_queries;
  call.num_keys = num_keys;
  call.head_size = head_size;
  call.value_head_size = value_head_size;
  call.options.scale = 0.5;
  call.make_arrays({0, 1, 2, 3}, 0);
  for (Array* array : {&call.queries, &call.keys, &call.values, &call.output_gradient}) array->fill(random, 1.0);
  return call;
}

void make_additive(BackwardCall& call) {
  Random random(10);
  call.options.scoring = reference::Scoring::Additive;
  call.score_weights = Array({1, call.num_heads, 1, call.head_size});
  call.score_weights.fill(random, 1.0);
}

class AttentionBackward : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }

  void run_forward(BackwardCall& call) const { EXPECT_TRUE(run_in_scratch(kernels(), call.forward(0, call.batch), 1)); }

  Gradients run(BackwardCall& call, int32_t num_workers = 1) const {
    Gradients gradients = call.gradients();
    EXPECT_TRUE(run_in_scratch(kernels(), call.backward(gradients, 0, call.batch), num_workers));
    return gradients;
  }

  static void expect_same(Gradients actual, Gradients expected) {
    for (size_t n = 0; n < kGradientNames.size(); ++n) {
      const std::vector<float>& left = actual.all()[n]->data;
      const std::vector<float>& right = expected.all()[n]->data;
      ASSERT_EQ(left.size(), right.size()) << kGradientNames[n];
      for (size_t i = 0; i < left.size(); ++i) {
        const bool is_same = bits(left[i]) == bits(right[i]) || (std::isnan(left[i]) && std::isnan(right[i]));
        ASSERT_TRUE(is_same) << kGradientNames[n] << ", element " << i << ": " << left[i] << ", expected " << right[i];
      }
    }
  }

  // The gradients of a key and a value of the first key head.
  static void expect_same_row(Gradients& actual, Gradients& expected, int64_t k) {
    for (int64_t d = 0; d < actual.keys.sizes[3]; ++d)
      EXPECT_EQ(bits(actual.keys(0, 0, k, d)), bits(expected.keys(0, 0, k, d)));
    for (int64_t d = 0; d < actual.values.sizes[3]; ++d)
      EXPECT_EQ(bits(actual.values(0, 0, k, d)), bits(expected.values(0, 0, k, d)));
  }

  // Whether all elements are within their error. `largest_used`: of any element, as a part of the error.
  static void expect_near(const char* name, Array& array, const reference::Bounded& expected, double& largest_used) {
    if (!array.is_given()) return;
    const std::vector<double> actual = array.dense();
    ASSERT_EQ(actual.size(), expected.values.size()) << name;
    for (size_t i = 0; i < actual.size(); ++i) {
      const double value = expected.values[i];
      const double error = expected.errors[i];
      if (std::isnan(value)) {
        ASSERT_FALSE(std::isfinite(actual[i])) << name << ", element " << i;
        continue;
      }
      if (std::isinf(error)) continue;
      ASSERT_LE(std::fabs(actual[i] - value), error)
          << name << ", element " << i << " is " << actual[i] << ", expected " << value;
      if (error > 0) largest_used = std::max(largest_used, std::fabs(actual[i] - value) / error);
    }
  }

  static void expect_reference(BackwardCall& call, Gradients& gradients, double& largest_used) {
    const reference::AttentionGradients expected =
        reference::attention_gradients(call.reference_problem(), call.output_gradient.dense());
    expect_near("queries", gradients.queries, expected.queries, largest_used);
    expect_near("keys", gradients.keys, expected.keys, largest_used);
    expect_near("values", gradients.values, expected.values, largest_used);
    if (gradients.bias.is_given()) {
      expect_near("bias", gradients.bias,
                  reference::sum_over_repeated(
                      expected.scores, {call.batch, call.num_heads, call.num_queries, call.num_keys}, call.bias.sizes),
                  largest_used);
    }
    expect_near("alibi_slopes", gradients.alibi_slopes, expected.alibi_slopes, largest_used);
    if (gradients.relative_bias.is_given())
      expect_near("relative_bias", gradients.relative_bias, of_relative_bias(call, expected.relative_bias),
                  largest_used);
    expect_near("sinks", gradients.sinks, expected.sinks, largest_used);
    expect_near("score_weights", gradients.score_weights, expected.score_weights, largest_used);
    if (!gradients.bias_key.is_given()) return;
    expect_near("bias_key", gradients.bias_key, of_bias_key(call, expected.constant_keys, call.head_size),
                largest_used);
    expect_near("bias_value", gradients.bias_value, of_bias_key(call, expected.constant_values, call.value_head_size),
                largest_used);
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, AttentionBackward, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(AttentionBackward, AgreesWithTheReferenceForRandomProblems) {
  double largest_used = 0;
  for (uint64_t seed = 0; seed < 440; ++seed) {
    Random random(seed);
    BackwardCall call = random_call(random, seed >= 400);
    SCOPED_TRACE(description_of(call, seed));
    run_forward(call);
    Gradients gradients = run(call);
    expect_reference(call, gradients, largest_used);
    if (HasFailure()) return;
  }
  RecordProperty("largest_part_of_error", std::to_string(largest_used));
}

// A chunk of keys has 1024 of them.
TEST_P(AttentionBackward, AgreesWithTheReferenceForManyKeys) {
  double largest_used = 0;
  for (const Alignment causal : {Alignment::None, Alignment::BottomRight}) {
    BackwardCall call = plain_call(1, 2, 1, 30, 2200, 5, 3);
    call.options.causal = causal;
    call.options.window = causal == Alignment::None ? Alignment::None : Alignment::BottomRight;
    call.options.window_left = 1100;
    run_forward(call);
    Gradients gradients = run(call);
    expect_reference(call, gradients, largest_used);
  }
}

// Numbers that were computed by other programs; all inputs are sines.
TEST_P(AttentionBackward, GivesKnownNumbers) {
  const auto fill = [](Array& array, double start) {
    double i = 0;
    array.for_each([&](float& element) { element = static_cast<float>(std::sin(start + 0.61 * i++)); });
  };
  BackwardCall call = plain_call(2, 4, 2, 3, 5, 2, 3);
  call.options.scale = static_cast<double>(0.8F);
  call.options.soft_cap = 1.5;
  call.options.causal = call.options.window = Alignment::BottomRight;
  call.options.window_left = 1;
  call.options.dropout = 0.25;
  call.options.training = true;
  call.options.dropout_seed = 7;
  call.lengths = {5, 2};
  call.bias = Array({1, 4, 1, 5});
  fill(call.queries, 0.1);
  fill(call.keys, 0.2);
  fill(call.values, 0.3);
  fill(call.bias, 0.4);
  fill(call.output_gradient, 0.5);
  run_forward(call);
  Gradients gradients = run(call);
  const auto squares = [](Array& array) {
    double sum = 0;
    array.for_each([&](float element) { sum += static_cast<double>(element) * static_cast<double>(element); });
    return sum;
  };
  EXPECT_NEAR(squares(gradients.queries), 1.0018046, 2e-6);
  EXPECT_NEAR(squares(gradients.keys), 0.4572141, 2e-6);
  EXPECT_NEAR(squares(gradients.values), 32.6765208, 2e-5);
  EXPECT_NEAR(squares(gradients.bias), 2.4108793, 4e-6);
  EXPECT_NEAR(gradients.queries(0, 1, 0, 0), 0.0214486, 1e-6);
  EXPECT_NEAR(gradients.keys(0, 0, 1, 0), -0.0552729, 1e-6);
  EXPECT_NEAR(gradients.bias(0, 1, 0, 4), -0.2456329, 1e-6);

  call = plain_call(1, 1, 1, 2, 4, 3, 2);
  call.options.scale = static_cast<double>(0.7F);
  make_additive(call);
  fill(call.queries, 0.1);
  fill(call.keys, 0.2);
  fill(call.values, 0.3);
  fill(call.score_weights, 0.4);
  fill(call.output_gradient, 0.5);
  run_forward(call);
  gradients = run(call);
  EXPECT_NEAR(gradients.score_weights(0, 0, 0, 0), 0.4903185, 1e-6);
  EXPECT_NEAR(gradients.score_weights(0, 0, 0, 1), 0.2009969, 1e-6);
  EXPECT_NEAR(gradients.score_weights(0, 0, 0, 2), -0.1027708, 1e-6);
}

// Where a bias hides all keys of a row without hiding them, their scores are all the same, and log_sum_exp has no digit that says
// how many there are.
TEST_P(AttentionBackward, RowsOfHugeScoresHaveTheirWeights) {
  for (const float huge : {-1e10F, -3e38F, 1e8F}) {
    BackwardCall call = plain_call(1, 1, 1, 3, 20, 2, 2);
    call.bias = Array({1, 1, 3, 20});
    for (float& element : call.bias.data) element = huge;
    run_forward(call);
    Gradients gradients = run(call);
    for (int64_t d = 0; d < 2; ++d) {
      float sum = 0;
      for (int64_t q = 0; q < 3; ++q) sum += call.output_gradient(0, 0, q, d);
      for (int64_t k = 0; k < 20; ++k) EXPECT_NEAR(gradients.values(0, 0, k, d), sum / 20, 1e-6);
    }
  }
}

// ---- numbers that are not finite -------------------------------------------------------------------------------------

// Elements that are not finite anywhere: they are where the reference has them, and nowhere else.
TEST_P(AttentionBackward, SpreadsWhatIsNotFiniteAsTheReferenceDoes) {
  double largest_used = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    BackwardCall call = random_call(random, false);
    SCOPED_TRACE(description_of(call, seed));
    for (Array* array : {&call.queries, &call.keys, &call.values, &call.output_gradient}) {
      const auto row = [&](int64_t axis) { return random.below(array->sizes[static_cast<size_t>(axis)]); };
      if (random.chance(0.5)) (*array)(row(0), row(1), row(2), row(3)) = random.chance(0.7) ? kNaN : kInfinity;
    }
    run_forward(call);
    Gradients gradients = run(call);
    expect_reference(call, gradients, largest_used);
    if (HasFailure()) return;
  }
}

// Rule (a): what no query sees is not read, and has the gradient 0.
TEST_P(AttentionBackward, HiddenKeysAreNotReadAndHaveNoGradient) {
  BackwardCall call = plain_call(2, 4, 2, 20, 50, 7, 6);
  call.lengths = {31, 40};
  run_forward(call);
  Gradients expected = run(call);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t k = call.lengths[static_cast<size_t>(b)]; k < 50; ++k) {
        for (int64_t d = 0; d < 7; ++d) {
          call.keys(b, h, k, d) = kNaN;
          EXPECT_EQ(bits(expected.keys(b, h, k, d)), 0U);
        }
        for (int64_t d = 0; d < 6; ++d) {
          call.values(b, h, k, d) = kNaN;
          EXPECT_EQ(bits(expected.values(b, h, k, d)), 0U);
        }
      }
    }
  }
  expect_same(run(call), expected);
}

// Rule (b): a query or a gradient that is not finite reaches no key that its row does not see, and a key no row that does not see
// it.
TEST_P(AttentionBackward, WhatIsNotFiniteReachesOnlyThePairsThatSeeIt) {
  for (const bool is_additive : {false, true}) {
    BackwardCall call = plain_call(1, 2, 1, 40, 40, 5, 6);
    call.options.causal = Alignment::TopLeft;
    if (is_additive) make_additive(call);
    run_forward(call);
    Gradients clean = run(call);
    for (const float number : {kNaN, kInfinity, -kInfinity}) {
      for (Array* poisoned : {&call.queries, &call.output_gradient}) {
        const float kept = (*poisoned)(0, 1, 17, 2);
        (*poisoned)(0, 1, 17, 2) = number;
        run_forward(call);
        Gradients gradients = run(call);
        for (int64_t k = 18; k < 40; ++k) expect_same_row(gradients, clean, k);
        for (int64_t q = 0; q < 40; ++q) {
          for (int64_t d = 0; d < 5; ++d) {
            EXPECT_EQ(bits(gradients.queries(0, 0, q, d)), bits(clean.queries(0, 0, q, d)));
            if (q == 17) continue;
            EXPECT_EQ(bits(gradients.queries(0, 1, q, d)), bits(clean.queries(0, 1, q, d)));
          }
        }
        (*poisoned)(0, 1, 17, 2) = kept;
      }
      for (Array* poisoned : {&call.keys, &call.values}) {
        const float kept = (*poisoned)(0, 0, 21, 1);
        (*poisoned)(0, 0, 21, 1) = number;
        run_forward(call);
        Gradients gradients = run(call);
        for (int64_t h = 0; h < 2; ++h) {
          for (int64_t q = 0; q < 21; ++q) {
            for (int64_t d = 0; d < 5; ++d)
              EXPECT_EQ(bits(gradients.queries(0, h, q, d)), bits(clean.queries(0, h, q, d)));
          }
        }
        (*poisoned)(0, 0, 21, 1) = kept;
      }
    }
  }
}

// Rule (c).
TEST_P(AttentionBackward, EmptyRowsHaveNoGradientWhateverTheirOutputs) {
  BackwardCall call = plain_call(1, 1, 1, 4, 9, 3, 4);
  call.lengths = {9, 9, 0, 9};
  call.sinks = Array({1, 1, 1, 1});
  call.sinks.data[0] = 0.5F;
  run_forward(call);
  Gradients expected = run(call);
  for (int64_t d = 0; d < 4; ++d) call.output_gradient(0, 0, 2, d) = d == 0 ? kNaN : kInfinity;
  call.queries(0, 0, 2, 0) = kNaN;
  Gradients gradients = run(call);
  expect_same(gradients, expected);
  for (int64_t d = 0; d < 3; ++d) EXPECT_EQ(bits(gradients.queries(0, 0, 2, d)), 0U);
}

TEST_P(AttentionBackward, EmptyRowsWithTheMeanHaveTheirShareOfAllValues) {
  BackwardCall call = plain_call(1, 1, 1, 3, 9, 3, 4);
  call.options.empty_rows = reference::EmptyRows::Mean;
  call.lengths = {0};
  call.keys.data.assign(call.keys.data.size(), kNaN);
  call.queries.data.assign(call.queries.data.size(), kNaN);
  run_forward(call);
  Gradients gradients = run(call);
  for (int64_t d = 0; d < 4; ++d) {
    float sum = 0;
    for (int64_t q = 0; q < 3; ++q) sum += call.output_gradient(0, 0, q, d);
    for (int64_t k = 0; k < 9; ++k) EXPECT_NEAR(gradients.values(0, 0, k, d), sum / 9, 1e-6);
  }
  for (const float element : gradients.queries.data) EXPECT_EQ(bits(element), 0U);
  for (const float element : gradients.keys.data) EXPECT_EQ(bits(element), 0U);
}

// Rule (d).
TEST_P(AttentionBackward, RowThatIsNaNMakesWhatItSeesNaN) {
  BackwardCall call = plain_call(1, 1, 1, 3, 30, 3, 4);
  call.lengths = {30, 11, 30};
  call.queries(0, 0, 1, 0) = kNaN;
  run_forward(call);
  Gradients gradients = run(call);
  for (int64_t k = 0; k < 30; ++k) {
    EXPECT_EQ(std::isnan(gradients.keys(0, 0, k, 0)), k < 11);
    EXPECT_EQ(std::isnan(gradients.values(0, 0, k, 0)), k < 11);
  }
  for (int64_t q = 0; q < 3; ++q) EXPECT_EQ(std::isnan(gradients.queries(0, 0, q, 0)), q == 1);
}

// Rule (e): the term of ALiBi overflows for all but the nearest keys.
TEST_P(AttentionBackward, VisibleScoreOfMinusInfinityHasNoGradient) {
  BackwardCall call = plain_call(1, 1, 1, 5, 5, 3, 4);
  call.alibi_slopes = Array({1, 1, 1, 1});
  call.alibi_slopes.data[0] = 3e38F;
  run_forward(call);
  BackwardCall without_slopes = call;
  without_slopes.options.window = Alignment::TopLeft;
  without_slopes.options.window_left = without_slopes.options.window_right = 0;
  without_slopes.alibi_slopes = Array();
  run_forward(without_slopes);
  Gradients gradients = run(call);
  Gradients expected = run(without_slopes);
  for (size_t i = 0; i < gradients.queries.data.size(); ++i)
    EXPECT_EQ(gradients.queries.data[i], expected.queries.data[i]);
  for (size_t i = 0; i < gradients.values.data.size(); ++i)
    EXPECT_EQ(gradients.values.data[i], expected.values.data[i]);
}

// Rule (f): the gradients of the scores of a row, and of its sink, add up to 0.
TEST_P(AttentionBackward, GradientsOfTheScoresOfARowAddUpToZero) {
  for (const bool has_sink : {false, true}) {
    BackwardCall call = plain_call(1, 1, 1, 6, 70, 8, 8);
    call.bias = Array({1, 1, 6, 70});
    for (float& element : call.bias.data) element = 0;
    if (has_sink) {
      call.sinks = Array({1, 1, 1, 1});
      call.sinks.data[0] = 1;
    }
    run_forward(call);
    Gradients gradients = run(call);
    const reference::AttentionGradients expected =
        reference::attention_gradients(call.reference_problem(), call.output_gradient.dense());
    double sum = has_sink ? static_cast<double>(gradients.sinks.data[0]) : 0;
    double bound = has_sink ? expected.sinks.errors[0] : 0;
    for (const float element : gradients.bias.data) sum += static_cast<double>(element);
    for (const double error : expected.scores.errors) bound += error;
    EXPECT_LE(std::fabs(sum), bound);
  }
}

TEST_P(AttentionBackward, RowWithoutAnOutputGradientAddsNothingWhateverItHolds) {
  BackwardCall call = plain_call(1, 2, 1, 30, 40, 5, 6);
  call.bias = Array({1, 1, 1, 40});
  Random random(4);
  call.bias.fill(random, 1.0);
  run_forward(call);
  for (int64_t d = 0; d < 6; ++d) call.output_gradient(0, 1, 12, d) = d % 2 == 0 ? 0.0F : -0.0F;
  const Gradients expected = run(call);
  for (int64_t d = 0; d < 5; ++d) call.queries(0, 1, 12, d) = kNaN;
  for (int64_t d = 0; d < 6; ++d) call.output(0, 1, 12, d) = kNaN;
  call.log_sum_exp(0, 1, 12, 0) = kNaN;
  Gradients gradients = run(call);
  expect_same(gradients, expected);
  for (int64_t d = 0; d < 5; ++d) EXPECT_EQ(bits(gradients.queries(0, 1, 12, d)), 0U);
}

// ---- the same bits ---------------------------------------------------------------------------------------------------

TEST_P(AttentionBackward, NumberOfThreadsChangesNothing) {
  for (uint64_t seed = 1000; seed < 1040; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BackwardCall call = random_call(random, seed >= 1030);
    run_forward(call);
    const Gradients expected = run(call);
    for (const int32_t num_workers : {2, 3, 7}) expect_same(run(call, num_workers), expected);
    if (HasFailure()) return;
  }
}

// With few heads and many keys threads share the keys of a head.
TEST_P(AttentionBackward, NumberOfThreadsChangesNothingWithManyKeys) {
  for (const bool is_additive : {false, true}) {
    BackwardCall call = plain_call(1, 2, 1, 20, 4200, 5, 3);
    call.options.window = Alignment::BottomRight;
    call.options.window_left = 2500;
    if (is_additive) {
      make_additive(call);
    } else {
      Random random(3);
      call.bias = Array({1, 1, 20, 4200});
      call.alibi_slopes = Array({1, 2, 1, 1});
      call.sinks = Array({1, 2, 1, 1});
      call.bias_key = Array({1, 1, 1, 5});
      call.bias_value = Array({1, 1, 1, 3});
      for (Array* array : {&call.bias, &call.alibi_slopes, &call.sinks, &call.bias_key, &call.bias_value})
        array->fill(random, 0.01);
    }
    run_forward(call);
    const Gradients expected = run(call);
    for (const int32_t num_workers : {2, 3, 7}) expect_same(run(call, num_workers), expected);
  }
}

TEST_P(AttentionBackward, ScratchMemoryDoesNotDecreaseWithTheBatchAndIsLinearInTheSequence) {
  const auto scratch_of = [&](int64_t batch, int64_t size) {
    AttentionBackwardProblem problem;
    problem.forward.batch = batch;
    problem.forward.num_heads = problem.forward.num_kv_heads = 1;
    problem.forward.head_size = problem.forward.value_head_size = 64;
    problem.forward.limits = unlimited(size, size);
    problem.forward.output.given = 1;
    return plan_problem(kernels(), problem, 2).scratch_bytes;
  };
  for (int64_t batch = 1; batch < 9; ++batch) EXPECT_LE(scratch_of(batch, 4096), scratch_of(batch + 1, 4096));
  EXPECT_LE(static_cast<double>(scratch_of(1, 8192)), 2.1 * static_cast<double>(scratch_of(1, 4096)));
}

TEST_P(AttentionBackward, GradientsThatAreNotWantedChangeNothing) {
  for (uint64_t seed = 2000; seed < 2060; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BackwardCall call = random_call(random, false);
    run_forward(call);
    Gradients expected = run(call);
    Gradients some = call.gradients();
    std::vector<bool> is_wanted;
    for (Array* array : some.all()) {
      is_wanted.push_back(random.chance(0.5));
      if (!is_wanted.back()) *array = Array();
    }
    EXPECT_TRUE(run_in_scratch(kernels(), call.backward(some, 0, call.batch), 1));
    for (size_t i = 0; i < is_wanted.size(); ++i) {
      if (!is_wanted[i]) *expected.all()[i] = Array();
    }
    expect_same(some, expected);
    if (HasFailure()) return;
  }
}

// One call for each batch element, where gradients that are summed over the batch accumulate, gives the bits of one call for all.
TEST_P(AttentionBackward, BatchIsItsElementsOneAfterAnother) {
  for (uint64_t seed = 3000; seed < 3120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BackwardCall call = random_call(random, seed >= 3110);
    call.options.training = false;
    run_forward(call);
    const Gradients expected = run(call);
    Gradients alone = call.gradients();
    for (int64_t b = 0; b < call.batch; ++b) {
      AttentionBackwardProblem problem = call.backward(alone, b, 1);
      const bool has_bias_of_each = call.bias.is_given() && call.bias.sizes[0] > 1;
      problem.accumulates = b == 0 ? 0 : ~0U;
      if (has_bias_of_each) problem.accumulates &= ~static_cast<uint32_t>(SummedGradient::Bias);
      EXPECT_TRUE(run_in_scratch(kernels(), problem, 1));
    }
    expect_same(alone, expected);
    if (HasFailure()) return;
  }
}

TEST_P(AttentionBackward, PackedBatchHasTheBitsOfThePaddedOne) {
  for (uint64_t seed = 4000; seed < 4030; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BackwardCall padded = random_call(random, seed >= 4020);
    padded.lengths.clear();
    padded.positions.clear();
    padded.mask.clear();
    padded.bias = Array();
    padded.query_counts.clear();
    padded.key_counts.clear();
    for (int64_t b = 0; b < padded.batch; ++b) {
      padded.query_counts.push_back(random.below(padded.num_queries + 1));
      padded.key_counts.push_back(random.below(padded.num_keys + 1));
    }
    BackwardCall packed = padded;
    packed.is_packed = true;
    packed.make_arrays({0, 1, 2, 3}, 0);
    padded.make_arrays({0, 1, 2, 3}, 0);
    const auto copy = [&](Array& from, Array& to, const std::vector<int64_t>& counts, bool is_packing) {
      int64_t first = 0;
      for (size_t b = 0; b < counts.size(); first += counts[b++]) {
        for (int64_t h = 0; h < from.sizes[1]; ++h) {
          for (int64_t row = 0; row < counts[b]; ++row) {
            for (int64_t d = 0; d < from.sizes[3]; ++d) {
              if (is_packing)
                to(0, h, first + row, d) = from(static_cast<int64_t>(b), h, row, d);
              else
                to(static_cast<int64_t>(b), h, row, d) = from(0, h, first + row, d);
            }
          }
        }
      }
    };
    for (Array BackwardCall::*member : {&BackwardCall::queries, &BackwardCall::output_gradient}) {
      (padded.*member).fill(random, 1.0);
      copy(padded.*member, packed.*member, padded.query_counts, true);
    }
    for (Array BackwardCall::*member : {&BackwardCall::keys, &BackwardCall::values}) {
      (padded.*member).fill(random, 1.0);
      copy(padded.*member, packed.*member, padded.key_counts, true);
    }
    run_forward(padded);
    run_forward(packed);
    // Rows that belong to no element are not read.
    for (int64_t b = 0; b < padded.batch; ++b) {
      for (int64_t h = 0; h < padded.num_heads; ++h) {
        for (int64_t q = padded.query_counts[static_cast<size_t>(b)]; q < padded.num_queries; ++q) {
          padded.queries(b, h, q, 0) = padded.output_gradient(b, h, q, 0) = padded.log_sum_exp(b, h, q, 0) = kNaN;
          padded.output(b, h, q, 0) = kNaN;
        }
      }
    }
    const Gradients expected = run(padded);
    const Gradients of_packed = run(packed, 2);
    Gradients unpacked = of_packed;
    for (Array Gradients::*member : {&Gradients::queries, &Gradients::keys, &Gradients::values}) {
      Array rows = expected.*member;
      for (float& element : rows.data) element = 0;
      Array from = of_packed.*member;
      copy(from, rows, member == &Gradients::queries ? padded.query_counts : padded.key_counts, false);
      unpacked.*member = rows;
    }
    expect_same(unpacked, expected);
    if (HasFailure()) return;
  }
}

// ---- refusals --------------------------------------------------------------------------------------------------------

TEST_P(AttentionBackward, RefusesWhatItDoesNotCompute) {
  BackwardCall call = plain_call(1, 1, 1, 2, 2, 2, 2);
  Gradients gradients = call.gradients();
  const auto refusal = [&](const auto& change) -> std::string {
    AttentionBackwardProblem problem = call.backward(gradients, 0, 1);
    change(problem);
    try {
      plan_problem(kernels(), problem, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.status, Status::Unsupported);
      return error.text;
    }
    return "";
  };
  EXPECT_EQ(refusal([](AttentionBackwardProblem&) {}), "");
  EXPECT_EQ(refusal([](AttentionBackwardProblem& problem) { problem.forward.cached.given = 1; }),
            "attention backward has a cache, expected keys and values of the call alone");
  EXPECT_EQ(refusal([](AttentionBackwardProblem& problem) { problem.forward.keys.dtype = DType::BF16; }),
            "the keys of attention backward are BF16, expected F32");
  EXPECT_EQ(refusal([](AttentionBackwardProblem& problem) { problem.output_gradient.dtype = DType::F16; }),
            "the elements of the output's gradient of attention backward are F16, expected F32");
}

}  // namespace
}  // namespace heed::cpu
