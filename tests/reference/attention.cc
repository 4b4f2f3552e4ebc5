// SPDX-License-Identifier: Apache-2.0
#include "reference/attention.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reference/error_bound.h"
#include "reference/narrow_bound.h"
#include "reference/philox.h"
#include "reference/positions.h"
#include "reference/sum_of_products.h"
#include "reference/visibility.h"

namespace heed::reference {
namespace {

using Vector = Eigen::ArrayXd;
using ConstRow = Eigen::Map<const Vector>;
using Row = Eigen::Map<Vector>;

// A smaller weight may be 0 in f32, so that its product with an infinite value may be NaN.
constexpr double kSmallestSureWeight = 0x1p-98;

// The exponential of a score that is this much below the largest is 0 in f32.
constexpr double kNegligible = 110.0;

// Row `index` of a dense (..., size) array.
ConstRow row_of(const std::vector<double>& array, int64_t index, int64_t size) {
  return ConstRow(array.data() + index * size, size);
}

Row row_of(std::vector<double>& array, int64_t index, int64_t size) { return Row(array.data() + index * size, size); }

// Which rows of a batch element read a key. A device does not read a key that no row needs.
enum class Interest : uint8_t { None, MeanOfAll, Seen };

// For each batch element and key.
std::vector<Interest> interests(const AttentionProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  std::vector<Interest> interests(static_cast<size_t>(sizes.batch * sizes.num_keys));
  for (int64_t b = 0; b < sizes.batch; ++b) {
    const auto of_batch_element = interests.begin() + b * sizes.num_keys;
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      for (int64_t q = 0; q < num_queries(sizes, problem.limits, b); ++q) {
        bool is_empty = problem.constant_keys.count == 0;
        for (int64_t k = 0; k < sizes.num_keys; ++k) {
          if (!is_visible(problem, b, h, q, k)) continue;
          of_batch_element[k] = Interest::Seen;
          is_empty = false;
        }
        if (is_empty && problem.options.empty_rows == EmptyRows::Mean)
          std::replace(of_batch_element, of_batch_element + num_keys(sizes, problem.limits, b), Interest::None,
                       Interest::MeanOfAll);
      }
    }
  }
  return interests;
}

// Solves one row: query q of head h of batch element b.
class RowSolver {
 public:
  // `interests` is read only if there is a compute format.
  RowSolver(const AttentionProblem& problem, const std::vector<Interest>& interests, int64_t b, int64_t h, int64_t q)
      : problem_(problem),
        sizes_(problem.sizes),
        options_(problem.options),
        interests_(interests),
        b_(b),
        h_(h),
        q_(q),
        num_keys_(num_keys(sizes_, problem.limits, b)),
        num_columns_(sizes_.num_keys + problem.constant_keys.count),
        zeros_(Vector::Zero(std::max(sizes_.head_size, sizes_.value_head_size))) {
    const int64_t kv_head = h / (sizes_.num_heads / sizes_.num_kv_heads);
    first_key_ = (b * sizes_.num_kv_heads + kv_head) * sizes_.num_keys;
    first_constant_key_ = kv_head * problem.constant_keys.count;
    row_ = (b * sizes_.num_heads + h) * sizes_.num_queries + q;
    for (int64_t k = 0; k < sizes_.num_keys; ++k) {
      if (is_visible(problem, b, h, q, k)) {
        visible_.push_back(k);
      } else if (problem.compute_format && interest(k) != Interest::None) {
        masked_.push_back(k);
      }
    }
    for (int64_t k = sizes_.num_keys; q < num_queries(sizes_, problem.limits, b) && k < num_columns_; ++k)
      visible_.push_back(k);
  }

  void solve(AttentionResult& result) {
    weights_ = Vector::Zero(num_columns_);
    if (q_ >= num_queries(sizes_, problem_.limits, b_)) {
      log_sum_exp_ = -kInfinity;
    } else if (visible_.empty()) {
      solve_empty();
    } else {
      solve_seen();
    }
    if (problem_.compute_format) {
      look_at_masked_keys();
      write_may_be_nan(result);
      if (is_known_) bound_narrow();
    }
    if (!is_known_) {
      write_unknown(result);
      return;
    }
    row_of(result.weights.values, row_, num_columns_) = weights_;
    row_of(result.weights.errors, row_, num_columns_) = weight_errors();
    result.log_sum_exp.values[static_cast<size_t>(row_)] = log_sum_exp_;
    result.log_sum_exp.errors[static_cast<size_t>(row_)] = log_sum_exp_error();
    write_output(row_of(result.output.values, row_, sizes_.value_head_size),
                 row_of(result.output.errors, row_, sizes_.value_head_size));
  }

