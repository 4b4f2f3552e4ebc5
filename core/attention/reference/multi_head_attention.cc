// SPDX-License-Identifier: Apache-2.0
#include "attention/reference/multi_head_attention.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/reference/error_bound.h"

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
  const auto x = as_matrix(input.values, rows, projection.input_size);
  const auto x_error = as_matrix(input.errors, rows, projection.input_size);
  const auto weight = as_matrix(projection.weight, projection.output_size, projection.input_size);

  // A row of one matrix at a time, so that what is not finite in one row stays in that row.
  Matrix y(rows, projection.output_size);
  Matrix inherited(rows, projection.output_size);
  Matrix magnitude(rows, projection.output_size);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t n = 0; n < projection.output_size; ++n) {
      y(row, n) = x.row(row).dot(weight.row(n));
      inherited(row, n) = x_error.row(row).dot(weight.row(n).cwiseAbs());
      magnitude(row, n) = (x.row(row).cwiseAbs() + x_error.row(row)).dot(weight.row(n).cwiseAbs());
    }
  }
  if (!projection.bias.empty()) {
    const auto bias = as_matrix(projection.bias, 1, projection.output_size);
    y.rowwise() += bias.row(0);
    magnitude.rowwise() += bias.row(0).cwiseAbs();
  }

  const auto input_size = static_cast<double>(projection.input_size);
  const double roundings = input_size + 1.0;
  const double gamma = roundings * kUnitRoundoff / (1.0 - roundings * kUnitRoundoff);
  const double underflow = input_size * kSmallestF32;
  Bounded result(static_cast<size_t>(y.size()));
  for (int64_t row = 0; row < rows; ++row) {
    const bool surely_nan = (x.row(row).array().isNaN() && x_error.row(row).array() == 0.0).any();
    for (int64_t n = 0; n < projection.output_size; ++n) {
      const auto i = static_cast<size_t>(row * projection.output_size + n);
      result.values[i] = y(row, n);
      result.errors[i] = inherited(row, n) + gamma * magnitude(row, n) + underflow;
      if (!(magnitude(row, n) <= kLargestCovered)) result.errors[i] = std::numeric_limits<double>::infinity();
      if (surely_nan) result.errors[i] = 0.0;
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
