// SPDX-License-Identifier: Apache-2.0
// Gradients of the norm and the rotation of heads on every ISA: against f64, for heads of every size next to those of vectors, both
// layouts and orders, and any strides; with the same bits on any number of workers, in place and for rows that are accumulated part by
// part; and rows without a gradient beside numbers that are not finite.
#include "ops/head_transform_backward.h"

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

struct HeadForm {
  int64_t num_heads = 1;
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t head_size = 2;
  NormKind norm = NormKind::None;
  RotaryLayout layout = RotaryLayout::None;
  bool keeps_order = false;
  bool has_shared_weight = false;
  bool accumulates = false;

  std::string text() const {
    return std::to_string(batch) + " x " + std::to_string(rows) + " rows of " + std::to_string(num_heads) +
           " heads of " + std::to_string(head_size) + ", norm " + std::to_string(static_cast<int>(norm)) + ", layout " +
           std::to_string(static_cast<int>(layout)) + (keeps_order ? ", in order" : "");
  }
};

class HeadGradientsCase {
 public:
  HeadGradientsCase(const KernelTable& kernels, const HeadForm& form, Draw& draw)
      : output_gradient(sizes_of(form), draw),
        sum(sizes_of(form), draw),
        sum_gradient(sizes_of(form), draw),
        weight({weights_of(form), 1, 1, form.head_size}, draw),
        weight_gradient({weights_of(form), 1, 1, form.head_size}, draw),
        rotations(rotations_of(form, draw)),
        kernels_(kernels),
        form_(form) {
    for (Floats<4>* floats : {&output_gradient, &sum, &sum_gradient, &weight, &weight_gradient}) floats->fill(draw);
    problem.num_heads = form.num_heads;
    problem.batch = form.batch;
    problem.rows = form.rows;
    problem.head_size = form.head_size;
    HeadTransform& transform = problem.transform;
    transform.norm = form.norm;
    transform.epsilon = 1e-3f;
    if (form.norm != NormKind::None) weight.give_to(transform.norm_weight);
    transform.layout = form.layout;
    transform.keeps_order = form.keeps_order ? 1 : 0;
    if (form.layout != RotaryLayout::None) {
      transform.rotary_size = rotations.sizes()[3];
      transform.rotary_offset = draw.below(form.head_size - transform.rotary_size + 1);
      for (int64_t s = 0; s < form.batch; ++s) {
        for (int64_t r = 0; r < form.rows; ++r) {
          for (int64_t i = 0; i < transform.rotary_size / 2; ++i) {
            const float angle = 2 * draw.number();
            rotations.at({0, s, r, i}) = std::cos(angle);
            rotations.at({0, s, r, transform.rotary_size / 2 + i}) = std::sin(angle);
          }
        }
      }
      rotations.give_to(transform.rotations);
    }
    output_gradient.give_to(problem.output_gradient);
    if (form.norm != NormKind::None) sum.give_to(problem.sum);
    sum_gradient.give_to(problem.sum_gradient);
    give_weight_gradient();
    problem.accumulates = form.accumulates ? 1 : 0;
  }
  HeadGradientsCase(const HeadGradientsCase&) = delete;
  HeadGradientsCase& operator=(const HeadGradientsCase&) = delete;

  void give_weight_gradient() {
    if (form_.norm != NormKind::None) weight_gradient.give_to(problem.norm_weight_gradient);
  }

  void run(int32_t num_workers = 1) const { run_on_workers(kernels_, problem, num_workers); }

