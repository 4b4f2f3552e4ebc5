// SPDX-License-Identifier: Apache-2.0
// Gradients of weights and biases on every ISA: against f64, for sizes around those of vectors and tiles and any strides; with
// the same bits on any number of workers and for rows that are accumulated part by part; and rows without a gradient beside
// numbers that are not finite.
#include "ops/weight_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "available_isas.h"
#include "strided_floats.h"

namespace heed::cpu {
namespace {

struct WeightForm {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t num_heads = 1;
  int64_t head_size = 1;
  int64_t input_size = 1;
  float scale = 1;
  bool accumulates = false;

  int64_t output_size() const { return num_heads * head_size; }
  std::string text() const {
    return std::to_string(batch) + " x " + std::to_string(rows) + " rows, " + std::to_string(num_heads) + " heads of " +
           std::to_string(head_size) + ", inputs of " + std::to_string(input_size);
  }
};

class WeightGradients {
 public:
  WeightGradients(const KernelTable& kernels, const WeightForm& form, Draw& draw)
      : output_gradient({form.num_heads, form.batch, form.rows, form.head_size}, draw),
        input({1, form.batch, form.rows, form.input_size}, draw),
        weight({1, 1, form.output_size(), form.input_size}, draw),
        bias({1, 1, 1, form.output_size()}, draw),
        kernels_(kernels),
        form_(form) {
    output_gradient.fill(draw);
    input.fill(draw);
    weight.fill(draw);
    bias.fill(draw);
    problem.batch = form.batch;
    problem.rows = form.rows;
    problem.input_size = form.input_size;
    problem.output_size = form.output_size();
    problem.head_size = form.head_size;
    problem.scale = form.scale;
    problem.accumulates_weight = problem.accumulates_bias = form.accumulates ? 1 : 0;
    output_gradient.give_to(problem.output_gradient);
    input.give_to(problem.input);
    weight.give_to(problem.weight_gradient);
    bias.give_to(problem.bias_gradient);
  }
  WeightGradients(const WeightGradients&) = delete;
  WeightGradients& operator=(const WeightGradients&) = delete;

  void run(int32_t num_workers = 1) const { run_on_workers(kernels_, problem, num_workers); }

  // Each of a sum's terms is rounded by the scale and in its product, and all sums before it once for each term.
  void run_and_expect_near_f64() {
    const Floats<4> weight_before = weight;
    const Floats<4> bias_before = bias;
    run();
    const double rounding = static_cast<double>(form_.batch * form_.rows + 2) * 0x1p-24;
    for (int64_t n = 0; n < form_.output_size(); ++n) {
      for (int64_t e = 0; e < form_.input_size; ++e) {
        double sum = form_.accumulates ? static_cast<double>(weight_before.at({0, 0, n, e})) : 0;
        double magnitude = std::abs(sum);
        for_each_row([&](int64_t s, int64_t r) {
          const double term = gradient(s, r, n) * static_cast<double>(form_.scale) * input.at({0, s, r, e});
          sum += term;
          magnitude += std::abs(term);
        });
        ASSERT_NEAR(weight.at({0, 0, n, e}), sum, rounding * magnitude) << "weight " << n << ", " << e;
      }
      double sum = form_.accumulates ? static_cast<double>(bias_before.at({0, 0, 0, n})) : 0;
      double magnitude = std::abs(sum);
      for_each_row([&](int64_t s, int64_t r) {
        sum += gradient(s, r, n) * static_cast<double>(form_.scale);
        magnitude += std::abs(gradient(s, r, n) * static_cast<double>(form_.scale));
      });
      ASSERT_NEAR(bias.at({0, 0, 0, n}), sum, rounding * magnitude) << "bias " << n;
    }
    ASSERT_TRUE(weight.is_intact_around());
    ASSERT_TRUE(bias.is_intact_around());
  }

  double gradient(int64_t s, int64_t r, int64_t n) const {
    return output_gradient.at({n / form_.head_size, s, r, n % form_.head_size});
  }

  template <typename Function>
  void for_each_row(const Function& function) const {
    for (int64_t s = 0; s < form_.batch; ++s) {
      for (int64_t r = 0; r < form_.rows; ++r) function(s, r);
    }
  }

