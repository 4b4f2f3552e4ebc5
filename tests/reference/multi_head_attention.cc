// SPDX-License-Identifier: Apache-2.0
#include "reference/multi_head_attention.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error_bound.h"
#include "reference/positions.h"
#include "reference/sum_of_products.h"

namespace heed::reference {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> as_matrix(const std::vector<double>& array, int64_t rows, int64_t columns) {
  return Eigen::Map<const Matrix>(array.data(), rows, columns);
}

// Transposes (outer, a, b, size) to (outer, b, a, size): (B, S, H, D) to (B, H, S, D) and back.
template <typename T>
std::vector<T> swap_middle(const std::vector<T>& array, int64_t outer, int64_t a, int64_t b, int64_t size) {
  std::vector<T> result(array.size());
  if (array.empty()) return result;
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

// Rotates (B, heads, rows, D), with position_of(b, row) for each row.
template <typename PositionOf>
void rotate_heads(const MultiHeadProblem& problem, int64_t num_heads, int64_t rows, Bounded& heads,
                  PositionOf position_of) {
  const std::vector<Frequency> frequencies = rotary_frequencies(*problem.rotary);
  for (int64_t b = 0; b < problem.sizes.batch; ++b) {
    for (int64_t i = 0; i < num_heads * rows; ++i) {
      const int64_t first = (b * num_heads * rows + i) * problem.sizes.head_size;
      rotate(*problem.rotary, frequencies, position_of(b, i % rows), problem.compute_format,
             heads.values.data() + first, heads.errors.data() + first);
    }
  }
}

// Norms and rotations of projected queries and keys.
void transform(const MultiHeadProblem& problem, Bounded& queries, Bounded& keys) {
  const AttentionSizes& sizes = problem.sizes;
  if (problem.query_norm) {
    normalize_heads(*problem.query_norm, sizes.num_heads, sizes.num_queries, sizes.head_size, problem.compute_format,
                    queries);
    normalize_heads(*problem.key_norm, sizes.num_kv_heads, sizes.num_keys, sizes.head_size, problem.compute_format,
                    keys);
  }
  if (!problem.rotary) return;
  rotate_heads(problem, sizes.num_heads, sizes.num_queries, queries,
               [&](int64_t b, int64_t q) { return query_position(sizes, problem.limits, b, q); });
  rotate_heads(problem, sizes.num_kv_heads, sizes.num_keys, keys,
               [&](int64_t b, int64_t k) { return key_position(sizes, problem.limits, b, k); });
}

// Appends `row`, or zeros if there is no row, to each head of (heads, count, size).
Bounded with_row(const Bounded& rows, int64_t count, const Bounded& row, int64_t num_heads, int64_t size) {
  Bounded result;
  for (const auto member : {&Bounded::values, &Bounded::errors}) {
    for (int64_t head = 0; head < num_heads; ++head) {
      const auto first = (rows.*member).begin() + head * count * size;
      (result.*member).insert((result.*member).end(), first, first + count * size);
      for (int64_t d = 0; d < size; ++d)
        (result.*member).push_back((row.*member).empty() ? 0.0 : (row.*member)[static_cast<size_t>(head * size + d)]);
    }
  }
  return result;
}

ConstantKeys constant_keys(const MultiHeadProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  ConstantKeys constant;
  const auto append = [&](const Bounded& key, const Bounded& value) {
    constant.keys = with_row(constant.keys, constant.count, key, sizes.num_kv_heads, sizes.head_size);
    constant.values = with_row(constant.values, constant.count, value, sizes.num_kv_heads, sizes.value_head_size);
    ++constant.count;
  };
  if (!problem.bias_key.empty())
    append(as_read(problem.bias_key, problem.compute_format), as_read(problem.bias_value, problem.compute_format));
  if (problem.has_zero_key) append(Bounded(), Bounded());
  return constant;
}

// Rows beyond the queries of a batch element are 0 after the output's projection too.
void clear_padding(const MultiHeadProblem& problem, Bounded& output) {
  const AttentionSizes& sizes = problem.sizes;
  const int64_t size =
      static_cast<int64_t>(output.values.size()) / std::max<int64_t>(1, sizes.batch * sizes.num_queries);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    const int64_t first = (b * sizes.num_queries + num_queries(sizes, problem.limits, b)) * size;
    const int64_t end = (b + 1) * sizes.num_queries * size;
    std::fill(output.values.begin() + first, output.values.begin() + end, 0.0);
    std::fill(output.errors.begin() + first, output.errors.begin() + end, 0.0);
    if (!output.may_be_nan.empty())
      std::fill(output.may_be_nan.begin() + first, output.may_be_nan.begin() + end, uint8_t{0});
  }
}

}  // namespace

