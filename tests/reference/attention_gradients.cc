// SPDX-License-Identifier: Apache-2.0
#include "reference/attention_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reference/bounded_sum.h"
#include "reference/error_bound.h"
#include "reference/philox.h"
#include "reference/positions.h"
#include "reference/visibility.h"

namespace heed::reference {
namespace {

// A number and how far an engine's may be from it.
struct Near {
  double value = 0.0;
  double error = 0.0;
};

// As Bounded states it: an engine's result for a number that is not finite is not finite either.
void write(const Near& number, int64_t element, Bounded& array) {
  const bool is_finite = std::isfinite(number.value);
  array.values[static_cast<size_t>(element)] = is_finite ? number.value : kNaN;
  array.errors[static_cast<size_t>(element)] = is_finite && number.error <= kLargestCovered ? number.error : kInfinity;
}

struct Sums {
  BoundedSums queries, keys, values, constant_keys, constant_values, score_weights, sinks;
};

// One row: query q of head h of batch element b.
class RowGradients {
 public:
  RowGradients(const AttentionProblem& problem, const AttentionResult& forward, const std::vector<double>& of_output,
               int64_t b, int64_t h, int64_t q)
      : problem_(problem), sizes_(problem.sizes), options_(problem.options), forward_(forward), b_(b), h_(h), q_(q) {
    kv_head_ = h / (sizes_.num_heads / sizes_.num_kv_heads);
    row_ = (b * sizes_.num_heads + h) * sizes_.num_queries + q;
    num_columns_ = sizes_.num_keys + problem.constant_keys.count;
    of_output_ = of_output.data() + row_ * sizes_.value_head_size;
    query_ = problem.queries.values.data() + row_ * sizes_.head_size;
    for (int64_t k = 0; k < num_columns_; ++k) {
      if (is_constant(k) || is_visible(problem, b, h, q, k)) visible_.push_back(k);
    }
  }

  void add_to(Sums& sums, AttentionGradients& result) {
    if (q_ >= num_queries(sizes_, problem_.limits, b_) || is_zero_row(of_output_, sizes_.value_head_size)) return;
    if (visible_.empty()) {
      if (options_.empty_rows == EmptyRows::Mean) add_mean(sums);
      return;
    }
    set_errors();
    write(product_, row_, result.products);
    for (int64_t k : visible_) add_pair(k, sums, result);
    add_sink(sums);
  }

 private:
  bool is_constant(int64_t k) const { return k >= sizes_.num_keys; }

  // The row of a key in the arrays of keys or of constant keys.
  int64_t key_row(int64_t k) const {
    return is_constant(k) ? kv_head_ * problem_.constant_keys.count + k - sizes_.num_keys
                          : (b_ * sizes_.num_kv_heads + kv_head_) * sizes_.num_keys + k;
  }
  const double* key_at(int64_t k) const {
    return (is_constant(k) ? problem_.constant_keys.keys : problem_.keys).values.data() + key_row(k) * sizes_.head_size;
  }
  const double* value_at(int64_t k) const {
    return (is_constant(k) ? problem_.constant_keys.values : problem_.values).values.data() +
           key_row(k) * sizes_.value_head_size;
  }

  double scale() const {
    return options_.scale != 0.0 ? options_.scale : 1.0 / std::sqrt(static_cast<double>(sizes_.head_size));
  }

  // m of a pair.
  double factor_of(int64_t k) const {
    if (!options_.drops()) return 1.0;
    const int64_t number = is_constant(k) ? num_keys(sizes_, problem_.limits, b_) + k - sizes_.num_keys : k;
    const bool kept = dropout_keeps(options_.dropout_seed, options_.dropout, b_, h_, q_, number);
    return kept ? 1.0 / (1.0 - options_.dropout) : 0.0;
  }