 private:
  // Rule 7. The mean treats every key as visible, also hidden ones. Otherwise the output stays 0.
  void solve_empty() {
    is_empty_ = true;
    log_sum_exp_ = sink();
    RowMagnitudes magnitudes;
    if (std::isfinite(sink())) magnitudes.scores = std::fabs(sink());
    exponent_ = row_exponent(constants(), magnitudes);
    if (options_.empty_rows == EmptyRows::Zero) return;
    for (int64_t k = 0; k < num_keys_; ++k) visible_.push_back(k);
    for (int64_t k : visible_) weights_[k] = 1.0 / static_cast<double>(num_keys_);
    magnitudes_.resize(visible_.size());
  }

  // Rules 2, 3 and 8.
  void solve_seen() {
    RowMagnitudes magnitudes;
    magnitudes.scores = std::fabs(options_.soft_cap);
    if (std::isfinite(sink())) magnitudes.scores = std::max(magnitudes.scores, std::fabs(sink()));
    Vector scores(static_cast<int64_t>(visible_.size()));
    magnitudes_.resize(visible_.size());
    for (int64_t i = 0; i < scores.size(); ++i) {
      const auto index = static_cast<size_t>(i);
      scores[i] = score(visible_[index], magnitudes, magnitudes_[index]);
      // A device treats an infinite key as NaN.
      if (problem_.compute_format && scores[i] == -kInfinity) row_may_be_nan_ = true;
    }
    exponent_ = row_exponent(constants(), magnitudes);
    largest_terms_ = magnitudes.terms + magnitudes.inherited;
    const double largest_score = scores.maxCoeff<Eigen::PropagateNaN>();
    const double maximum = std::isnan(sink()) || sink() > largest_score ? sink() : largest_score;
    if (!std::isfinite(maximum)) {
      for (int64_t k : visible_) weights_[k] = kNaN;
      log_sum_exp_ = kNaN;
      return;
    }
    const Vector exponentials = (scores - maximum).unaryExpr([](double x) { return std::exp(x); });
    const double sum = exponentials.sum() + std::exp(sink() - maximum);
    for (int64_t i = 0; i < scores.size(); ++i) weights_[visible_[static_cast<size_t>(i)]] = exponentials[i] / sum;
    log_sum_exp_ = maximum + std::log(sum);
  }