  Floats<4> output_gradient;
  Floats<4> input;
  Floats<4> weight;
  Floats<4> bias;
  WeightGradientProblem problem;

 private:
  const KernelTable& kernels_;
  WeightForm form_;
};

WeightForm random_weight_form(Draw& draw) {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 48, 49, 63, 65, 96, 113};
  WeightForm form;
  form.batch = 1 + draw.below(3);
  form.rows = 1 + draw.below(draw.coin() ? 4 : 30);
  form.num_heads = 1 + draw.below(4);
  form.head_size = draw.one_of(kSizes);
  form.input_size = draw.one_of(kSizes);
  form.scale = draw.coin() ? 1.0f : 0.37f;
  form.accumulates = draw.coin();
  return form;
}

class WeightGradient : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, WeightGradient, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(WeightGradient, AgreesWithF64) {
  Draw draw(1);
  for (int i = 0; i < 150; ++i) {
    const WeightForm form = random_weight_form(draw);
    SCOPED_TRACE(form.text());
    WeightGradients gradients(kernels(), form, draw);
    gradients.run_and_expect_near_f64();
    if (HasFatalFailure()) return;
  }
}

// More rows than a task packs at a time.
TEST_P(WeightGradient, AgreesWithF64ForManyRows) {
  Draw draw(2);
  for (const int64_t rows : {4095, 4096, 4097, 9001}) {
    for (const bool accumulates : {false, true}) {
      WeightForm form;
      form.rows = rows;
      form.head_size = 7;
      form.input_size = 5;
      form.accumulates = accumulates;
      SCOPED_TRACE(form.text());
      WeightGradients gradients(kernels(), form, draw);
      gradients.run_and_expect_near_f64();
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(WeightGradient, HasTheSameBitsOnAnyNumberOfWorkers) {
  Draw draw(3);
  for (int i = 0; i < 30; ++i) {
    WeightForm form = random_weight_form(draw);
    form.accumulates = false;
    if (i % 10 == 0) {
      form.num_heads = 5;
      form.head_size = 80;
      form.input_size = 200;
    }
    SCOPED_TRACE(form.text());
    WeightGradients gradients(kernels(), form, draw);
    gradients.run();
    const std::vector<uint32_t> weight = gradients.weight.bits();
    const std::vector<uint32_t> bias = gradients.bias.bits();
    for (int32_t workers = 2; workers <= 4; ++workers) {
      gradients.weight.fill(draw);
      gradients.bias.fill(draw);
      gradients.run(workers);
      ASSERT_EQ(gradients.weight.bits(), weight) << workers << " workers";
      ASSERT_EQ(gradients.bias.bits(), bias) << workers << " workers";
    }
  }
}

// First the rows before one of the batch, then the others.
TEST_P(WeightGradient, OfPartsOfTheBatchAccumulatesToThatOfAll) {
  Draw draw(4);
  for (int i = 0; i < 40; ++i) {
    WeightForm form = random_weight_form(draw);
    form.batch = 2 + draw.below(3);
    if (i % 10 == 0) form.rows = 3000;
    if (i % 10 == 0) form.num_heads = 1;
    SCOPED_TRACE(form.text());
    WeightGradients gradients(kernels(), form, draw);
    const Floats<4> weight = gradients.weight;
    const Floats<4> bias = gradients.bias;
    gradients.run();
    const std::vector<uint32_t> expected_weight = gradients.weight.bits();
    const std::vector<uint32_t> expected_bias = gradients.bias.bits();
    gradients.weight = weight;
    gradients.bias = bias;
    WeightGradientProblem& problem = gradients.problem;
    const int64_t first = 1 + draw.below(form.batch - 1);
    gradients.weight.give_to(problem.weight_gradient);
    gradients.bias.give_to(problem.bias_gradient);
    problem.batch = first;
    gradients.run(2);
    problem.batch = form.batch - first;
    problem.accumulates_weight = problem.accumulates_bias = 1;
    for (Operand* operand : {&problem.output_gradient, &problem.input})
      operand->data = static_cast<float*>(operand->data) + first * operand->strides[1];
    gradients.run();
    ASSERT_EQ(gradients.weight.bits(), expected_weight);
    ASSERT_EQ(gradients.bias.bits(), expected_bias);
  }
}

// Bit for bit those of an input of zeros in these rows.
TEST_P(WeightGradient, OfRowsWithoutAGradientIsNothingWhateverTheInputIs) {
  Draw draw(5);
  for (int i = 0; i < 60; ++i) {
    WeightForm form = random_weight_form(draw);
    form.batch = 3;
    if (i % 20 == 0) form.rows = 2000;
    SCOPED_TRACE(form.text());
    WeightGradients gradients(kernels(), form, draw);
    const float strange = i % 3 == 0 ? kNaN : i % 3 == 1 ? kInfinity : -kInfinity;
    const auto set_rows = [&](float value) {
      gradients.for_each_row([&](int64_t s, int64_t r) {
        if ((s * form.rows + r) % 3 == 1) return;
        for (int64_t n = 0; n < form.output_size(); ++n)
          gradients.output_gradient.at({n / form.head_size, s, r, n % form.head_size}) = r % 2 == 0 ? 0.0f : -0.0f;
        for (int64_t e = 0; e < form.input_size; ++e) gradients.input.at({0, s, r, e}) = value;
      });
    };
    const Floats<4> weight = gradients.weight;
    set_rows(0);
    gradients.run();
    const std::vector<uint32_t> expected = gradients.weight.bits();
    gradients.weight = weight;
    gradients.weight.give_to(gradients.problem.weight_gradient);
    set_rows(strange);
    gradients.run(2);
    ASSERT_EQ(gradients.weight.bits(), expected);
  }
}

TEST_P(WeightGradient, OfARowWithAGradientShowsThatTheInputIsNotFinite) {
  Draw draw(6);
  WeightForm form;
  form.rows = 5;
  form.head_size = 9;
  form.input_size = 50;
  WeightGradients gradients(kernels(), form, draw);
  gradients.input.at({0, 0, 3, 7}) = kNaN;
  gradients.run();
  for (int64_t n = 0; n < 9; ++n) {
    for (int64_t e = 0; e < 50; ++e) ASSERT_EQ(std::isnan(gradients.weight.at({0, 0, n, e})), e == 7);
  }
}

TEST_P(WeightGradient, OfNoRowsIsZeroOrWhatWasThere) {
  Draw draw(7);
  for (const bool accumulates : {false, true}) {
    WeightForm form;
    form.rows = 0;
    form.head_size = 11;
    form.input_size = 20;
    form.accumulates = accumulates;
    WeightGradients gradients(kernels(), form, draw);
    const std::vector<uint32_t> before = gradients.weight.bits();
    gradients.run();
    ASSERT_EQ(gradients.weight.bits(), accumulates ? before : std::vector<uint32_t>(before.size(), 0));
    if (accumulates) continue;
    ASSERT_EQ(gradients.bias.bits(), std::vector<uint32_t>(11, 0));
  }
}

// Only the gradients that are given are written.
TEST_P(WeightGradient, OfTheBiasAlone) {
  Draw draw(8);
  WeightForm form;
  form.rows = 6;
  form.num_heads = 2;
  form.head_size = 40;
  form.input_size = 3;
  WeightGradients gradients(kernels(), form, draw);
  gradients.run();
  const std::vector<uint32_t> weight = gradients.weight.bits();
  const std::vector<uint32_t> bias = gradients.bias.bits();
  gradients.bias.fill(draw);
  gradients.problem.weight_gradient = {};
  gradients.run(3);
  ASSERT_EQ(gradients.bias.bits(), bias);
  gradients.bias.give_to(gradients.problem.bias_gradient);
  gradients.weight.fill(draw);
  gradients.weight.give_to(gradients.problem.weight_gradient);
  gradients.problem.bias_gradient = {};
  gradients.run(3);
  ASSERT_EQ(gradients.weight.bits(), weight);
  ASSERT_EQ(gradients.bias.bits(), bias);
}

}  // namespace
}  // namespace heed::cpu
