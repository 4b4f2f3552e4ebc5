// SPDX-License-Identifier: Apache-2.0
// The kernels' activations against their formulas in f64, on every ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernel_probes.h"

namespace heed::cpu {
namespace {

class KernelActivations : public testing::TestWithParam<MathProbe> {
 protected:
  std::vector<float> values_of(Activation activation, const std::vector<float>& arguments) const {
    std::vector<float> values = arguments;
    values.resize(values.size() + static_cast<size_t>(GetParam().lanes));
    GetParam().activate_row(activation, values.data(), std::ssize(arguments));
    values.resize(arguments.size());
    return values;
  }
  float value_of(Activation activation, float argument) const { return values_of(activation, {argument})[0]; }
};

// Floats of all magnitudes, subnormal ones too, and more of those whose results are neither 0 nor the argument; both
// signs.
std::vector<float> floats_of_both_signs() {
  std::vector<float> floats;
  const auto add = [&floats](float first, float last, uint32_t step) {
    for (auto bits = std::bit_cast<uint32_t>(first); bits <= std::bit_cast<uint32_t>(last); bits += step) {
      floats.push_back(std::bit_cast<float>(bits));
      floats.push_back(-floats.back());
    }
  };
  add(0.0f, std::numeric_limits<float>::max(), 7919);
  add(0.01f, 110.0f, 1009);
  floats.push_back(std::numeric_limits<float>::max());
  floats.push_back(-std::numeric_limits<float>::max());
  return floats;
}

constexpr double kUnit = 0x1p-24;

// Where numbers near the least ones were products: a factor may be off by 2^-150, and so may the product.
double error_of_subnormals(double x) { return (std::abs(x) + 1) * 0x1p-150; }

// activation-inl.h: in units, (1.12 x^2 + 9) of x Phi(-abs(x)), and 2 of the result.
TEST_P(KernelActivations, GeluIsWithinItsUnits) {
  const std::vector<float> arguments = floats_of_both_signs();
  const std::vector<float> values = values_of(Activation::Gelu, arguments);
  double most = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const double x = arguments[i];
    const double expected = x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    const double tail = std::abs(x) * 0.5 * std::erfc(std::abs(x) / std::sqrt(2.0));
    const double bound =
        ((1.12 * x * x + 9) * tail + 2 * std::abs(expected)) * kUnit + error_of_subnormals(std::min(std::abs(x), 15.0));
    ASSERT_LE(std::abs(values[i] - expected), bound) << std::hexfloat << arguments[i];
    most = std::max(most, std::abs(values[i] - expected) / bound);
  }
  RecordProperty("of_its_bound", std::to_string(most));
}

// x sigma(y). activation-inl.h: sigma is within 1.23 abs(y) + 5 units where it is small, for y as it is computed. Roundings of
// y add to the slope, up to the 4 of docs/semantics.md, rule 18.
struct Logistic {
  Activation activation;
  double (*y)(double x);
  double slope;
};
constexpr Logistic kLogistics[] = {
    {Activation::GeluTanh, [](double x) { return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }, 4},
    {Activation::GeluQuick, [](double x) { return 1.702 * x; }, 2.45},
    {Activation::Silu, [](double x) { return x; }, 1.23}};

TEST_P(KernelActivations, LogisticOnesAreWithinTheirUnits) {
  const std::vector<float> arguments = floats_of_both_signs();
  for (const auto& [activation, y_of, slope] : kLogistics) {
    const std::vector<float> values = values_of(activation, arguments);
    double most = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const double x = arguments[i];
      const double y = y_of(x);
      const double power = std::exp(-std::abs(y));
      const double tail = std::abs(x) * power / (1 + power);
      const double expected = x * (y >= 0 ? 1 : power) / (1 + power);
      const double units = power == 0 ? 0 : (slope * std::abs(y) + 5) * tail;
      const double bound = (units + 4 * std::abs(expected)) * kUnit + error_of_subnormals(std::min(std::abs(x), 110.0));
      ASSERT_LE(std::abs(values[i] - expected), bound)
          << "activation " << static_cast<int>(activation) << " of " << std::hexfloat << arguments[i];
      most = std::max(most, std::abs(values[i] - expected) / bound);
    }
    RecordProperty("of_its_bound_" + std::to_string(static_cast<int>(activation)), std::to_string(most));
  }
}

TEST_P(KernelActivations, ReluIsExact) {
  const std::vector<float> arguments = floats_of_both_signs();
  const std::vector<float> values = values_of(Activation::Relu, arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const float expected = arguments[i] < 0 ? 0.0f : arguments[i];
    ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected)) << arguments[i];
  }
}

TEST_P(KernelActivations, AreExactAtTheirLimits) {
  constexpr float kMost = std::numeric_limits<float>::infinity();
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (const ActivationRow& listed : kActivations) {
    const Activation activation = listed.activation;
    SCOPED_TRACE(static_cast<int>(activation));
    const auto expect_bits = [&](float argument, float expected) {
      EXPECT_EQ(std::bit_cast<uint32_t>(value_of(activation, argument)), std::bit_cast<uint32_t>(expected)) << argument;
    };
    expect_bits(0.0f, 0.0f);
    expect_bits(-0.0f, -0.0f);
    EXPECT_TRUE(std::isnan(value_of(activation, kNone)));
    EXPECT_TRUE(std::isnan(value_of(activation, -kNone)));
    EXPECT_EQ(value_of(activation, kMost), kMost);
    EXPECT_EQ(value_of(activation, std::numeric_limits<float>::max()), std::numeric_limits<float>::max());
    EXPECT_EQ(value_of(activation, std::numeric_limits<float>::lowest()), 0);
    // The product of -inf and 0.
    if (activation == Activation::Relu)
      expect_bits(-kMost, 0.0f);
    else
      EXPECT_TRUE(std::isnan(value_of(activation, -kMost)));
  }
}

TEST_P(KernelActivations, OfAnElementHaveTheSameBitsWhereverItStands) {
  const int64_t lanes = GetParam().lanes;
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> elements = {0.0f,   -0.0f, 0x1p-149f, -0x1p-140f, std::numeric_limits<float>::infinity(),
                                 -88.0f, -14.6f};
  while (std::ssize(elements) < 11 * lanes) elements.push_back(normal(random));
  constexpr float kGuard = 12345.0f;
  for (const ActivationRow& listed : kActivations) {
    const Activation activation = listed.activation;
    std::vector<uint32_t> alone;
    for (const float element : elements) alone.push_back(std::bit_cast<uint32_t>(value_of(activation, element)));
    for (int64_t first = 0; first < 5 * lanes; first += 3) {
      for (int64_t count = 0; count <= 5 * lanes; ++count) {
        std::vector<float> row(elements.begin() + first, elements.begin() + first + count);
        const int64_t room = (count + lanes - 1) / lanes * lanes;
        row.resize(static_cast<size_t>(room));
        row.push_back(kGuard);
        GetParam().activate_row(activation, row.data(), count);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::bit_cast<uint32_t>(row[static_cast<size_t>(i)]), alone[static_cast<size_t>(first + i)])
              << "element " << i << " of " << count << ", " << elements[static_cast<size_t>(first + i)];
        }
        ASSERT_EQ(row.back(), kGuard);
      }
    }
  }
}

TEST_P(KernelActivations, NoneChangesNothing) {
  const std::vector<float> arguments = {1.0f, -2.0f, std::numeric_limits<float>::lowest()};
  EXPECT_EQ(values_of(Activation::None, arguments), arguments);
}

HEED_FOR_EVERY_ISA(KernelActivations);

}  // namespace
}  // namespace heed::cpu