  // The bounds are those of gradients of norms, for terms that are two products of the rotation.
  void run_and_expect_near_f64() {
    constexpr double kUnit = 0x1p-24;
    const Floats<4> weight_before = weight_gradient;
    run();
    const auto size = static_cast<double>(form_.head_size);
    const auto num_terms =
        static_cast<double>(form_.batch * form_.rows * (form_.has_shared_weight ? form_.num_heads : 1));
    Floats<4> weights(weight_gradient.sizes());
    std::vector<std::vector<double>> sums(static_cast<size_t>(weights_of(form_)),
                                          std::vector<double>(static_cast<size_t>(form_.head_size)));
    auto bounds = sums;
    for (int64_t h = 0; h < form_.num_heads; ++h) {
      for (int64_t s = 0; s < form_.batch; ++s) {
        for (int64_t r = 0; r < form_.rows; ++r) {
          std::vector<double> g;
          std::vector<double> magnitude;
          reverse(h, s, r, g, magnitude);
          if (form_.norm == NormKind::None) {
            for (int64_t d = 0; d < form_.head_size; ++d)
              ASSERT_NEAR(sum_gradient.at({h, s, r, d}), g[static_cast<size_t>(d)],
                          3 * kUnit * magnitude[static_cast<size_t>(d)]);
            continue;
          }
          double mean = 0;
          for (int64_t d = 0; d < form_.head_size && form_.norm == NormKind::Layer; ++d)
            mean += static_cast<double>(sum.at({h, s, r, d})) / size;
          double variance = 0;
          for (int64_t d = 0; d < form_.head_size; ++d)
            variance += std::pow(static_cast<double>(sum.at({h, s, r, d})) - mean, 2) / size;
          const double factor = 1 / std::sqrt(variance + static_cast<double>(problem.transform.epsilon));
          const int64_t w = form_.has_shared_weight ? 0 : h;
          double mean_t = 0;
          double mean_product = 0;
          double magnitude_t = 0;
          double magnitude_product = 0;
          const auto x_of = [&](int64_t d) { return (static_cast<double>(sum.at({h, s, r, d})) - mean) * factor; };
          const auto gain = [&](int64_t d) { return static_cast<double>(weight.at({w, 0, 0, d})); };
          for (int64_t d = 0; d < form_.head_size; ++d) {
            const auto i = static_cast<size_t>(d);
            mean_t += g[i] * gain(d) / size;
            mean_product += g[i] * gain(d) * x_of(d) / size;
            magnitude_t += magnitude[i] * std::abs(gain(d)) / size;
            magnitude_product += magnitude[i] * std::abs(gain(d)) * (std::abs(x_of(d)) + 1) / size;
          }
          if (form_.norm == NormKind::Rms) mean_t = magnitude_t = 0;
          for (int64_t d = 0; d < form_.head_size; ++d) {
            const auto i = static_cast<size_t>(d);
            const double value = factor * (g[i] * gain(d) - mean_t - x_of(d) * mean_product);
            const double bound =
                factor * 2 * (size + 16) * kUnit *
                (magnitude[i] * std::abs(gain(d)) + magnitude_t + (std::abs(x_of(d)) + 1) * magnitude_product);
            ASSERT_NEAR(sum_gradient.at({h, s, r, d}), value, bound) << "head " << h << ", element " << d;
            sums[static_cast<size_t>(w)][i] += g[i] * x_of(d);
            bounds[static_cast<size_t>(w)][i] +=
                (size + 16 + num_terms) * kUnit * magnitude[i] * (std::abs(x_of(d)) + 1);
          }
        }
      }
    }
    for (int64_t w = 0; w < weights_of(form_) && form_.norm != NormKind::None; ++w) {
      for (int64_t d = 0; d < form_.head_size; ++d) {
        const auto i = static_cast<size_t>(d);
        const double begin = form_.accumulates ? static_cast<double>(weight_before.at({w, 0, 0, d})) : 0;
        ASSERT_NEAR(weight_gradient.at({w, 0, 0, d}), sums[static_cast<size_t>(w)][i] + begin,
                    bounds[static_cast<size_t>(w)][i] + num_terms * kUnit * std::abs(begin))
            << "weight " << d;
      }
    }
    ASSERT_TRUE(sum_gradient.is_intact_around());
    ASSERT_TRUE(weight_gradient.is_intact_around());
  }

  Floats<4> output_gradient;
  Floats<4> sum;
  Floats<4> sum_gradient;
  Floats<4> weight;
  Floats<4> weight_gradient;
  Floats<4> rotations;
  HeadTransformBackwardProblem problem;