  // What all pairs of the row have: the relative error of a weight, and D with its error.
  //
  // A weight is computed again as 2^(score * L - log_sum_exp * L), L near log2(e). The exponent that bounds log_sum_exp's error holds
  // twice the error of a score. So the score is off by half of it; the difference is rounded, relative to the score, which is at
  // most 1 / 6.5 of the exponent, and to log_sum_exp. That is 1.7 times the error that is stated for log_sum_exp, which has
  // one of the 3.3 roundings relative to log_sum_exp: of itself, of its product with L, of L (0.23), and of the difference. The
  // power of two is within 2 units.
  void set_errors() {
    const double log_sum_exp = forward_.log_sum_exp.values[static_cast<size_t>(row_)];
    const double error = forward_.log_sum_exp.errors[static_cast<size_t>(row_)];
    const double own = std::isfinite(log_sum_exp) ? 2.0 * std::fabs(log_sum_exp) + 2.0 : 0.0;
    of_weights_ = std::expm1(1.7 * error + kSecondOrder * kUnitRoundoff * own);

    const double* const output = forward_.output.values.data() + row_ * sizes_.value_head_size;
    const double* const output_error = forward_.output.errors.data() + row_ * sizes_.value_head_size;
    double magnitude = 0.0;
    for (int64_t d = 0; d < sizes_.value_head_size; ++d) {
      product_.value += of_output_[d] * output[d];
      product_.error += std::fabs(of_output_[d]) * output_error[d];
      magnitude += std::fabs(of_output_[d]) * (std::fabs(output[d]) + output_error[d]);
    }
    // Of the sum, and of a scale and its product.
    const auto size = static_cast<double>(sizes_.value_head_size);
    product_.error += kSecondOrder * kUnitRoundoff * (size + 2.0) * magnitude + size * underflow_error();
  }

  // An engine may replace a small exponential by 0.
  Near weight_of(double weight) const { return {weight, weight * of_weights_ + 2.0 * kLeastExponential}; }

  void add_pair(int64_t k, Sums& sums, AttentionGradients& result) {
    const Near weight = weight_of(forward_.weights.values[static_cast<size_t>(row_ * num_columns_ + k)]);
    const double factor = factor_of(k);
    add_value(k, {factor * weight.value, factor * (weight.error + 2.0 * kUnitRoundoff * weight.value)}, sums);

    const double* const value = value_at(k);
    double of_weight = 0.0;
    double magnitude = 0.0;
    for (int64_t d = 0; d < sizes_.value_head_size; ++d) {
      of_weight += of_output_[d] * value[d];
      magnitude += std::fabs(of_output_[d] * value[d]);
    }
    // Of dP: its sum, the factor and its product, a scale and its product.
    const auto size = static_cast<double>(sizes_.value_head_size);
    const double difference = factor * of_weight - product_.value;
    const double of_difference = factor * kSecondOrder * kUnitRoundoff * (size + 4.0) * magnitude + product_.error +
                                 kUnitRoundoff * (std::fabs(factor * of_weight) + std::fabs(product_.value)) +
                                 (factor * size + 2.0) * underflow_error();
    Near of_score;
    of_score.value = weight.value * difference;
    // Of the product with P; where a scale is in dP and D, of a division by it.
    of_score.error = weight.error * std::fabs(difference) + (weight.value + weight.error) * of_difference +
                     4.0 * kUnitRoundoff * std::fabs(of_score.value) + 2.0 * underflow_error();
    if (!(factor * magnitude + std::fabs(product_.value) <= kLargestCovered)) of_score.error = kInfinity;
    if (!is_constant(k)) write(of_score, row_ * sizes_.num_keys + k, result.scores);
    const Near before_cap = through_cap(k, of_score);
    Near scaled;
    scaled.value = scale() * before_cap.value;
    scaled.error =
        std::fabs(scale()) * (before_cap.error + 2.0 * kUnitRoundoff * std::fabs(before_cap.value)) + underflow_error();
    if (options_.scoring == Scoring::DotProduct) {
      add_products(k, scaled, sums);
    } else {
      add_weighted_tanhs(k, scaled, sums);
    }
  }

  // The weighted tanh of the sums, or the dot product.
  double raw_score(int64_t k) const {
    const double* const key = key_at(k);
    double sum = 0.0;
    for (int64_t d = 0; d < sizes_.head_size; ++d)
      sum += options_.scoring == Scoring::DotProduct ? query_[d] * key[d]
                                                     : score_weight(d) * std::tanh(query_[d] + key[d]);
    return sum;
  }

  double score_weight(int64_t d) const {
    return problem_.score_weights[static_cast<size_t>(h_ * sizes_.head_size + d)];
  }

