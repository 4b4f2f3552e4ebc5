// SPDX-License-Identifier: Apache-2.0
// Gradients of the f64 reference against central differences of the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "property/support/random.h"
#include "reference/attention.h"

namespace heed::property {

inline std::vector<double> random_numbers(Random& random, int64_t count, double largest = 1.0) {
  std::vector<double> numbers(static_cast<size_t>(count));
  for (double& number : numbers) number = random.uniform(-largest, largest);
  return numbers;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Elements i = sin(start + 0.61 i), the inputs of check values that others can compute again.
inline std::vector<double> sines(int64_t count, double start) {
  std::vector<double> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(start + 0.61 * static_cast<double>(i));
  return numbers;
}

// Half a unit of the last place of check values.
inline constexpr double kSevenDigits = 0.5e-7;

inline double sum_of_squares(const std::vector<double>& numbers) { return dot(numbers, numbers); }

inline reference::Bounded exact(std::vector<double> values) {
  reference::Bounded result;
  result.errors.assign(values.size(), 0.0);
  result.values = std::move(values);
  return result;
}

// The gradients of one function: the largest of all of them is the measure for the differences.
class CentralDifferences {
 public:
  // `loss`: the number that the gradients are of, from the inputs as they are when it is called.
  explicit CentralDifferences(std::function<double()> loss) : loss_(std::move(loss)) {}

  // `input` is changed while expect() runs.
  void add(std::string name, std::vector<double>& input, std::vector<double> gradient) {
    pairs_.push_back({std::move(name), &input, std::move(gradient)});
  }

  void expect() const {
    double largest = 0;
    for (const Pair& pair : pairs_) {
      for (double element : pair.gradient) largest = std::max(largest, std::fabs(element));
    }
    for (const Pair& pair : pairs_) {
      ASSERT_EQ(pair.input->size(), pair.gradient.size()) << pair.name;
      for (size_t i = 0; i < pair.gradient.size(); ++i) {
        double& element = (*pair.input)[i];
        if (!std::isfinite(element)) continue;
        const double kept = element;
        element = kept + kStep;
        const double above = loss_();
        element = kept - kStep;
        const double below = loss_();
        element = kept;
        EXPECT_NEAR((above - below) / (2 * kStep), pair.gradient[i], kAgreement * std::max(largest, 1e-3))
            << pair.name << ", element " << i;
      }
    }
  }

 private:
  static constexpr double kStep = 1e-6;
  static constexpr double kAgreement = 1e-7;

  struct Pair {
    std::string name;
    std::vector<double>* input;
    std::vector<double> gradient;
  };

  std::function<double()> loss_;
  std::vector<Pair> pairs_;
};

}  // namespace heed::property
