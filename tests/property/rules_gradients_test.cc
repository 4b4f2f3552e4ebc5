// SPDX-License-Identifier: Apache-2.0
// What takes part in no gradient: hidden keys, queries that are padding, rows whose gradient is 0, rows without a key. Of every kind of
// attention.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "property/support/device.h"
#include "support/gradients.h"
#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

constexpr double kSpoilers[] = {kNaN, kInfinity, -kInfinity};

NamedResults gradients_of(const Call& call, const Array& of_output) {
  GradientRequest request;
  request.of_output = of_output;
  for (const auto& [name, dims] : differentiable_inputs(call)) request.inputs.insert(name);
  return backward(Runner(call), call, request);
}

// The elements of row `row` of each head of batch element b.
template <typename Visit>
void for_each_element_of_row(const Dims& dims, int64_t b, int64_t row, const Visit& visit) {
  for_each_index(dims, [&](const Dims& index, size_t i) {
    if (index[0] == b && index[dims.size() - 2] == row) visit(i);
  });
}

void fill_row(Array& array, int64_t b, int64_t row, double number) {
  for_each_element_of_row(array.dims, b, row, [&](size_t i) { array.values[i] = number; });
}

testing::AssertionResult row_is(const Result& gradient, int64_t b, int64_t row,
                                const std::function<bool(double)>& check) {
  testing::AssertionResult verdict = testing::AssertionSuccess();
  for_each_element_of_row(gradient.contents.dims, b, row, [&](size_t i) {
    if (!check(gradient.contents.values[i]) && verdict)
      verdict = testing::AssertionFailure() << "element " << i << " is " << gradient.contents.values[i];
  });
  return verdict;
}

bool is_zero(double number) { return number == 0.0; }

Input lengths(const std::vector<double>& lens) {
  return make_input({{static_cast<int64_t>(lens.size())}, lens}, HEED_I32);
}

// Calls check(call, of_output) for a call of each kind with two batch elements, three queries and five keys.
template <typename Check>
void for_a_call_of_each_kind(const Check& check) {
  Random random(9001);
  int kind = 0;
  for (const Call& call : call_of_each_kind(random)) {
    SCOPED_TRACE("kind " + std::to_string(kind++));
    ASSERT_TRUE(call.keys && call.values);
    const Call plain = training_form(call);
    check(plain, make_input(random_array(result_dims(plain).output, random)).contents);
  }
}

TEST(RulesOfGradients, HiddenKeysAreNotReadAndHaveGradientsOfZero) {
  for_a_call_of_each_kind([](Call call, const Array& of_output) {
    call.valid_lens = lengths({3, 2});
    const NamedResults expected = gradients_of(call, of_output);
    for (const double spoiler : kSpoilers) {
      Call spoiled = call;
      for (int64_t row = 3; row < 5; ++row) fill_row(spoiled.keys->contents, 0, row, spoiler);
      for (int64_t row = 2; row < 5; ++row) fill_row(spoiled.values->contents, 1, row, spoiler);
      EXPECT_TRUE(same_bits(gradients_of(spoiled, of_output), expected)) << spoiler;
    }
    for (const char* name : {"keys", "values"}) {
      EXPECT_TRUE(row_is(expected.at(name), 0, 4, is_zero)) << name;
      EXPECT_TRUE(row_is(expected.at(name), 1, 2, is_zero)) << name;
      EXPECT_FALSE(row_is(expected.at(name), 1, 1, is_zero)) << name;
    }
  });
}

TEST(RulesOfGradients, QueriesThatArePaddingTakeNoPart) {
  for_a_call_of_each_kind([](Call call, const Array& of_output) {
    call.query_lens = lengths({1, 3});
    const NamedResults expected = gradients_of(call, of_output);
    for (const double spoiler : kSpoilers) {
      Call spoiled = call;
      Array spoiled_output = of_output;
      for (int64_t row = 1; row < 3; ++row) {
        fill_row(spoiled.queries.contents, 0, row, spoiler);
        fill_row(spoiled_output, 0, row, spoiler);
      }
      EXPECT_TRUE(same_bits(gradients_of(spoiled, spoiled_output), expected)) << spoiler;
    }
    EXPECT_TRUE(row_is(expected.at("queries"), 0, 1, is_zero));
    EXPECT_FALSE(row_is(expected.at("queries"), 1, 1, is_zero));
  });
}