  // Rule 3 up to "hide". Also records the magnitudes that the bound needs for this key.
  double score(int64_t k, RowMagnitudes& magnitudes, KeyMagnitudes& of_key) {
    const ConstRow query = row_of(problem_.queries.values, row_, sizes_.head_size);
    const ConstRow query_error = errors_of(problem_.queries, row_, sizes_.head_size);
    const auto [key, key_error] = key_at(k);
    const double scale = this->scale();
    const double cap = options_.soft_cap;

    const double largest_factor = std::max(1.0, std::fabs(scale));
    auto num_underflows = static_cast<double>(sizes_.head_size);
    Outcome outcome;
    if (options_.scoring == Scoring::DotProduct) {
      terms_ = query * key;
      term_errors_ = query_error * key.abs() + query.abs() * key_error + query_error * key_error;
      outcome = outcome_of_sum(terms_, query, query_error, key, key_error, largest_factor);
    } else {
      const ConstRow weights = row_of(problem_.score_weights, h_, sizes_.head_size);
      terms_ = weights * (query + key).unaryExpr([](double x) { return std::tanh(x); });
      term_errors_ = weights.abs() * (query_error + key_error);
      num_underflows += kTanhUlps * weights.abs().sum();
      outcome = outcome_of_sum(terms_, weights, Vector::Zero(sizes_.head_size), query + key, query_error + key_error,
                               largest_factor);
    }
    double score = terms_.sum() * scale;
    of_key.scaled = score;
    of_key.score = -kInfinity;
    if (cap != 0.0) score = cap * std::tanh(score / cap);
    double added_error = 0.0;
    const bool adds_terms = !is_constant(k);
    if (adds_terms && !problem_.limits.alibi_slopes.empty()) {
      const double term = -problem_.limits.alibi_slopes[static_cast<size_t>(h_)] * std::fabs(distance_to(k));
      // The roundings of the term: of the distance, of its index in the block, of the product, and of the slope.
      if (std::isfinite(term)) added_error += kUnitRoundoff * (4.0 + problem_.limits.slope_roundings) * std::fabs(term);
      add(term, score, of_key, added_error);
    }
    const RelativeBias& relative = problem_.limits.relative_bias;
    if (adds_terms && !relative.weight.empty()) {
      const int64_t bucket = relative_bucket(relative, static_cast<int64_t>(distance_to(k)));
      add(relative.weight[static_cast<size_t>(bucket * sizes_.num_heads + h_)], score, of_key, added_error);
    }
    if (adds_terms && !problem_.limits.bias.empty()) {
      const double bias = problem_.limits.bias[static_cast<size_t>(row_ * sizes_.num_keys + k)];
      of_key.bias += bias;
      score += bias;
    }
    if (outcome == Outcome::Unknown) is_known_ = false;
    if (score == -kInfinity) return score;  // weight 0, so this key adds nothing to the bound
    magnitudes.scores = std::max(magnitudes.scores, std::fabs(score));
    if (outcome == Outcome::SameAsF64 || !std::isfinite(score)) return score;

    const double magnitude = terms_.abs().sum();
    const double inherited = term_errors_.sum();
    magnitudes.terms = std::max(magnitudes.terms, std::fabs(scale) * magnitude);
    magnitudes.inherited = std::max(magnitudes.inherited, std::fabs(scale) * inherited + added_error);
    // The scaled query may underflow, and the error is multiplied by the key.
    const double of_queries = options_.scoring == Scoring::DotProduct ? key.abs().sum() : 0.0;
    of_key.underflow = (num_underflows * std::fabs(scale) + of_queries + std::fabs(cap) + 2.0) * underflow_error();
    magnitudes.underflow = std::max(magnitudes.underflow, of_key.underflow);
    of_key.score = score;
    of_key.terms = std::fabs(scale) * magnitude;
    of_key.inherited = std::fabs(scale) * inherited + added_error;
    of_key.key = of_queries + key_error.sum();
    const double largest = (magnitude + inherited) * largest_factor + std::fabs(score);
    if (!(largest <= kLargestCovered)) is_known_ = false;
    return score;
  }

  // Adds a term to a score. A bias that is added later may cancel the sum, but not its rounding.
  static void add(double term, double& score, KeyMagnitudes& of_key, double& added_error) {
    score += term;
    of_key.bias += term;
    if (std::isfinite(score)) added_error += kUnitRoundoff * std::fabs(score);
  }

  // From the query to key k.
  double distance_to(int64_t k) const {
    return static_cast<double>(key_position(sizes_, problem_.limits, b_, k) -
                               query_position(sizes_, problem_.limits, b_, q_));
  }

  // The sink of the row's head; -infinity without one.
  double sink() const {
    return problem_.limits.sinks.empty() ? -kInfinity : problem_.limits.sinks[static_cast<size_t>(h_)];
  }

  // Row `index` of the input's errors.
  ConstRow errors_of(const Bounded& input, int64_t index, int64_t size) const {
    return input.errors.empty() ? ConstRow(zeros_.data(), size) : row_of(input.errors, index, size);
  }

  // The elements of a key or value, and their errors.
  struct BoundedRow {
    ConstRow values;
    ConstRow errors;
  };
  BoundedRow row_at(const Bounded& input, int64_t index, int64_t size) const {
    return {row_of(input.values, index, size), errors_of(input, index, size)};
  }
  BoundedRow key_at(int64_t k) const {
    if (is_constant(k))
      return row_at(problem_.constant_keys.keys, first_constant_key_ + k - sizes_.num_keys, sizes_.head_size);
    return row_at(problem_.keys, first_key_ + k, sizes_.head_size);
  }
  BoundedRow value_at(int64_t k) const {
    if (is_constant(k))
      return row_at(problem_.constant_keys.values, first_constant_key_ + k - sizes_.num_keys, sizes_.value_head_size);
    return row_at(problem_.values, first_key_ + k, sizes_.value_head_size);
  }
  bool is_constant(int64_t k) const { return k >= sizes_.num_keys; }

