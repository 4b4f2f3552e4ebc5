// SPDX-License-Identifier: Apache-2.0
// Rule 15, the error bound, where it is hard to keep. Each test prints the used fraction of the bound.
#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>
#include <utility>

#include "support/samples.h"

namespace heed::property {
namespace {

class Rule15 : public testing::Test {
 protected:
  // All results in F32: rounding to a narrower dtype would hide the error of the computation.
  void expect_within_bound(Call call) {
    want_everything_in_f32(call);
    AccuracyStatistics of_call;
    EXPECT_TRUE(agrees_with_reference(call, &of_call));
    statistics.add(of_call);
  }

  void TearDown() override {
    std::cout << "             largest used fraction of the bound: " << std::setprecision(3)
              << statistics.largest_fraction << " (" << statistics.where << "), " << statistics.elements
              << " elements, without a bound " << statistics.without_bound << "\n";
    EXPECT_LE(statistics.without_bound, on_ascend() ? without_bound_on_ascend : 0);
  }

  static void multiply(Input& input, double factor) {
    for (double& element : input.contents.values) element *= factor;
    input = make_input(input.contents, input.dtype);
  }

  Random random{1500};
  AccuracyStatistics statistics;
  // The largest number of elements that may have no bound on Ascend, because of the magnitudes of the test's numbers.
  int64_t without_bound_on_ascend = 0;
};

TEST_F(Rule15, HoldsForModerateScoresOfEverySize) {
  for (int64_t head_size : {1, 3, 16, 17, 64, 128}) {
    for (int64_t num_keys : {1, 2, 5, 63, 64, 65, 128, 129, 300}) {
      expect_within_bound(dot_product_call({1, 1, 1, 5, num_keys, head_size, 4}, random));
    }
  }
}

TEST_F(Rule15, HoldsForScoresUpToOneHundred) {
  for (int64_t head_size : {1, 8, 64, 128}) {
    for (int64_t num_keys : {2, 64, 200}) {
      Call call = dot_product_call({1, 2, 1, 20, num_keys, head_size, 8}, random);
      // Numbers of up to a have products of up to a^2 * sqrt(D) after scaling.
      const double factor = std::sqrt(100.0 / std::sqrt(static_cast<double>(head_size))) / 2.0;
      multiply(call.queries, factor);
      multiply(*call.keys, factor);
      expect_within_bound(call);
    }
  }
}

TEST_F(Rule15, HoldsForScoresUpToOneHundredInMultiHead) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    heed_multi_head_attention_options options = two_heads();
    options.num_hiddens = 64;
    MultiHeadSample sample;
    sample.num_queries = 20;
    sample.num_keys = 70;
    sample.query_size = sample.key_size = sample.value_size = 48;
    sample.dtype = dtype;
    Call call = multi_head_call(options, sample, random);
    multiply(call.queries, 4.0);
    multiply(*call.keys, 4.0);
    expect_within_bound(call);
  }
}

TEST_F(Rule15, HoldsForLargeBiasAndSoftCap) {
  for (float soft_cap : {0.0F, 0.5F, 30.0F, 1000.0F}) {
    for (double bias : {0.0, 5.0, 100.0}) {
      Call call = dot_product_call({1, 1, 1, 20, 70, 8, 4}, random);
      multiply(call.queries, 5.0);
      call.options.soft_cap = soft_cap;
      if (bias != 0.0) call.bias = make_input(random_array({20, 70}, random, bias));
      expect_within_bound(call);
    }
  }
}

TEST_F(Rule15, HoldsForAdditiveScoresOfEverySize) {
  for (int64_t num_hiddens : {1, 3, 16, 17, 64, 128}) {
    for (int64_t num_keys : {1, 2, 5, 63, 64, 65, 128, 129, 300}) {
      MultiHeadSample sample;
      sample.num_keys = num_keys;
      expect_within_bound(additive_call(num_hiddens, sample, random));
    }
  }
}

TEST_F(Rule15, HoldsForAdditiveScoresUpToOneHundred) {
  for (heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    for (int64_t num_hiddens : {1, 8, 64, 128}) {
      MultiHeadSample sample;
      sample.num_queries = 20;
      sample.num_keys = 70;
      sample.dtype = dtype;
      Call call = additive_call(num_hiddens, sample, random);
      Input& score_weights = call.parameters.at("w_v.weight");
      score_weights =
          make_input(random_array({1, num_hiddens}, random, 200.0 / static_cast<double>(num_hiddens)), HEED_F32);
      expect_within_bound(call);
      call.options.scale = -2.0F;
      call.options.soft_cap = 30.0F;
      expect_within_bound(call);
    }
  }
}