 private:
  static Floats<4>::Index sizes_of(const HeadForm& form) {
    return {form.num_heads, form.batch, form.rows, form.head_size};
  }
  static int64_t weights_of(const HeadForm& form) { return form.has_shared_weight ? 1 : form.num_heads; }
  static Floats<4> rotations_of(const HeadForm& form, Draw& draw) {
    const int64_t size = form.layout == RotaryLayout::None ? 0 : 2 * (1 + draw.below(form.head_size / 2));
    return Floats<4>({1, form.batch, form.rows, size});
  }

  // The gradient of a head before its rotation, in the order of its elements, and the magnitudes from which it is made.
  void reverse(int64_t h, int64_t s, int64_t r, std::vector<double>& g, std::vector<double>& magnitude) const {
    for (int64_t d = 0; d < form_.head_size; ++d) g.push_back(static_cast<double>(output_gradient.at({h, s, r, d})));
    for (const double element : g) magnitude.push_back(std::abs(element));
    const std::vector<double> from = g;
    const HeadTransform& transform = problem.transform;
    const int64_t pairs = transform.rotary_size / 2;
    for (int64_t i = 0; i < pairs; ++i) {
      const bool is_half = transform.layout == RotaryLayout::Half;
      const auto begin = static_cast<size_t>(transform.rotary_offset);
      const auto at = static_cast<size_t>(i);
      const auto apart = static_cast<size_t>(pairs);
      const size_t first = begin + (is_half ? at : 2 * at);
      const size_t second = first + (is_half ? apart : 1);
      const bool in_place = is_half || form_.keeps_order;
      const size_t stored = in_place ? first : begin + at;
      const size_t other = in_place ? second : begin + at + apart;
      const auto cosine = static_cast<double>(rotations.at({0, s, r, i}));
      const auto sine = static_cast<double>(rotations.at({0, s, r, pairs + i}));
      g[first] = from[stored] * cosine + from[other] * sine;
      g[second] = from[other] * cosine - from[stored] * sine;
      magnitude[first] = std::abs(from[stored] * cosine) + std::abs(from[other] * sine);
      magnitude[second] = std::abs(from[other] * cosine) + std::abs(from[stored] * sine);
    }
  }

  const KernelTable& kernels_;
  HeadForm form_;
};

HeadForm random_head_form(Draw& draw) {
  constexpr NormKind kKinds[] = {NormKind::None, NormKind::Rms, NormKind::Layer};
  constexpr RotaryLayout kAllLayouts[] = {RotaryLayout::None, RotaryLayout::Half, RotaryLayout::Interleaved};
  HeadForm form;
  form.num_heads = 1 + draw.below(4);
  form.batch = 1 + draw.below(3);
  form.rows = 1 + draw.below(4);
  form.head_size = 2 + draw.below(80);
  form.norm = kKinds[draw.below(3)];
  form.layout = kAllLayouts[draw.below(3)];
  form.keeps_order = draw.coin();
  form.has_shared_weight = draw.coin();
  form.accumulates = draw.coin();
  return form;
}

class HeadTransformBackward : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, HeadTransformBackward, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(HeadTransformBackward, AgreesWithF64) {
  Draw draw(1);
  for (int i = 0; i < 400; ++i) {
    const HeadForm form = random_head_form(draw);
    SCOPED_TRACE(form.text());
    HeadGradientsCase gradients(kernels(), form, draw);
    gradients.run_and_expect_near_f64();
    if (HasFatalFailure()) return;
  }
}