  Interest interest(int64_t k) const { return interests_[static_cast<size_t>(b_ * sizes_.num_keys + k)]; }

  double scale() const {
    return options_.scale != 0.0 ? options_.scale : 1.0 / std::sqrt(static_cast<double>(sizes_.head_size));
  }

  // How keys that are hidden from this row, but visible to other rows of the batch element, can change its output on a
  // device: the device computes their scores and values, and adds a mask. The scores must be small enough for the mask
  // to hide them.
  void look_at_masked_keys() {
    if (visible_.empty() || std::isnan(log_sum_exp_)) return;
    const bool is_mean = is_empty_;
    const Format format = *problem_.compute_format;
    const ConstRow query = row_of(problem_.queries.values, row_, sizes_.head_size);
    const ConstRow query_error = errors_of(problem_.queries, row_, sizes_.head_size);
    for (int64_t k : masked_) {
      const auto [key, key_error] = key_at(k);
      const auto [value, value_error] = value_at(k);
      // A device replaces keys that only a mean needs by zeros. A row of the mean needs no value but its own.
      const bool has_key = interest(k) == Interest::Seen && !(key.isFinite().all() && key_error.isFinite().all());
      const bool has_value = !is_mean && !(value.isFinite().all() && value_error.isFinite().all());
      may_be_nan_ = may_be_nan_ || has_key || has_value;
      if (has_key || interest(k) != Interest::Seen || is_mean) continue;
      if (options_.scoring == Scoring::Additive) continue;  // computed by the CPU
      const double sum = ((query.abs() + query_error) * (key.abs() + key_error)).sum();
      const double terms = std::fabs(scale()) * sum;
      if (!(std::max(terms, sum) <= kLargestCovered / 2.0)) is_known_ = false;
      masks_hide_ = masks_hide_ && terms + largest_terms_ + kNegligible <= largest_number(format);
    }
  }

  void bound_narrow() {
    if (visible_.empty() || std::isnan(log_sum_exp_)) return;
    if (std::isfinite(sink()) && !is_empty_) {
      KeyMagnitudes of_sink;
      of_sink.score = of_sink.scaled = sink();
      magnitudes_.push_back(of_sink);
    }
    NarrowRowParameters parameters;
    parameters.format = *problem_.compute_format;
    parameters.constants = constants();
    parameters.num_keys = num_columns_;
    parameters.scale = scale();
    parameters.soft_cap = std::fabs(options_.soft_cap);
    parameters.has_bias = problem_.limits.add_to_scores();
    fused_ = with_rounded_probabilities(parameters, fused_weights(parameters, magnitudes_));
    unfused_ = unfused_weights(parameters, magnitudes_);
    const bool adds_mask = parameters.has_bias || !problem_.limits.mask.empty();
    if (adds_mask && !masks_hide_) fused_->is_known = false;
  }

  void write_may_be_nan(AttentionResult& result) const {
    if (may_be_nan_ || row_may_be_nan_)
      std::fill_n(result.output.may_be_nan.begin() + row_ * sizes_.value_head_size, sizes_.value_head_size, uint8_t{1});
    if (!row_may_be_nan_) return;
    for (int64_t k : visible_) result.weights.may_be_nan[static_cast<size_t>(row_ * num_columns_ + k)] = 1;
    result.log_sum_exp.may_be_nan[static_cast<size_t>(row_)] = 1;
  }

  // f32 could give any score in this row, so only the weights of hidden keys are known.
  void write_unknown(AttentionResult& result) const {
    for (int64_t k : visible_) row_of(result.weights.errors, row_, num_columns_)[k] = kInfinity;
    result.log_sum_exp.errors[static_cast<size_t>(row_)] = kInfinity;
    row_of(result.output.errors, row_, sizes_.value_head_size).setConstant(kInfinity);
  }

  double inverse_kept() const { return options_.drops() ? 1.0 / (1.0 - options_.dropout) : 1.0; }

