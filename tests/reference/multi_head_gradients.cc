// SPDX-License-Identifier: Apache-2.0
#include "reference/multi_head_gradients.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "reference/attention_gradients.h"
#include "reference/bounded_sum.h"
#include "reference/named_gradients.h"
#include "reference/positions.h"

namespace heed::reference {
namespace {

// Queries or keys on their way from rows to heads.
struct Way {
  const std::vector<double>& rows;         // (B, S, E)
  const Projection* projection = nullptr;  // NULL: not projected
  const HeadNorm* norm = nullptr;
  int64_t num_heads = 0;
  int64_t num_rows = 0;
  int64_t size = 0;  // of a head
  std::string name;  // of the projection
  std::string norm_name;
};

class Gradients {
 public:
  Gradients(const MultiHeadProblem& problem, const AfterStep& after_step)
      : problem_(problem), sizes_(problem.sizes), after_step_(after_step) {}

  NamedRows of(std::vector<double> of_output) {
    AttentionProblem heads = attention_of(problem_);
    for (Bounded* input : {&heads.queries, &heads.keys, &heads.values}) *input = exact(after_step_(std::move(*input)));
    clear_padding(of_output);
    const AttentionGradients gradients = attention_gradients(heads, of_heads(heads, of_output));
    const Way queries = {problem_.queries,
                         problem_.query_projection ? &*problem_.query_projection : nullptr,
                         norm_of(problem_.query_norm),
                         sizes_.num_heads,
                         sizes_.num_queries,
                         sizes_.head_size,
                         "W_q",
                         "q_norm"};
    const Way keys = {problem_.keys,
                      &problem_.key_projection,
                      norm_of(problem_.key_norm),
                      sizes_.num_kv_heads,
                      sizes_.num_keys,
                      sizes_.head_size,
                      "W_k",
                      "k_norm"};
    const Way values = {problem_.values, problem_.value_projection ? &*problem_.value_projection : nullptr,
                        nullptr,         sizes_.num_kv_heads,
                        sizes_.num_keys, sizes_.value_head_size,
                        "W_v",           ""};
    add_rows("queries", queries, unrotated(queries, gradients.queries, [&](int64_t b, int64_t q) {
               return query_position(sizes_, problem_.limits, b, q);
             }));
    add_rows("keys", keys, unrotated(keys, gradients.keys, [&](int64_t b, int64_t k) {
               return key_position(sizes_, problem_.limits, b, k);
             }));
    add_rows("values", values, after_step_(gradients.values));
    add_others(gradients);
    return std::move(result_);
  }

 private:
  static Bounded exact(std::vector<double> values) { return as_read(values, std::nullopt); }
  static const HeadNorm* norm_of(const std::optional<HeadNorm>& norm) { return norm ? &*norm : nullptr; }

  void clear_padding(std::vector<double>& of_output) const {
    const int64_t size =
        static_cast<int64_t>(of_output.size()) / std::max<int64_t>(1, sizes_.batch * sizes_.num_queries);
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      const int64_t first = (b * sizes_.num_queries + num_queries(sizes_, problem_.limits, b)) * size;
      std::fill(of_output.begin() + first, of_output.begin() + (b + 1) * sizes_.num_queries * size, 0.0);
    }
  }

  // Those of the heads' outputs.
  std::vector<double> of_heads(const AttentionProblem& heads, const std::vector<double>& of_output) {
    const int64_t size = sizes_.value_head_size;
    Bounded of_joined = exact(of_output);
    if (problem_.output_projection) {
      const Bounded output = attention(heads).output;
      const std::vector<double> joined =
          after_step_(swap_middle(output, sizes_.batch, sizes_.num_heads, sizes_.num_queries, size));
      const ProjectionGradients gradients = projection_gradients(*problem_.output_projection, joined, of_output);
      add_projection("W_o", *problem_.output_projection, gradients, after_step_, result_);
      of_joined = exact(after_step_(gradients.input));
    }
    return swap_middle(of_joined, sizes_.batch, sizes_.num_queries, sizes_.num_heads, size).values;
  }