  // The gradient of the score before the cap. Its tanh is off by what the score is, as a part of the cap, and by 6 roundings: of
  // tanh itself, the division, and the product.
  Near through_cap(int64_t k, const Near& of_score) const {
    const double cap = std::fabs(options_.soft_cap);
    if (cap == 0.0) return of_score;
    const double tanh = std::tanh(scale() * raw_score(k) / cap);
    const double slope = 1.0 - tanh * tanh;
    const double of_tanh = forward_.log_sum_exp.errors[static_cast<size_t>(row_)] / (2.0 * cap) + 6.0 * kUnitRoundoff;
    const double of_slope = 2.0 * std::fabs(tanh) * of_tanh + of_tanh * of_tanh + 2.0 * kUnitRoundoff;
    Near result;
    result.value = of_score.value * slope;
    result.error = of_score.error * slope + (std::fabs(of_score.value) + of_score.error) * of_slope +
                   kUnitRoundoff * std::fabs(result.value) + underflow_error();
    return result;
  }

  void add_value(int64_t k, const Near& weight, Sums& sums) const {
    BoundedSums& values = is_constant(k) ? sums.constant_values : sums.values;
    for (int64_t d = 0; d < sizes_.value_head_size; ++d)
      values.add(key_row(k) * sizes_.value_head_size + d, weight.value * of_output_[d],
                 weight.error * std::fabs(of_output_[d]));
  }

  void add_products(int64_t k, const Near& scaled, Sums& sums) const {
    BoundedSums& keys = is_constant(k) ? sums.constant_keys : sums.keys;
    const double* const key = key_at(k);
    for (int64_t d = 0; d < sizes_.head_size; ++d) {
      sums.queries.add(row_ * sizes_.head_size + d, scaled.value * key[d], scaled.error * std::fabs(key[d]));
      keys.add(key_row(k) * sizes_.head_size + d, scaled.value * query_[d], scaled.error * std::fabs(query_[d]));
    }
  }

  // A tanh is off by 5 roundings: 4 of its own, and that of the sum of query and key, which costs no more than one of the tanh. So
  // 1 - tanh^2 is off by 12: twice 5, that of the square, and that of the difference.
  void add_weighted_tanhs(int64_t k, const Near& scaled, Sums& sums) const {
    const double* const key = key_at(k);
    for (int64_t d = 0; d < sizes_.head_size; ++d) {
      const double tanh = std::tanh(query_[d] + key[d]);
      const double weight = score_weight(d);
      const double slope = 1.0 - tanh * tanh;
      const double value = scaled.value * weight * slope;
      const double error = scaled.error * std::fabs(weight) * slope +
                           (std::fabs(scaled.value) + scaled.error) * std::fabs(weight) * 12.0 * kUnitRoundoff +
                           2.0 * kUnitRoundoff * std::fabs(value) + 2.0 * (1.0 + std::fabs(weight)) * underflow_error();
      sums.score_weights.add(h_ * sizes_.head_size + d, scaled.value * tanh,
                             scaled.error * std::fabs(tanh) + 5.0 * kUnitRoundoff * std::fabs(scaled.value * tanh));
      sums.queries.add(row_ * sizes_.head_size + d, value, error);
      sums.keys.add(key_row(k) * sizes_.head_size + d, value, error);
    }
  }

  void add_sink(Sums& sums) const {
    if (problem_.limits.sinks.empty()) return;
    const double sink = problem_.limits.sinks[static_cast<size_t>(h_)];
    const Near weight = weight_of(std::exp(sink - forward_.log_sum_exp.values[static_cast<size_t>(row_)]));
    const double error = weight.error * std::fabs(product_.value) + (weight.value + weight.error) * product_.error;
    sums.sinks.add(h_, -weight.value * product_.value, error);
  }

  void add_mean(Sums& sums) const {
    const int64_t count = num_keys(sizes_, problem_.limits, b_);
    for (int64_t k = 0; k < count; ++k) {
      const double weight = factor_of(k) / static_cast<double>(count);
      add_value(k, {weight, 3.0 * kUnitRoundoff * weight}, sums);
    }
  }