Bounded project(const Projection& projection, const Bounded& input, int64_t rows,
                std::optional<Format> compute_format) {
  const int64_t input_size = projection.input_size;
  const auto x = as_matrix(input.values, rows, input_size);
  const auto x_error = as_matrix(input.errors, rows, input_size);
  const Bounded weights = as_read(projection.weight, compute_format);
  const auto weight = as_matrix(weights.values, projection.output_size, input_size);
  const auto weight_error = as_matrix(weights.errors, projection.output_size, input_size);
  const Bounded bias = as_read(projection.bias, compute_format);

  const double roundings = static_cast<double>(input_size) + 1.0;
  const double gamma = roundings * kUnitRoundoff / (1.0 - roundings * kUnitRoundoff);
  const double underflow = static_cast<double>(input_size) * underflow_error();
  // The bias is treated as the weight of one more input, which is 1.
  Eigen::ArrayXd a = Eigen::ArrayXd::Ones(input_size + 1);
  Eigen::ArrayXd a_error = Eigen::ArrayXd::Zero(input_size + 1);
  Eigen::ArrayXd b = a_error;
  Eigen::ArrayXd b_error = a_error;
  Bounded result(static_cast<size_t>(rows * projection.output_size));
  for (int64_t row = 0; row < rows; ++row) {
    a.head(input_size) = x.row(row).transpose().array();
    a_error.head(input_size) = x_error.row(row).transpose().array();
    for (int64_t n = 0; n < projection.output_size; ++n) {
      b.head(input_size) = weight.row(n).transpose().array();
      b_error.head(input_size) = weight_error.row(n).transpose().array();
      if (!projection.bias.empty()) {
        b[input_size] = bias.values[static_cast<size_t>(n)];
        b_error[input_size] = bias.errors[static_cast<size_t>(n)];
      }
      const Eigen::ArrayXd terms = a * b;
      const auto i = static_cast<size_t>(row * projection.output_size + n);
      result.values[i] = terms.sum();
      switch (outcome_of_sum(terms, a, a_error, b, b_error)) {
        case Outcome::Unknown:
          // A result that is NaN in f64 is infinite or NaN in f32, but never finite.
          result.values[i] = a.isNaN().any() ? std::numeric_limits<double>::quiet_NaN() : 0.0;
          result.errors[i] = std::numeric_limits<double>::infinity();
          break;
        case Outcome::SameAsF64: break;
        case Outcome::Finite: {
          const double inherited = (a_error * b.abs() + (a.abs() + a_error) * b_error).sum();
          const double magnitude = terms.abs().sum() + inherited;
          double& error = result.errors[i];
          error = magnitude <= kLargestCovered ? inherited + gamma * magnitude + underflow
                                               : std::numeric_limits<double>::infinity();
          if (!compute_format) break;
          error = error_after_rounding(*compute_format, terms.head(input_size).sum(), error);
          if (!projection.bias.empty()) error = error_after_rounding(*compute_format, result.values[i], error);
          break;
        }
      }
    }
  }
  if (!input.may_be_nan.empty()) {
    for (int64_t row = 0; row < rows; ++row) {
      const auto first = input.may_be_nan.begin() + row * input_size;
      const bool any = std::any_of(first, first + input_size, [](uint8_t may) { return may != 0; });
      result.may_be_nan.insert(result.may_be_nan.end(), static_cast<size_t>(projection.output_size), any ? 1 : 0);
    }
  }
  return result;
}

Bounded swap_middle(const Bounded& array, int64_t outer, int64_t a, int64_t b, int64_t size) {
  Bounded result;
  result.values = swap_middle(array.values, outer, a, b, size);
  result.errors = swap_middle(array.errors, outer, a, b, size);
  result.may_be_nan = swap_middle(array.may_be_nan, outer, a, b, size);
  return result;
}

AttentionProblem attention_of(const MultiHeadProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const std::optional<Format> format = problem.compute_format;
  AttentionProblem inner;
  inner.compute_format = format;
  inner.sizes = sizes;
  inner.options = problem.options;
  inner.limits = problem.limits;
  const int64_t query_rows = sizes.batch * sizes.num_queries;
  const int64_t key_rows = sizes.batch * sizes.num_keys;
  const Bounded queries = as_read(problem.queries, format);
  inner.queries =
      swap_middle(problem.query_projection ? project(*problem.query_projection, queries, query_rows, format) : queries,
                  sizes.batch, sizes.num_queries, sizes.num_heads, sizes.head_size);
  inner.keys = swap_middle(project(problem.key_projection, as_read(problem.keys, format), key_rows, format),
                           sizes.batch, sizes.num_keys, sizes.num_kv_heads, sizes.head_size);
  const Bounded values = as_read(problem.values, format);
  inner.values =
      swap_middle(problem.value_projection ? project(*problem.value_projection, values, key_rows, format) : values,
                  sizes.batch, sizes.num_keys, sizes.num_kv_heads, sizes.value_head_size);
  inner.score_weights = problem.score_weights;
  transform(problem, inner.queries, inner.keys);
  inner.constant_keys = constant_keys(problem);
  return inner;
}

AttentionResult multi_head_attention(const MultiHeadProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const std::optional<Format> format = problem.compute_format;
  const int64_t query_rows = sizes.batch * sizes.num_queries;
  AttentionResult result = attention(attention_of(problem));
  result.output = swap_middle(result.output, sizes.batch, sizes.num_heads, sizes.num_queries, sizes.value_head_size);
  if (problem.output_projection) result.output = project(*problem.output_projection, result.output, query_rows, format);
  clear_padding(problem, result.output);
  return result;
}

}  // namespace heed::reference