  // A rotation's gradient is the rotation back, with the same factor.
  template <typename PositionOf>
  std::vector<double> unrotated(const Way& way, const Bounded& of_heads, PositionOf position_of) const {
    if (!problem_.rotary) return after_step_(of_heads);
    Bounded result = exact(after_step_(of_heads));
    const std::vector<Frequency> frequencies = rotary_frequencies(*problem_.rotary);
    for (int64_t row = 0; row * way.size < static_cast<int64_t>(result.values.size()); ++row) {
      double* const values = result.values.data() + row * way.size;
      if (is_zero_row(values, way.size)) continue;
      const int64_t b = row / (way.num_heads * way.num_rows);
      rotate(*problem_.rotary, frequencies, -position_of(b, row % way.num_rows), std::nullopt, values,
             result.errors.data() + row * way.size);
    }
    return after_step_(std::move(result));
  }

  // From gradients of rotated heads to those of the rows.
  void add_rows(const char* input, const Way& way, std::vector<double> of_heads) {
    if (way.norm != nullptr) {
      const Bounded projected = way.projection != nullptr
                                    ? project(*way.projection, exact(way.rows), sizes_.batch * way.num_rows)
                                    : exact(way.rows);
      const std::vector<double> heads =
          after_step_(swap_middle(projected, sizes_.batch, way.num_rows, way.num_heads, way.size));
      const NormGradients gradients =
          head_norm_gradients(*way.norm, way.num_heads, way.num_rows, way.size, heads, of_heads);
      add_norm(way.norm_name, gradients, way.size, after_step_, result_);
      of_heads = after_step_(gradients.rows);
    }
    const std::vector<double> joined =
        swap_middle(exact(std::move(of_heads)), sizes_.batch, way.num_heads, way.num_rows, way.size).values;
    if (way.projection == nullptr) {
      result_[input] = {joined, way.num_heads * way.size};
      return;
    }
    const ProjectionGradients gradients = projection_gradients(*way.projection, way.rows, joined);
    add_projection(way.name, *way.projection, gradients, after_step_, result_);
    result_[input] = {after_step_(gradients.input), way.projection->input_size};
  }

  void add_others(const AttentionGradients& gradients) {
    const auto add = [&](const char* name, const Bounded& gradient, int64_t size) {
      if (!gradient.values.empty()) result_[name] = {after_step_(gradient), size};
    };
    add("w_v.weight", gradients.score_weights, sizes_.head_size);
    add("sinks", gradients.sinks, sizes_.num_heads);
    add("relative_bias.weight", gradients.relative_bias, sizes_.num_heads);
    add("alibi_slopes", gradients.alibi_slopes, sizes_.num_heads);
    if (!problem_.limits.bias.empty()) add("bias", gradients.scores, sizes_.num_keys);
    const std::array<int64_t, 4> dims = {sizes_.batch, sizes_.num_heads, sizes_.num_queries, 1};
    add("head_gate", sum_over_repeated(gradients.products, dims, {sizes_.batch, sizes_.num_heads, 1, 1}),
        sizes_.num_heads);
    if (problem_.bias_key.empty()) return;
    add("bias_k", first_of_each_head(gradients.constant_keys, sizes_.head_size), sizes_.head_size);
    add("bias_v", first_of_each_head(gradients.constant_values, sizes_.value_head_size), sizes_.value_head_size);
  }

  // The key of zeros follows the one that is a parameter.
  Bounded first_of_each_head(const Bounded& constant, int64_t size) const {
    Bounded result;
    const auto of_head = static_cast<int64_t>(constant.values.size()) / sizes_.num_kv_heads;
    for (int64_t head = 0; head < sizes_.num_kv_heads; ++head) {
      for (const auto member : {&Bounded::values, &Bounded::errors}) {
        const auto first = (constant.*member).begin() + head * of_head;
        (result.*member).insert((result.*member).end(), first, first + size);
      }
    }
    return result;
  }

  const MultiHeadProblem& problem_;
  const AttentionSizes& sizes_;
  const AfterStep& after_step_;
  NamedRows result_;
};

}  // namespace

NamedRows multi_head_gradients(const MultiHeadProblem& problem, const std::vector<double>& of_output,
                               const AfterStep& after_step) {
  return Gradients(problem, after_step).of(of_output);
}

}  // namespace heed::reference