  bool is_kept(int64_t k) const {
    const int64_t number = is_constant(k) ? num_keys_ + k - sizes_.num_keys : k;
    return !options_.drops() || dropout_keeps(options_.dropout_seed, options_.dropout, b_, h_, q_, number);
  }

  // Like write_output, with intervals of the weights and with the roundings of the format.
  void write_narrow_output(Row output, Row error) const {
    const Format format = *problem_.compute_format;
    // The smallest probability that the format certainly does not round to 0.
    const double smallest_sure = std::max(2.0 * smallest_number(format), kSmallestSureWeight);
    const auto num_keys = static_cast<double>(num_columns_);
    Vector sum = Vector::Zero(sizes_.value_head_size);
    Vector off = sum;
    Vector magnitude = sum;
    Vector largest = sum;
    Vector unsure = sum;
    for (size_t i = 0; i < visible_.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      const int64_t k = visible_[i];
      const auto [value, value_error] = value_at(k);
      const double kept = is_kept(k) ? 1.0 : 0.0;
      sum += weights_[k] * kept * value;
      magnitude += value.abs() + value_error;
      largest = largest.max(value_error);
      const double change = std::max(fused_->high[index] - weights_[k], weights_[k] - fused_->low[index]);
      off += kept * (change * (value.abs() + value_error) + weights_[k] * value_error);
      if (kept != 0.0 && fused_->low[index] < smallest_sure) unsure += value.isInf().cast<double>();
    }
    for (int64_t k : masked_) {
      const ConstRow value = value_at(k).values;
      magnitude += value.isFinite().select(value.abs(), 0.0);
    }
    output = sum * inverse_kept();
    const double underflow = (2.0 * num_keys + 8.0) * underflow_error();
    error = inverse_kept() * (off + underflow);
    for (int64_t d = 0; d < sizes_.value_head_size; ++d) {
      if (!std::isfinite(largest[d]) || !fused_->is_known) {
        output[d] = 0.0;
        error[d] = kInfinity;
      } else if (unsure[d] != 0.0 && !std::isnan(output[d])) {
        output[d] = kNaN;
        error[d] = kInfinity;
      } else if (!std::isfinite(output[d])) {
        error[d] = 0.0;
      } else {
        error[d] = magnitude[d] <= kLargestCovered ? error_after_rounding(format, output[d], error[d]) : kInfinity;
      }
    }
  }

  // Rules 8 and 11: a dropped weight is multiplied by 0, hidden keys take no part.
  void write_output(Row output, Row error) const {
    if (fused_) {
      write_narrow_output(output, error);
      return;
    }
    Vector sum = Vector::Zero(sizes_.value_head_size);
    Vector largest = sum;
    Vector inherited = sum;
    Vector unsure = sum;
    const double smallest_part = std::exp(-exponent_);  // the fraction of a weight that f32 certainly keeps
    for (int64_t k : visible_) {
      const auto [value, value_error] = value_at(k);
      const bool kept = is_kept(k);
      sum += weights_[k] * (kept ? 1.0 : 0.0) * value;
      largest = largest.max(value.abs());
      inherited = inherited.max(value_error);
      if (kept && weights_[k] > 0.0 && weights_[k] * smallest_part < kSmallestSureWeight)
        unsure += value.isInf().cast<double>();
    }
    output = sum * inverse_kept();
    if (visible_.empty()) return;
    const double underflow = (constants().c3 + 2.0) * underflow_error();
    const double left_out = 3.0 * static_cast<double>(num_keys_ + problem_.constant_keys.count) * kLeastExponential;
    error = inverse_kept() * ((largest + inherited) * (std::expm1(exponent_) + left_out) + inherited + underflow);
    for (int64_t d = 0; d < sizes_.value_head_size; ++d) {
      if (!std::isfinite(inherited[d])) {
        output[d] = 0.0;
        error[d] = kInfinity;
      } else if (unsure[d] != 0.0 && !std::isnan(output[d])) {
        output[d] = kNaN;
        error[d] = kInfinity;
      } else if (!std::isfinite(output[d])) {
        error[d] = 0.0;
      }
    }
  }

