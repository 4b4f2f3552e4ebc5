// SPDX-License-Identifier: Apache-2.0
#include "attention/reference/multi_head_attention.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/reference/error_bound.h"
#include "attention/reference/sum_of_products.h"

namespace heed::reference {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> as_matrix(const std::vector<double>& array, int64_t rows, int64_t columns) {
  return Eigen::Map<const Matrix>(array.data(), rows, columns);
}

Bounded exact(const std::vector<double>& values) {
  Bounded result;
  result.values = values;
  result.errors.assign(values.size(), 0.0);
  return result;
}

// (outer, a, b, size) to (outer, b, a, size): (B, S, H, D) to (B, H, S, D) and back.
std::vector<double> swap_middle(const std::vector<double>& array, int64_t outer, int64_t a, int64_t b, int64_t size) {
  std::vector<double> result(array.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < a; ++i) {
      for (int64_t j = 0; j < b; ++j) {
        const auto from = array.begin() + ((o * a + i) * b + j) * size;
        std::copy(from, from + size, result.begin() + ((o * b + j) * a + i) * size);
      }
    }
  }
  return result;
}

Bounded swap_middle(const Bounded& array, int64_t outer, int64_t a, int64_t b, int64_t size) {
  Bounded result;
  result.values = swap_middle(array.values, outer, a, b, size);
  result.errors = swap_middle(array.errors, outer, a, b, size);
  return result;
}

}  // namespace

Bounded project(const Projection& projection, const Bounded& input, int64_t rows) {
  const int64_t input_size = projection.input_size;
  const auto x = as_matrix(input.values, rows, input_size);
  const auto x_error = as_matrix(input.errors, rows, input_size);
  const auto weight = as_matrix(projection.weight, projection.output_size, input_size);

  const double roundings = static_cast<double>(input_size) + 1.0;
  const double gamma = roundings * kUnitRoundoff / (1.0 - roundings * kUnitRoundoff);
  const double underflow = static_cast<double>(input_size) * kSmallestF32;
  // The bias is the weight of one more input, which is 1.
  Eigen::ArrayXd a = Eigen::ArrayXd::Ones(input_size + 1);
  Eigen::ArrayXd a_error = Eigen::ArrayXd::Zero(input_size + 1);
  Eigen::ArrayXd b = a_error;
  const Eigen::ArrayXd b_error = a_error;
  Bounded result(static_cast<size_t>(rows * projection.output_size));
  for (int64_t row = 0; row < rows; ++row) {
    a.head(input_size) = x.row(row).transpose().array();
    a_error.head(input_size) = x_error.row(row).transpose().array();
    for (int64_t n = 0; n < projection.output_size; ++n) {
      b.head(input_size) = weight.row(n).transpose().array();
      if (!projection.bias.empty()) b[input_size] = projection.bias[static_cast<size_t>(n)];
      const Eigen::ArrayXd terms = a * b;
      const auto i = static_cast<size_t>(row * projection.output_size + n);
      result.values[i] = terms.sum();
      switch (outcome_of_sum(terms, a, a_error, b, b_error)) {
        case Outcome::Unknown:
          // Infinity or NaN, whichever it is, stays one of them.
          result.values[i] = a.isNaN().any() ? std::numeric_limits<double>::quiet_NaN() : 0.0;
          result.errors[i] = std::numeric_limits<double>::infinity();
          break;
        case Outcome::SameAsF64: break;
        case Outcome::Finite: {
          const double inherited = (a_error * b.abs()).sum();
          const double magnitude = terms.abs().sum() + inherited;
          result.errors[i] = magnitude <= kLargestCovered ? inherited + gamma * magnitude + underflow
                                                          : std::numeric_limits<double>::infinity();
          break;
        }
      }
    }
  }
  return result;
}

AttentionResult multi_head_attention(const MultiHeadProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  AttentionProblem inner;
  inner.sizes = sizes;
  inner.options = problem.options;
  inner.limits = problem.limits;
  const int64_t query_rows = sizes.batch * sizes.num_queries;
  const int64_t key_rows = sizes.batch * sizes.num_keys;
  inner.queries = swap_middle(project(problem.query_projection, exact(problem.queries), query_rows), sizes.batch,
                              sizes.num_queries, sizes.num_heads, sizes.head_size);
  inner.keys = swap_middle(project(problem.key_projection, exact(problem.keys), key_rows), sizes.batch, sizes.num_keys,
                           sizes.num_kv_heads, sizes.head_size);
  const Bounded values = exact(problem.values);
  inner.values = swap_middle(problem.value_projection ? project(*problem.value_projection, values, key_rows) : values,
                             sizes.batch, sizes.num_keys, sizes.num_kv_heads, sizes.value_head_size);
  inner.score_weights = problem.score_weights;

  AttentionResult result = attention(inner);
  result.output = swap_middle(result.output, sizes.batch, sizes.num_heads, sizes.num_queries, sizes.value_head_size);
  if (problem.output_projection) result.output = project(*problem.output_projection, result.output, query_rows);
  return result;
}

}  // namespace heed::reference
