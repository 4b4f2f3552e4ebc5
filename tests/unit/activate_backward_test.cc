// SPDX-License-Identifier: Apache-2.0
// Gradients of activations, caps and factors on every ISA: against f64, for parts of every size next to those of vectors and any
// strides; at numbers that are not finite; with the same bits on any number of workers and in place.
#include "ops/activate_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "available_isas.h"
#include "strided_floats.h"

namespace heed::cpu {
namespace {

// An activation and its derivative in f64, with the errors of both in units of 2^-24.
struct Derivative {
  double value;
  double slope;
  double value_error;
  double slope_error;
};

double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

// Of x sigma(y). The kernel's y is within 3 units of it, and its sigma within 1.23 abs(y) + 5 units (activation-inl.h).
Derivative of_logistic(double x, double y, double slope) {
  const double power = std::exp(-std::abs(y));
  const double sigma = (y < 0 ? power : 1) / (1 + power);
  const double product = power / (1 + power) / (1 + power);
  const double units = 4.3 * std::abs(y) + 8;
  return {x * sigma, sigma + x * slope * product, units * std::abs(x * sigma),
          units * (sigma + 2 * std::abs(x * slope * product)) + 1};
}

Derivative derivative_of(Activation activation, double x) {
  switch (activation) {
    case Activation::None: return {x, 1, 0, 0};
    case Activation::Relu: return {x > 0 ? x : 0, x > 0 ? 1.0 : 0.0, 0, 0};
    case Activation::Gelu: {
      const double phi = std::erfc(-x / std::numbers::sqrt2) / 2;
      const double units = 1.12 * x * x + 12;
      return {x * phi, phi + x * density(x), units * std::abs(x * phi), units * (phi + std::abs(x) * density(x)) + 1};
    }
    case Activation::GeluTanh: {
      const double factor = std::sqrt(8 / std::numbers::pi);
      return of_logistic(x, factor * (x + 0.044715 * x * x * x), factor * (1 + 3 * 0.044715 * x * x));
    }
    case Activation::GeluQuick: return of_logistic(x, 1.702 * x, 1.702);
    case Activation::Silu: return of_logistic(x, x, 1);
  }
  return {};
}

constexpr Activation kWithDerivatives[] = {Activation::None,
#define HEED_ITEM(name, upper, word, flops) Activation::name,
                                           HEED_ACTIVATIONS(HEED_ITEM)
#undef HEED_ITEM
};

struct ActivationForm {
  int64_t rows = 1;
  int64_t size = 1;
  Activation activation = Activation::None;
  float scale = 1;
  float soft_cap = 0;
  bool has_factor = false;
  bool has_factor_gradient = false;
};

class ActivationGradients {
 public:
  ActivationGradients(const KernelTable& kernels, const ActivationForm& form, Draw& draw)
      : output_gradient(sizes_of(form), draw),
        sum(sizes_of(form), draw),
        factor(sizes_of(form), draw),
        sum_gradient(sizes_of(form), draw),
        factor_gradient(sizes_of(form), draw),
        kernels_(kernels),
        form_(form) {
    for (Floats<8>* floats : {&output_gradient, &sum, &factor, &sum_gradient, &factor_gradient}) floats->fill(draw);
    sum.fill([&] { return 4 * draw.number(); });
    std::ranges::copy(sizes_of(form), problem.sizes);
    problem.activation = form.activation;
    problem.scale = form.scale;
    problem.soft_cap = form.soft_cap;
    output_gradient.give_to(problem.output_gradient);
    sum.give_to(problem.sum);
    if (form.has_factor) factor.give_to(problem.factor);
    sum_gradient.give_to(problem.sum_gradient);
    if (form.has_factor_gradient) factor_gradient.give_to(problem.factor_gradient);
  }
  ActivationGradients(const ActivationGradients&) = delete;
  ActivationGradients& operator=(const ActivationGradients&) = delete;

  void run(int32_t num_workers = 1) const { run_on_workers(kernels_, problem, num_workers); }