TEST_P(HeadTransformBackward, HasTheSameBitsOnAnyNumberOfWorkersAndInPlace) {
  Draw draw(2);
  for (const bool is_shared : {false, true}) {
    for (const NormKind norm : {NormKind::None, NormKind::Rms}) {
      HeadForm form;
      form.num_heads = 3;
      form.batch = 2;
      form.rows = 150;
      form.head_size = 40;
      form.norm = norm;
      form.layout = RotaryLayout::Interleaved;
      form.has_shared_weight = is_shared;
      HeadGradientsCase gradients(kernels(), form, draw);
      gradients.run();
      const std::vector<uint32_t> expected = gradients.sum_gradient.bits();
      const std::vector<uint32_t> weight = gradients.weight_gradient.bits();
      for (int32_t workers = 2; workers <= 4; ++workers) {
        gradients.sum_gradient.fill(draw);
        gradients.run(workers);
        ASSERT_EQ(gradients.sum_gradient.bits(), expected);
        ASSERT_EQ(gradients.weight_gradient.bits(), weight);
      }
      // Without the weight's gradient it is one loop.
      gradients.sum_gradient.fill(draw);
      gradients.problem.norm_weight_gradient = {};
      gradients.run(2);
      ASSERT_EQ(gradients.sum_gradient.bits(), expected);
      gradients.give_weight_gradient();
      gradients.problem.sum_gradient = gradients.problem.output_gradient;
      gradients.run(2);
      ASSERT_EQ(gradients.output_gradient.bits(), expected);
      ASSERT_EQ(gradients.weight_gradient.bits(), weight);
    }
  }
}

TEST_P(HeadTransformBackward, OfPartsOfTheBatchAccumulatesToThatOfAll) {
  Draw draw(3);
  for (int i = 0; i < 20; ++i) {
    HeadForm form = random_head_form(draw);
    form.batch = 3;
    form.norm = i % 2 == 0 ? NormKind::Rms : NormKind::Layer;
    SCOPED_TRACE(form.text());
    HeadGradientsCase gradients(kernels(), form, draw);
    const Floats<4> before = gradients.weight_gradient;
    gradients.run();
    const std::vector<uint32_t> expected = gradients.weight_gradient.bits();
    gradients.weight_gradient = before;
    gradients.give_weight_gradient();
    HeadTransformBackwardProblem& problem = gradients.problem;
    problem.batch = 2;
    gradients.run();
    problem.batch = 1;
    problem.accumulates = 1;
    for (Operand* operand :
         {&problem.output_gradient, &problem.sum, &problem.sum_gradient, &problem.transform.rotations}) {
      if (operand->given != 0) operand->data = static_cast<float*>(operand->data) + 2 * operand->strides[1];
    }
    gradients.run();
    ASSERT_EQ(gradients.weight_gradient.bits(), expected);
  }
}

TEST_P(HeadTransformBackward, OfRowsWithoutAGradientIsNothing) {
  Draw draw(4);
  for (int i = 0; i < 60; ++i) {
    HeadForm form = random_head_form(draw);
    form.rows = 3;
    SCOPED_TRACE(form.text());
    HeadGradientsCase gradients(kernels(), form, draw);
    const auto set_rows = [&](float value) {
      for (int64_t s = 0; s < form.batch; ++s) {
        for (int64_t h = 0; h < form.num_heads; ++h) {
          for (int64_t d = 0; d < form.head_size; ++d) {
            gradients.output_gradient.at({h, s, 1, d}) = 0;
            gradients.sum.at({h, s, 1, d}) = value;
          }
        }
        for (int64_t d = 0; d < gradients.problem.transform.rotary_size; ++d)
          gradients.rotations.at({0, s, 1, d}) = value;
      }
    };
    const Floats<4> before = gradients.weight_gradient;
    set_rows(1);
    gradients.run();
    const std::vector<uint32_t> weight = gradients.weight_gradient.bits();
    gradients.weight_gradient = before;
    gradients.give_weight_gradient();
    set_rows(i % 2 == 0 ? kNaN : kInfinity);
    gradients.run(2);
    ASSERT_EQ(gradients.weight_gradient.bits(), weight);
    for (int64_t d = 0; d < form.head_size; ++d) ASSERT_EQ(gradients.sum_gradient.at({0, 0, 1, d}), 0);
  }
}

}  // namespace
}  // namespace heed::cpu
