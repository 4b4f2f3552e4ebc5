// SPDX-License-Identifier: Apache-2.0
// Gradients of norms on every ISA: against f64, for rows of every size next to those of vectors and any strides; with the same bits
// on any number of workers and for rows that are accumulated part by part; and rows without a gradient beside numbers that are not
// finite.
#include "ops/norm_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "available_isas.h"
#include "strided_floats.h"

namespace heed::cpu {
namespace {

struct NormGradientForm {
  NormKind kind = NormKind::Layer;
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t size = 1;
  float epsilon = 1e-3f;
  bool accumulates = false;
  bool has_addend = false;
};

class NormGradientsCase {
 public:
  NormGradientsCase(const KernelTable& kernels, const NormGradientForm& form, Draw& draw)
      : output_gradient(sizes_of(form), draw),
        input(sizes_of(form), draw),
        addend(sizes_of(form), draw),
        input_gradient(sizes_of(form), draw),
        weight({1, 1, 1, form.size}, draw),
        weight_gradient({1, 1, 1, form.size}, draw),
        bias_gradient({1, 1, 1, form.size}, draw),
        kernels_(kernels),
        form_(form) {
    for (Floats<8>* floats : {&output_gradient, &input, &addend, &input_gradient}) floats->fill(draw);
    for (Floats<4>* floats : {&weight, &weight_gradient, &bias_gradient}) floats->fill(draw);
    std::ranges::copy(sizes_of(form), problem.sizes);
    problem.kind = form.kind;
    problem.epsilon = form.epsilon;
    problem.accumulates_weight = problem.accumulates_bias = form.accumulates ? 1 : 0;
    output_gradient.give_to(problem.output_gradient);
    input.give_to(problem.input);
    if (form.has_addend) addend.give_to(problem.addend);
    input_gradient.give_to(problem.input_gradient);
    weight.give_to(problem.weight);
    give_parameters();
  }
  NormGradientsCase(const NormGradientsCase&) = delete;
  NormGradientsCase& operator=(const NormGradientsCase&) = delete;

  void give_parameters() {
    weight_gradient.give_to(problem.weight_gradient);
    bias_gradient.give_to(problem.bias_gradient);
  }

  void run(int32_t num_workers = 1) const { run_on_workers(kernels_, problem, num_workers); }