  // The argument of the activation is within some units of its f64 value, by which value and derivative change too: the second
  // derivatives are below 1.6 in magnitude.
  void expect_near_f64() const {
    constexpr double kUnit = 0x1p-24;
    sum_gradient.for_each([&](const Floats<8>::Index& at) {
      const double gradient = static_cast<double>(output_gradient.at(at));
      const double scaled = static_cast<double>(sum.at(at)) * static_cast<double>(form_.scale);
      double x = scaled;
      double slope = 1;
      double slope_error = 0;
      if (form_.soft_cap > 0) {
        const double cap = static_cast<double>(form_.soft_cap);
        const double capped = std::tanh(scaled / cap);
        x = cap * capped;
        slope = 1 - capped * capped;
        slope_error = 20;
      }
      const double argument_error = form_.soft_cap > 0 ? 8 * std::abs(x) : std::abs(x);
      const Derivative derivative = derivative_of(form_.activation, x);
      const double other = form_.has_factor ? static_cast<double>(factor.at(at)) : 1;
      const double outer = gradient * other * static_cast<double>(form_.scale);
      const double expected = outer * derivative.slope * slope;
      const double error = std::abs(outer) * (slope * (derivative.slope_error + 1.6 * argument_error) +
                                              std::abs(derivative.slope) * slope_error) +
                           6 * std::abs(expected);
      ASSERT_NEAR(sum_gradient.at(at), expected, kUnit * error) << "at " << x;
      if (!form_.has_factor_gradient) return;
      const double of_factor = gradient * derivative.value;
      const double bound = std::abs(gradient) * (derivative.value_error + 1.2 * argument_error) + std::abs(of_factor);
      ASSERT_NEAR(factor_gradient.at(at), of_factor, kUnit * bound) << "of the factor at " << x;
    });
    ASSERT_TRUE(sum_gradient.is_intact_around());
    ASSERT_TRUE(factor_gradient.is_intact_around());
  }

  Floats<8> output_gradient;
  Floats<8> sum;
  Floats<8> factor;
  Floats<8> sum_gradient;
  Floats<8> factor_gradient;
  ActivateBackwardProblem problem;

 private:
  static Floats<8>::Index sizes_of(const ActivationForm& form) { return {1, 1, 1, 1, 1, 1, form.rows, form.size}; }

