// SPDX-License-Identifier: Apache-2.0
// A case of a file data/torch_*.safetensors, and the comparison of gradients with its own.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/support/torch_file.h"

namespace heed::golden {

// The relative tolerance for f64 arithmetic in another order than PyTorch's.
inline constexpr double kAgreement = 1e-9;

class TorchCase {
 public:
  // `file` outlives the case.
  TorchCase(const TorchFile& file, std::string name);

  const std::string& name() const { return name_; }
  const nlohmann::json& options() const { return options_; }

  // Tensors by their names without the case's: "input.query", "param.W_q.weight", "cotangent", "grad.query".
  bool has(const std::string& tensor) const { return file_.has(name_ + "." + tensor); }
  bool is_bool(const std::string& tensor) const { return file_.is_bool(name_ + "." + tensor); }
  std::vector<int64_t> dims(const std::string& tensor) const { return file_.dims(name_ + "." + tensor); }
  std::vector<double> numbers(const std::string& tensor) const { return file_.numbers(name_ + "." + tensor); }
  // The gradient of the output: what the gradients are computed from.
  std::vector<double> cotangent() const { return numbers("cotangent"); }

  // The inputs and parameters that have a gradient, such as "query" and "in_proj_weight".
  std::vector<std::string> gradients() const;

  // Expects each number to be as the file's "grad.NAME", or nearer than `tolerance` times the largest number of it; where that is
  // below a thousandth of the case's largest gradient, times that thousandth.
  void expect_gradient(const std::string& gradient, const std::vector<double>& numbers, double tolerance) const;

 private:
  const TorchFile& file_;
  std::string name_;
  nlohmann::json options_;
};

// Expects each number to be the expected one, infinities too, or nearer than `tolerance` times `largest`.
void expect_numbers(const std::vector<double>& numbers, const std::vector<double>& expected, double tolerance,
                    double largest);

// The largest magnitude of the finite numbers.
double largest_magnitude(const std::vector<double>& numbers);

}  // namespace heed::golden