  // The normalized element of the forward pass is within (d + 8) units of its magnitude plus 1 (rule 18); each mean is a sum of d
  // terms, whose roundings are at most d units of the sum of their magnitudes.
  void run_and_expect_near_f64() {
    const Floats<4> weight_before = weight_gradient;
    const Floats<4> bias_before = bias_gradient;
    run();
    const auto size = static_cast<double>(form_.size);
    std::vector<double> weights(static_cast<size_t>(form_.size));
    std::vector<double> weight_bounds(static_cast<size_t>(form_.size));
    std::vector<double> biases(static_cast<size_t>(form_.size));
    std::vector<double> bias_magnitudes(static_cast<size_t>(form_.size));
    for (int64_t i = 0; i < form_.size; ++i) {
      const auto at = static_cast<size_t>(i);
      if (form_.accumulates) weights[at] = static_cast<double>(weight_before.at({0, 0, 0, i}));
      if (form_.accumulates) biases[at] = static_cast<double>(bias_before.at({0, 0, 0, i}));
      weight_bounds[at] = std::abs(weights[at]) * static_cast<double>(form_.batch * form_.rows) * kUnit;
      bias_magnitudes[at] = std::abs(biases[at]);
    }
    const double num_rows = static_cast<double>(form_.batch * form_.rows);
    for (int64_t s = 0; s < form_.batch; ++s) {
      for (int64_t r = 0; r < form_.rows; ++r) {
        double mean = 0;
        if (form_.kind == NormKind::Layer)
          for (int64_t i = 0; i < form_.size; ++i) mean += static_cast<double>(input.at(index(s, r, i))) / size;
        double variance = 0;
        for (int64_t i = 0; i < form_.size; ++i) {
          const double difference = static_cast<double>(input.at(index(s, r, i))) - mean;
          variance += difference * difference / size;
        }
        const double factor = 1 / std::sqrt(variance + static_cast<double>(form_.epsilon));
        double mean_t = 0;
        double mean_product = 0;
        double magnitude_t = 0;
        double magnitude_product = 0;
        const auto t_of = [&](int64_t i) {
          return static_cast<double>(output_gradient.at(index(s, r, i))) * static_cast<double>(weight.at({0, 0, 0, i}));
        };
        const auto x_of = [&](int64_t i) { return (static_cast<double>(input.at(index(s, r, i))) - mean) * factor; };
        for (int64_t i = 0; i < form_.size; ++i) {
          mean_t += t_of(i) / size;
          mean_product += t_of(i) * x_of(i) / size;
          magnitude_t += std::abs(t_of(i)) / size;
          magnitude_product += std::abs(t_of(i)) * (std::abs(x_of(i)) + 1) / size;
        }
        if (form_.kind == NormKind::Rms) mean_t = magnitude_t = 0;
        for (int64_t i = 0; i < form_.size; ++i) {
          const double added = form_.has_addend ? static_cast<double>(addend.at(index(s, r, i))) : 0;
          const double value = factor * (t_of(i) - mean_t - x_of(i) * mean_product) + added;
          const double bound = factor * 2 * (size + 12) * kUnit *
                                   (std::abs(t_of(i)) + magnitude_t + (std::abs(x_of(i)) + 1) * magnitude_product) +
                               2 * kUnit * (std::abs(added) + std::abs(value));
          ASSERT_NEAR(input_gradient.at(index(s, r, i)), value, bound) << "row " << r << ", element " << i;
          const auto at = static_cast<size_t>(i);
          const double gradient = static_cast<double>(output_gradient.at(index(s, r, i)));
          weights[at] += gradient * x_of(i);
          weight_bounds[at] += std::abs(gradient) * (std::abs(x_of(i)) + 1) * (size + 10 + num_rows) * kUnit;
          biases[at] += gradient;
          bias_magnitudes[at] += std::abs(gradient);
        }
      }
    }
    for (int64_t i = 0; i < form_.size; ++i) {
      const auto at = static_cast<size_t>(i);
      ASSERT_NEAR(weight_gradient.at({0, 0, 0, i}), weights[at], weight_bounds[at]) << "weight " << i;
      ASSERT_NEAR(bias_gradient.at({0, 0, 0, i}), biases[at], num_rows * kUnit * bias_magnitudes[at]) << "bias " << i;
    }
    ASSERT_TRUE(input_gradient.is_intact_around());
    ASSERT_TRUE(weight_gradient.is_intact_around());
    ASSERT_TRUE(bias_gradient.is_intact_around());
  }

  static Floats<8>::Index index(int64_t s, int64_t r, int64_t i) { return {0, 0, 0, 0, 0, s, r, i}; }

  Floats<8> output_gradient;
  Floats<8> input;
  Floats<8> addend;
  Floats<8> input_gradient;
  Floats<4> weight;
  Floats<4> weight_gradient;
  Floats<4> bias_gradient;
  NormBackwardProblem problem;

 private:
  static constexpr double kUnit = 0x1p-24;

  static Floats<8>::Index sizes_of(const NormGradientForm& form) {
    return {1, 1, 1, 1, 1, form.batch, form.rows, form.size};
  }