  const KernelTable& kernels_;
  ActivationForm form_;
};

class ActivateBackward : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, ActivateBackward, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(ActivateBackward, AgreesWithF64) {
  Draw draw(1);
  for (int64_t size = 1; size <= 270; size += size < 40 ? 1 : 23) {
    for (const Activation activation : kWithDerivatives) {
      ActivationForm form;
      form.rows = 1 + draw.below(3);
      form.size = size;
      form.activation = activation;
      form.scale = draw.coin() ? 1.0f : 0.7f;
      form.soft_cap = draw.coin() ? 0.0f : 1 + 3 * static_cast<float>(draw.below(3));
      form.has_factor = draw.coin();
      form.has_factor_gradient = draw.coin();
      SCOPED_TRACE(std::to_string(size) + " elements, activation " + std::to_string(static_cast<int>(activation)) +
                   ", soft cap " + std::to_string(form.soft_cap));
      ActivationGradients gradients(kernels(), form, draw);
      gradients.run();
      gradients.expect_near_f64();
      if (HasFatalFailure()) return;
    }
  }
}

// From far below to far above the range where the derivative changes.
TEST_P(ActivateBackward, AgreesWithF64ForNumbersOfAllMagnitudes) {
  Draw draw(2);
  for (const Activation activation : kWithDerivatives) {
    ActivationForm form;
    form.size = 4000;
    form.activation = activation;
    form.has_factor_gradient = true;
    ActivationGradients gradients(kernels(), form, draw);
    for (int64_t i = 0; i < form.size; ++i) {
      gradients.sum.at({0, 0, 0, 0, 0, 0, 0, i}) = static_cast<float>(i - 2000) / 125;
      gradients.output_gradient.at({0, 0, 0, 0, 0, 0, 0, i}) = 1;
    }
    gradients.run();
    gradients.expect_near_f64();
    if (HasFatalFailure()) return;
  }
}

TEST_P(ActivateBackward, OfTheLargestNumbersIsTheGradientOrNothing) {
  Draw draw(3);
  for (const Activation activation : kWithDerivatives) {
    if (activation == Activation::None) continue;
    ActivationForm form;
    form.size = 7;
    form.activation = activation;
    ActivationGradients gradients(kernels(), form, draw);
    const float sums[] = {200, 1e10f, 3e38f, kInfinity, -200, -1e10f, -kInfinity};
    for (int64_t i = 0; i < form.size; ++i) {
      gradients.sum.at({0, 0, 0, 0, 0, 0, 0, i}) = sums[i];
      gradients.output_gradient.at({0, 0, 0, 0, 0, 0, 0, i}) = 3;
    }
    gradients.run();
    for (int64_t i = 0; i < form.size; ++i)
      EXPECT_EQ(gradients.sum_gradient.at({0, 0, 0, 0, 0, 0, 0, i}), i < 4 ? 3 : 0) << sums[i];
  }
}

TEST_P(ActivateBackward, OfReluIsNothingAtZeroAndTheGradientAtNaN) {
  Draw draw(4);
  ActivationForm form;
  form.size = 4;
  form.activation = Activation::Relu;
  ActivationGradients gradients(kernels(), form, draw);
  const float sums[] = {0, -0.0f, kNaN, 1e-45f};
  for (int64_t i = 0; i < form.size; ++i) {
    gradients.sum.at({0, 0, 0, 0, 0, 0, 0, i}) = sums[i];
    gradients.output_gradient.at({0, 0, 0, 0, 0, 0, 0, i}) = 3;
  }
  gradients.run();
  const float expected[] = {0, 0, 3, 3};
  for (int64_t i = 0; i < form.size; ++i) EXPECT_EQ(gradients.sum_gradient.at({0, 0, 0, 0, 0, 0, 0, i}), expected[i]);
}

TEST_P(ActivateBackward, WithoutAGradientIsNothingWhateverTheSumIs) {
  Draw draw(5);
  for (const Activation activation : kWithDerivatives) {
    for (const float soft_cap : {0.0f, 2.0f}) {
      for (const float strange : {kNaN, kInfinity, -kInfinity}) {
        ActivationForm form;
        form.rows = 2;
        form.size = 21;
        form.activation = activation;
        form.soft_cap = soft_cap;
        form.has_factor = form.has_factor_gradient = true;
        ActivationGradients gradients(kernels(), form, draw);
        for (int64_t i = 0; i < form.size; ++i) {
          gradients.sum.at({0, 0, 0, 0, 0, 0, 1, i}) = strange;
          gradients.factor.at({0, 0, 0, 0, 0, 0, 1, i}) = i % 2 == 0 ? kNaN : 1;
          gradients.output_gradient.at({0, 0, 0, 0, 0, 0, 1, i}) = i % 3 == 0 ? -0.0f : 0.0f;
        }
        gradients.run();
        for (int64_t i = 0; i < form.size; ++i) {
          ASSERT_EQ(gradients.sum_gradient.at({0, 0, 0, 0, 0, 0, 1, i}), 0);
          ASSERT_EQ(gradients.factor_gradient.at({0, 0, 0, 0, 0, 0, 1, i}), 0);
        }
      }
    }
  }
}

TEST_P(ActivateBackward, HasTheSameBitsOnAnyNumberOfWorkersAndInPlace) {
  Draw draw(6);
  ActivationForm form;
  form.rows = 700;
  form.size = 61;
  form.activation = Activation::Silu;
  form.has_factor = form.has_factor_gradient = true;
  ActivationGradients gradients(kernels(), form, draw);
  gradients.run();
  const std::vector<uint32_t> of_sum = gradients.sum_gradient.bits();
  const std::vector<uint32_t> of_factor = gradients.factor_gradient.bits();
  for (int32_t workers = 2; workers <= 4; ++workers) {
    gradients.sum_gradient.fill(draw);
    gradients.factor_gradient.fill(draw);
    gradients.run(workers);
    ASSERT_EQ(gradients.sum_gradient.bits(), of_sum);
    ASSERT_EQ(gradients.factor_gradient.bits(), of_factor);
  }
  gradients.problem.sum_gradient = gradients.problem.output_gradient;
  gradients.problem.factor_gradient = gradients.problem.factor;
  gradients.run();
  ASSERT_EQ(gradients.output_gradient.bits(), of_sum);
  ASSERT_EQ(gradients.factor.bits(), of_factor);
}

}  // namespace
}  // namespace heed::cpu