  Vector weight_errors() const {
    Vector errors = Vector::Zero(num_columns_);
    if (std::isnan(log_sum_exp_)) return errors;
    if (unfused_) {
      for (size_t i = 0; i < visible_.size(); ++i) {
        const auto index = static_cast<int64_t>(i);
        const double weight = weights_[visible_[i]];
        errors[visible_[i]] =
            unfused_->is_known ? std::max(unfused_->high[index] - weight, weight - unfused_->low[index]) : kInfinity;
      }
      return errors;
    }
    for (int64_t k : visible_) errors[k] = weights_[k] * std::expm1(exponent_) + 2.0 * underflow_error();
    return errors;
  }

  double log_sum_exp_error() const {
    if (!std::isfinite(log_sum_exp_)) return 0.0;
    if (unfused_) return unfused_->is_known ? unfused_->log_sum_exp_error : kInfinity;
    return exponent_ + kSecondOrder * kUnitRoundoff * std::fabs(log_sum_exp_);
  }

  BoundConstants constants() const {
    BoundParameters parameters;
    parameters.scoring = options_.scoring;
    parameters.head_size = sizes_.head_size;
    parameters.num_keys = num_keys_;
    parameters.has_soft_cap = options_.soft_cap != 0.0;
    parameters.has_bias = problem_.limits.add_to_scores();
    parameters.drops = options_.drops();
    parameters.has_sink = !problem_.limits.sinks.empty();
    parameters.num_constant_keys = problem_.constant_keys.count;
    return bound_constants(parameters);
  }

  const AttentionProblem& problem_;
  const AttentionSizes& sizes_;
  const AttentionOptions& options_;
  const std::vector<Interest>& interests_;
  int64_t b_, h_, q_;
  int64_t num_keys_;       // of the batch element
  int64_t num_columns_;    // in a row of weights
  int64_t row_ = 0;        // index in queries, output, weights and log_sum_exp
  int64_t first_key_ = 0;  // the row of keys and values that is key 0
  int64_t first_constant_key_ = 0;
  std::vector<int64_t> visible_;
  std::vector<KeyMagnitudes> magnitudes_;  // of each visible key; for the narrow bound of the sink, too
  // Hidden from this row, but another row of the batch element reads them; only with a compute format.
  std::vector<int64_t> masked_;
  Vector weights_;
  double log_sum_exp_ = 0.0;
  double exponent_ = 0.0;
  bool is_known_ = true;
  bool is_empty_ = false;

  Vector zeros_;  // the errors of a row that is read exactly
  // Of the score of one key; members, so that they are allocated once for all keys.
  Vector terms_;
  Vector term_errors_;

  // Only with a compute format.
  double largest_terms_ = 0.0;  // S plus the errors of its operands
  bool masks_hide_ = true;
  bool may_be_nan_ = false;      // only the output
  bool row_may_be_nan_ = false;  // all results of the row
  std::optional<NarrowWeights> fused_;
  std::optional<NarrowWeights> unfused_;
};

}  // namespace

Bounded as_read(const std::vector<double>& values, std::optional<Format> compute_format) {
  Bounded result;
  result.values = values;
  result.errors.assign(values.size(), 0.0);
  for (size_t i = 0; compute_format && i < values.size(); ++i) {
    if (std::isfinite(values[i])) result.errors[i] = std::fabs(round_to(*compute_format, values[i]) - values[i]);
  }
  return result;
}

AttentionResult attention(const AttentionProblem& problem) {
  const AttentionSizes& sizes = problem.sizes;
  const auto rows = static_cast<size_t>(sizes.batch * sizes.num_heads * sizes.num_queries);
  AttentionResult result;
  result.output = Bounded(rows * static_cast<size_t>(sizes.value_head_size));
  result.weights = Bounded(rows * static_cast<size_t>(sizes.num_keys + problem.constant_keys.count));
  result.log_sum_exp = Bounded(rows);
  std::vector<Interest> of_keys;
  if (problem.compute_format) {
    of_keys = interests(problem);
    for (Bounded* bounded : {&result.output, &result.weights, &result.log_sum_exp})
      bounded->may_be_nan.resize(bounded->values.size());
  }
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      for (int64_t q = 0; q < sizes.num_queries; ++q) RowSolver(problem, of_keys, b, h, q).solve(result);
    }
  }
  return result;
}

}  // namespace heed::reference