  const KernelTable& kernels_;
  NormGradientForm form_;
};

NormGradientForm random_norm_form(Draw& draw) {
  NormGradientForm form;
  form.kind = draw.coin() ? NormKind::Layer : NormKind::Rms;
  form.batch = 1 + draw.below(3);
  form.rows = 1 + draw.below(6);
  form.size = 1 + draw.below(150);
  form.accumulates = draw.coin();
  form.has_addend = draw.coin();
  return form;
}

class NormBackward : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, NormBackward, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(NormBackward, AgreesWithF64) {
  Draw draw(1);
  for (int64_t i = 0; i < 300; ++i) {
    NormGradientForm form = random_norm_form(draw);
    if (i < 150) form.size = 1 + i;
    SCOPED_TRACE("rows of " + std::to_string(form.size));
    NormGradientsCase gradients(kernels(), form, draw);
    gradients.run_and_expect_near_f64();
    if (HasFatalFailure()) return;
  }
}

// The check values of the definition.
TEST_P(NormBackward, OfKnownRows) {
  Draw draw(2);
  NormGradientForm form;
  form.size = 4;
  form.epsilon = 1e-5f;
  const float layer[] = {0.2919140f, -0.3567844f, 0.0243262f, 0.0405442f};
  const float rms[] = {0.1658880f, -0.2105501f, 0.0127606f, 0.0255212f};
  for (const NormKind kind : {NormKind::Layer, NormKind::Rms}) {
    form.kind = kind;
    if (kind == NormKind::Rms) form.epsilon = 1e-6f;
    NormGradientsCase gradients(kernels(), form, draw);
    const float x[] = {1, 2, 4, 8};
    const float weight[] = {1, 0.5f, 2, 1};
    const float dy[] = {1, -1, 0.5f, 2};
    for (int64_t i = 0; i < 4; ++i) {
      gradients.input.at(NormGradientsCase::index(0, 0, i)) = x[i];
      gradients.weight.at({0, 0, 0, i}) = weight[i];
      gradients.output_gradient.at(NormGradientsCase::index(0, 0, i)) = dy[i];
    }
    gradients.run();
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(gradients.input_gradient.at(NormGradientsCase::index(0, 0, i)),
                  kind == NormKind::Rms ? rms[i] : layer[i], 3e-7);
    }
  }
}

TEST_P(NormBackward, HasTheSameBitsOnAnyNumberOfWorkers) {
  Draw draw(3);
  for (const int64_t size : {5, 64, 100}) {
    NormGradientForm form;
    form.rows = 1500;
    form.size = size;
    form.has_addend = true;
    NormGradientsCase gradients(kernels(), form, draw);
    gradients.run();
    const std::vector<uint32_t> expected = gradients.input_gradient.bits();
    const std::vector<uint32_t> weight = gradients.weight_gradient.bits();
    const std::vector<uint32_t> bias = gradients.bias_gradient.bits();
    for (int32_t workers = 2; workers <= 4; ++workers) {
      gradients.input_gradient.fill(draw);
      gradients.weight_gradient.fill(draw);
      gradients.bias_gradient.fill(draw);
      gradients.run(workers);
      ASSERT_EQ(gradients.input_gradient.bits(), expected);
      ASSERT_EQ(gradients.weight_gradient.bits(), weight);
      ASSERT_EQ(gradients.bias_gradient.bits(), bias);
    }
  }
}

TEST_P(NormBackward, OfPartsOfTheBatchAccumulatesToThatOfAll) {
  Draw draw(4);
  for (int i = 0; i < 30; ++i) {
    NormGradientForm form = random_norm_form(draw);
    form.batch = 4;
    NormGradientsCase gradients(kernels(), form, draw);
    const Floats<4> weight = gradients.weight_gradient;
    const Floats<4> bias = gradients.bias_gradient;
    gradients.run();
    const std::vector<uint32_t> expected_weight = gradients.weight_gradient.bits();
    const std::vector<uint32_t> expected_bias = gradients.bias_gradient.bits();
    gradients.weight_gradient = weight;
    gradients.bias_gradient = bias;
    gradients.give_parameters();
    NormBackwardProblem& problem = gradients.problem;
    problem.sizes[5] = 3;
    gradients.run();
    problem.sizes[5] = 1;
    problem.accumulates_weight = problem.accumulates_bias = 1;
    for (ElementwiseOperand* operand :
         {&problem.output_gradient, &problem.input, &problem.addend, &problem.input_gradient})
      operand->data = static_cast<float*>(operand->data) + 3 * operand->strides[5];
    gradients.run();
    ASSERT_EQ(gradients.weight_gradient.bits(), expected_weight);
    ASSERT_EQ(gradients.bias_gradient.bits(), expected_bias);
  }
}

TEST_P(NormBackward, OfRowsWithoutAGradientIsTheAddendWhateverTheInputIs) {
  Draw draw(5);
  for (int i = 0; i < 60; ++i) {
    NormGradientForm form = random_norm_form(draw);
    form.rows = 4;
    NormGradientsCase gradients(kernels(), form, draw);
    const float strange = i % 3 == 0 ? kNaN : i % 3 == 1 ? kInfinity : -kInfinity;
    const int64_t place = draw.below(form.size);
    const auto set_rows = [&](float value) {
      for (int64_t s = 0; s < form.batch; ++s) {
        for (const int64_t r : {1, 3}) {
          for (int64_t e = 0; e < form.size; ++e)
            gradients.output_gradient.at(NormGradientsCase::index(s, r, e)) = r == 1 ? 0.0f : -0.0f;
          gradients.input.at(NormGradientsCase::index(s, r, place)) = value;
        }
      }
    };
    const Floats<4> weight = gradients.weight_gradient;
    const Floats<4> bias = gradients.bias_gradient;
    set_rows(1);
    gradients.run();
    const std::vector<uint32_t> expected_weight = gradients.weight_gradient.bits();
    const std::vector<uint32_t> expected_bias = gradients.bias_gradient.bits();
    gradients.weight_gradient = weight;
    gradients.bias_gradient = bias;
    gradients.give_parameters();
    set_rows(strange);
    gradients.run(2);
    ASSERT_EQ(gradients.weight_gradient.bits(), expected_weight);
    ASSERT_EQ(gradients.bias_gradient.bits(), expected_bias);
    for (int64_t e = 0; e < form.size; ++e) {
      const Floats<8>::Index at = NormGradientsCase::index(0, 1, e);
      ASSERT_EQ(gradients.input_gradient.at(at), form.has_addend ? gradients.addend.at(at) : 0);
    }
  }
}

TEST_P(NormBackward, MayAddToItsInputGradient) {
  Draw draw(6);
  for (int i = 0; i < 20; ++i) {
    NormGradientForm form = random_norm_form(draw);
    form.has_addend = true;
    NormGradientsCase gradients(kernels(), form, draw);
    gradients.run();
    const std::vector<uint32_t> expected = gradients.input_gradient.bits();
    gradients.addend.for_each([&](const auto& at) { gradients.input_gradient.at(at) = gradients.addend.at(at); });
    gradients.input_gradient.give_to(gradients.problem.addend);
    gradients.run();
    ASSERT_EQ(gradients.input_gradient.bits(), expected);
  }
}

// Only the gradients that are given are written.
TEST_P(NormBackward, WritesWhatIsWanted) {
  Draw draw(8);
  NormGradientForm form;
  form.rows = 7;
  form.size = 37;
  NormGradientsCase gradients(kernels(), form, draw);
  gradients.run();
  const std::vector<uint32_t> expected = gradients.input_gradient.bits();
  const std::vector<uint32_t> weight = gradients.weight_gradient.bits();
  gradients.input_gradient.fill(draw);
  gradients.problem.weight_gradient = {};
  gradients.problem.bias_gradient = {};
  gradients.run();
  ASSERT_EQ(gradients.input_gradient.bits(), expected);
  gradients.weight_gradient.fill(draw);
  gradients.weight_gradient.give_to(gradients.problem.weight_gradient);
  gradients.problem.input_gradient = {};
  gradients.run();
  ASSERT_EQ(gradients.weight_gradient.bits(), weight);
}

}  // namespace
}  // namespace heed::cpu