// Queries are nearly the negative of the keys, so that their sum is little more than their rounding errors.
TEST_F(Rule15, HoldsWhereQueriesAndKeysOfAdditiveScoresCancel) {
  MultiHeadSample sample;
  sample.query_size = sample.key_size = 6;
  Call call = additive_call(16, sample, random);
  call.parameters["W_k.weight"] = call.parameters["W_q.weight"];
  call.queries = make_input(filled({2, 3, 6}, 1000.0));
  for (double& element : call.keys->contents.values) element = -1000.0 + element / 1000.0;
  call.keys = make_input(call.keys->contents);
  expect_within_bound(call);
}

TEST_F(Rule15, HoldsForTinyAdditiveScores) {
  for (double factor : {1e-10, 1e-20, 1e-37, 1e-40, 1e-44}) {
    Call call = additive_call(8, {}, random);
    multiply(call.queries, factor);
    multiply(*call.keys, factor);
    expect_within_bound(call);
    multiply(call.parameters.at("w_v.weight"), factor);
    expect_within_bound(call);
  }
}

// Exponentials on both sides of 2^-100 = e^-69, below which they may be 0, with values that make them visible.
TEST_F(Rule15, HoldsForScoresFarApart) {
  for (const int64_t num_queries : {2, 40}) {
    for (const double largest_value : {1.0, 1e30}) {
      Call call = dot_product_call({1, 2, 1, num_queries, 600, 8, 4}, random);
      multiply(*call.values, largest_value);
      Call with_slopes = call;
      with_slopes.alibi_slopes = make_input({{2}, {0.4, 8.0}});
      expect_within_bound(with_slopes);
      with_slopes.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      expect_within_bound(with_slopes);
      for (const auto& [highest, lowest] : {std::pair{-60.0, -120.0}, {-68.0, -71.0}}) {
        Array bias = filled({num_queries, 600}, 0.0);
        for_each_index(bias.dims, [&, highest = highest, lowest = lowest](const Dims& index, size_t i) {
          if (index[1] != 7 * index[0]) bias.values[i] = random.uniform(lowest, highest);
        });
        call.bias = make_input(bias);
        expect_within_bound(call);
        call.sinks = make_input({{2}, {60.0, -60.0}});
        expect_within_bound(call);
        call.sinks.reset();
      }
    }
  }
}

// Equal scores, with values of every size: the result is their mean.
TEST_F(Rule15, HoldsForEqualInputsWithLargeValues) {
  for (const int64_t num_queries : {2, 40}) {
    for (const int64_t num_keys : {1, 3, 300}) {
      for (const double value : {1.0, 1e15, 1e30}) {
        Call call = dot_product_call({1, 1, 1, num_queries, num_keys, 4, 3}, random);
        call.queries = make_input(filled({1, num_queries, 4}, 1.7));
        call.keys = make_input(filled({1, num_keys, 4}, -2.3));
        multiply(*call.values, value);
        expect_within_bound(call);
        call.values = make_input(filled({1, num_keys, 3}, value));
        expect_within_bound(call);
        call.alibi_slopes = make_input({{1}, {0.7}});
        expect_within_bound(call);
      }
    }
  }
}

// Each key block raises the running maximum, so that the results of all earlier key blocks are rescaled.
TEST_F(Rule15, HoldsWhereEveryBlockRaisesTheMaximum) {
  Call call = dot_product_call({1, 1, 1, 3, 5000, 1, 2}, random);
  for (size_t k = 0; k < 5000; ++k) call.keys->contents.values[k] = static_cast<double>(k) / 50.0;
  call.queries = make_input({{1, 3, 1}, {1.0, -1.0, 0.01}});
  call.keys = make_input(call.keys->contents);
  expect_within_bound(call);
}

TEST_F(Rule15, HoldsForLongRows) { expect_within_bound(dot_product_call({1, 1, 1, 2, 20000, 4, 2}, random)); }