  const AttentionProblem& problem_;
  const AttentionSizes& sizes_;
  const AttentionOptions& options_;
  const AttentionResult& forward_;
  int64_t b_, h_, q_;
  int64_t kv_head_ = 0;
  int64_t row_ = 0;
  int64_t num_columns_ = 0;
  const double* of_output_ = nullptr;
  const double* query_ = nullptr;
  std::vector<int64_t> visible_;
  double of_weights_ = 0.0;
  Near product_;
};

// Those of what is added to the scores and computed from a distance.
void add_terms(const AttentionProblem& problem, AttentionGradients& result) {
  const AttentionSizes& sizes = problem.sizes;
  const RelativeBias& relative = problem.limits.relative_bias;
  const bool has_slopes = !problem.limits.alibi_slopes.empty();
  const bool has_table = !relative.weight.empty();
  BoundedSums slopes(has_slopes ? sizes.num_heads : 0);
  BoundedSums table(static_cast<int64_t>(relative.weight.size()));
  size_t pair = 0;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      for (int64_t q = 0; q < sizes.num_queries; ++q) {
        for (int64_t k = 0; k < sizes.num_keys; ++k, ++pair) {
          if (!is_visible(problem, b, h, q, k)) continue;
          const double value = result.scores.values[pair];
          const double error = result.scores.errors[pair];
          if (value == 0.0 && error == 0.0) continue;
          const int64_t distance =
              key_position(sizes, problem.limits, b, k) - query_position(sizes, problem.limits, b, q);
          const double length = std::fabs(static_cast<double>(distance));
          // The distance is rounded, and its index in a block, as in the score.
          if (has_slopes) slopes.add(h, -value * length, length * (error + 2.0 * kUnitRoundoff * std::fabs(value)));
          if (has_table) table.add(relative_bucket(relative, distance) * sizes.num_heads + h, value, error);
        }
      }
    }
  }
  result.alibi_slopes = slopes.finish();
  result.relative_bias = table.finish();
}

}  // namespace

AttentionGradients attention_gradients(const AttentionProblem& given, const std::vector<double>& of_output,
                                       Format output_format) {
  AttentionProblem problem = given;
  problem.compute_format.reset();
  for (Bounded* input :
       {&problem.queries, &problem.keys, &problem.values, &problem.constant_keys.keys, &problem.constant_keys.values})
    input->errors.assign(input->values.size(), 0.0);
  const AttentionSizes& sizes = problem.sizes;
  AttentionResult forward = attention(problem);
  for (size_t i = 0; i < forward.output.values.size(); ++i) {
    double& error = forward.output.errors[i];
    if (std::isfinite(forward.output.values[i]))
      error = error_after_rounding(output_format, forward.output.values[i], error);
  }
  const int64_t num_rows = sizes.batch * sizes.num_heads * sizes.num_queries;
  const auto size_of = [](const Bounded& array) { return static_cast<int64_t>(array.values.size()); };
  Sums sums;
  sums.queries = BoundedSums(size_of(problem.queries));
  sums.keys = BoundedSums(size_of(problem.keys));
  sums.values = BoundedSums(size_of(problem.values));
  sums.constant_keys = BoundedSums(size_of(problem.constant_keys.keys));
  sums.constant_values = BoundedSums(size_of(problem.constant_keys.values));
  sums.score_weights = BoundedSums(static_cast<int64_t>(problem.score_weights.size()));
  sums.sinks = BoundedSums(static_cast<int64_t>(problem.limits.sinks.size()));
  AttentionGradients result;
  result.scores = Bounded(static_cast<size_t>(num_rows * sizes.num_keys));
  result.products = Bounded(static_cast<size_t>(num_rows));
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      for (int64_t q = 0; q < sizes.num_queries; ++q)
        RowGradients(problem, forward, of_output, b, h, q).add_to(sums, result);
    }
  }
  result.queries = sums.queries.finish();
  result.keys = sums.keys.finish();
  result.values = sums.values.finish();
  result.constant_keys = sums.constant_keys.finish();
  result.constant_values = sums.constant_values.finish();
  result.score_weights = sums.score_weights.finish();
  result.sinks = sums.sinks.finish();
  add_terms(problem, result);
  return result;
}

Bounded sum_over_repeated(const Bounded& array, const std::array<int64_t, 4>& dims,
                          const std::array<int64_t, 4>& sums) {
  BoundedSums result(sums[0] * sums[1] * sums[2] * sums[3]);
  for (size_t i = 0; i < array.values.size(); ++i) {
    if (array.values[i] == 0.0 && array.errors[i] == 0.0) continue;
    auto rest = static_cast<int64_t>(i);
    int64_t element = 0;
    int64_t stride = 1;
    for (size_t axis = 4; axis-- > 0;) {
      if (sums[axis] != 1) element += rest % dims[axis] * stride;
      rest /= dims[axis];
      stride *= sums[axis];
    }
    result.add(element, array.values[i], array.errors[i]);
  }
  return result.finish();
}

}  // namespace heed::reference
