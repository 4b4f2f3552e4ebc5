// SPDX-License-Identifier: Apache-2.0
#include "golden/support/torch_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace heed::golden {

TorchCase::TorchCase(const TorchFile& file, std::string name)
    : file_(file), name_(std::move(name)), options_(file.options_of(name_)) {}

std::vector<std::string> TorchCase::gradients() const {
  const std::string prefix = name_ + ".grad.";
  std::vector<std::string> names;
  for (const std::string& tensor : file_.tensors()) {
    if (tensor.starts_with(prefix)) names.push_back(tensor.substr(prefix.size()));
  }
  return names;
}

void TorchCase::expect_gradient(const std::string& gradient, const std::vector<double>& numbers,
                                double tolerance) const {
  SCOPED_TRACE(name_ + ".grad." + gradient);
  double largest = 0;
  for (const std::string& other : gradients())
    largest = std::max(largest, largest_magnitude(this->numbers("grad." + other)));
  const std::vector<double> expected = this->numbers("grad." + gradient);
  expect_numbers(numbers, expected, tolerance, std::max(largest_magnitude(expected), 1e-3 * largest));
}

void expect_numbers(const std::vector<double>& numbers, const std::vector<double>& expected, double tolerance,
                    double largest) {
  ASSERT_EQ(numbers.size(), expected.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == expected[i]) continue;
    EXPECT_NEAR(numbers[i], expected[i], tolerance * largest) << "element " << i;
  }
}

double largest_magnitude(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) {
    if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
  }
  return largest;
}

}  // namespace heed::golden