TEST_F(Rule15, HoldsForLargeValues) {
  // The outputs without a bound: 5 x 3 of each of three calls, for each of three numbers of keys. With values of up to
  // 3e38 the magnitudes in a column add up to more than 2^127.
  without_bound_on_ascend = int64_t{3} * 3 * 5 * 3;
  for (double factor : {1e10, 1e30, 1.5e38}) {
    for (int64_t num_keys : {2, 70, 300}) {
      Call call = dot_product_call({1, 1, 1, 5, num_keys, 4, 3}, random);
      multiply(*call.values, factor);
      expect_within_bound(call);
      for (double& value : call.values->contents.values) value = std::fabs(value);
      expect_within_bound(call);
      call.options.empty_rows = HEED_EMPTY_ROWS_MEAN;
      call.valid_lens = make_input({{1}, {0.0}}, HEED_I32);
      expect_within_bound(call);
    }
  }
}

// Sums of exp(score - maximum) * value exceed the largest float, but their quotients do not.
TEST_F(Rule15, SumsThatWouldOverflowBeforeTheDivisionStayFinite) {
  HEED_SKIP_ON_ASCEND("sums overflow on the device");
  Call call = dot_product_call({1, 1, 1, 3, 100, 1, 2}, random);
  call.keys = make_input(filled({1, 100, 1}, 0.5));
  call.values = make_input(filled({1, 100, 2}, 3e38));
  expect_within_bound(call);
  const double output = run(call).output->contents.values[0];
  EXPECT_TRUE(std::isfinite(output));
  call.options.dropout = 0.2F;
  call.training = 1;
  expect_within_bound(call);
}

TEST_F(Rule15, HoldsWhereValuesCancel) {
  Call call = dot_product_call({1, 1, 1, 3, 100, 1, 1}, random);
  call.keys = make_input(filled({1, 100, 1}, 0.5));
  for (size_t k = 0; k < 100; ++k)
    call.values->contents.values[k] = (k % 2 == 0 ? 1e30 : -1e30) + static_cast<double>(k);
  call.values = make_input(call.values->contents);
  expect_within_bound(call);
}

TEST_F(Rule15, HoldsWhereProductsCancel) {
  Call call = dot_product_call({1, 1, 1, 1, 50, 64, 2}, random);
  for (size_t d = 0; d < 64; ++d) call.queries.contents.values[d] = d % 2 == 0 ? 100.0 : -100.0;
  call.queries = make_input(call.queries.contents);
  for (double& element : call.keys->contents.values) element = 10.0 + element / 1000.0;
  call.keys = make_input(call.keys->contents);
  expect_within_bound(call);
}

TEST_F(Rule15, HoldsForTinyNumbers) {
  for (double factor : {1e-20, 1e-37, 1e-40, 1e-44}) {
    Call call = dot_product_call({1, 1, 1, 5, 70, 4, 3}, random);
    multiply(*call.values, factor);
    expect_within_bound(call);
    multiply(call.queries, factor);
    expect_within_bound(call);
  }
}

TEST_F(Rule15, ResultsOfHalfPrecisionAreRoundedOnce) {
  // The 10 x 8 outputs of the call with values of up to 3.4e38: the magnitudes in a column add up to more than 2^127.
  without_bound_on_ascend = int64_t{10} * 8;
  for (heed_dtype dtype : {HEED_F16, HEED_BF16}) {
    // From subnormal numbers of the dtype up to numbers that overflow in it.
    for (double factor : {dtype == HEED_F16 ? 1e-7 : 1e-39, 1.0, dtype == HEED_F16 ? 32752.0 : 1.69e38}) {
      Call call = dot_product_call({1, 1, 1, 10, 20, 4, 8}, random, dtype);
      multiply(*call.values, factor);
      call.options.dropout = 0.5F;
      call.training = 1;
      want_everything(call);
      AccuracyStatistics of_call;
      EXPECT_TRUE(agrees_with_reference(call, &of_call));
      statistics.add(of_call);
    }
  }
}

// With small sizes the worst of many calls must use a good part of the bound: a bound that is much too wide would
// detect no error.
TEST_F(Rule15, BoundIsNotVacuous) {
  for (int i = 0; i < 300; ++i) expect_within_bound(dot_product_call({1, 1, 1, 4, 2, 1, 2}, random));
  EXPECT_GT(statistics.largest_fraction, 0.01);
  EXPECT_LT(statistics.largest_fraction, 1.0);
}

}  // namespace
}  // namespace heed::property