TEST(RulesOfGradients, RowsWhoseGradientIsZeroAddNothing) {
  for_a_call_of_each_kind([](const Call& call, Array of_output) {
    fill_row(of_output, 0, 1, 0.0);
    const NamedResults expected = gradients_of(call, of_output);
    for (const double spoiler : kSpoilers) {
      Call spoiled = call;
      fill_row(spoiled.queries.contents, 0, 1, spoiler);
      EXPECT_TRUE(same_bits(gradients_of(spoiled, of_output), expected)) << spoiler;
    }
    EXPECT_TRUE(row_is(expected.at("queries"), 0, 1, is_zero));
  });
}

// Whatever a query or its gradient is, keys that it does not see have the gradients of the other rows.
TEST(RulesOfGradients, KeysGetNothingFromRowsThatDoNotSeeThem) {
  for_a_call_of_each_kind([](Call call, const Array& of_output) {
    call.options.causal = HEED_CAUSAL_TOP_LEFT;
    Array without = of_output;
    fill_row(without, 0, 0, 0.0);
    const NamedResults expected = gradients_of(call, without);
    for (const double spoiler : kSpoilers) {
      for (const bool is_query : {true, false}) {
        Call spoiled = call;
        Array spoiled_output = of_output;
        fill_row(is_query ? spoiled.queries.contents : spoiled_output, 0, 0, spoiler);
        const NamedResults gradients = gradients_of(spoiled, spoiled_output);
        for (const char* name : {"keys", "values"}) {
          SCOPED_TRACE(std::string(name) + (is_query ? " and a query of " : " and a gradient of ") +
                       std::to_string(spoiler));
          for (int64_t b = 0; b < 2; ++b) {
            for (int64_t row = b == 0 ? 1 : 0; row < 5; ++row) {
              for_each_element_of_row(expected.at(name).contents.dims, b, row, [&](size_t i) {
                EXPECT_EQ(gradients.at(name).contents.values[i], expected.at(name).contents.values[i]);
              });
            }
          }
          // The tanh of an infinite query is finite.
          if (std::isnan(spoiler)) {
            EXPECT_TRUE(row_is(gradients.at(name), 0, 0, [](double number) { return std::isnan(number); }));
          }
        }
        if (std::isnan(spoiler)) {
          EXPECT_TRUE(row_is(gradients.at("queries"), 0, 0, [](double number) { return std::isnan(number); }));
        }
        EXPECT_TRUE(row_is(gradients.at("queries"), 0, 1, [](double number) { return std::isfinite(number); }));
      }
    }
  });
}

TEST(RulesOfGradients, RowsWithoutAKeyHaveGradientsOfZero) {
  for_a_call_of_each_kind([](Call call, Array of_output) {
    call.valid_lens = lengths({0, 5});
    fill_row(of_output, 0, 1, 1e30);
    const NamedResults gradients = gradients_of(call, of_output);
    for (const char* name : {"queries", "keys", "values"}) {
      for (int64_t row = 0; row < 3; ++row) EXPECT_TRUE(row_is(gradients.at(name), 0, row, is_zero)) << name;
      EXPECT_FALSE(row_is(gradients.at(name), 1, 0, is_zero)) << name;
    }
  });
}

// The mean of all values, the hidden ones too.
TEST(RulesOfGradients, OfAMeanReachAllValuesAlike) {
  for_a_call_of_each_kind([](Call call, const Array& of_output) {
    call.valid_lens = lengths({0, 5});
    call.options.empty_rows = HEED_EMPTY_ROWS_MEAN;
    const NamedResults gradients = gradients_of(call, of_output);
    for (int64_t row = 0; row < 3; ++row) EXPECT_TRUE(row_is(gradients.at("queries"), 0, row, is_zero));
    const Result& values = gradients.at("values");
    const Dims& dims = values.contents.dims;
    const auto stride = static_cast<size_t>(dims.back());
    for (int64_t row = 0; row < 5; ++row) {
      EXPECT_TRUE(row_is(gradients.at("keys"), 0, row, is_zero));
      for_each_element_of_row(dims, 0, row, [&](size_t i) {
        EXPECT_NE(values.contents.values[i], 0.0);
        EXPECT_EQ(values.contents.values[i], values.contents.values[i - static_cast<size_t>(row) * stride]);
      });
    }
  });
}

}  // namespace
}  // namespace heed::property
