// SPDX-License-Identifier: Apache-2.0
#include "reference/transformer_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "reference/error_bound.h"
#include "reference/feed_forward_gradients.h"
#include "reference/multi_head_gradients.h"
#include "reference/named_gradients.h"
#include "reference/positions.h"

namespace heed::reference {
namespace {

MultiHeadProblem with_rows(MultiHeadProblem attention, const std::vector<double>& queries,
                           const std::vector<double>& keys) {
  attention.queries = queries;
  attention.keys = attention.values = keys;
  return attention;
}

std::vector<double> scaled(double factor, const std::vector<double>& rows, const AfterStep& after_step) {
  if (factor == 1) return rows;
  Bounded result(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    result.values[i] = factor * rows[i];
    result.errors[i] = kUnitRoundoff * std::fabs(result.values[i]);
  }
  return after_step(std::move(result));
}

int64_t num_rows(const TransformerLayer& layer) {
  return layer.self_attention.sizes.batch * layer.self_attention.sizes.num_queries;
}

// Of rows beyond the queries of a batch element nothing is passed on.
void clear_padding(const TransformerLayer& layer, std::vector<double>& of_rows) {
  const AttentionSizes& sizes = layer.self_attention.sizes;
  const int64_t size = static_cast<int64_t>(of_rows.size()) / std::max<int64_t>(1, num_rows(layer));
  for (int64_t b = 0; b < sizes.batch; ++b) {
    const int64_t first = b * sizes.num_queries + num_queries(sizes, layer.self_attention.limits, b);
    std::fill(of_rows.begin() + first * size, of_rows.begin() + (b + 1) * sizes.num_queries * size, 0.0);
  }
}

// What a part of a layer, which is an attention or the network with what is around it, reads and computes.
struct PartOfForward {
  std::vector<double> rows;      // before the part
  std::vector<double> input;     // after its norm, if that comes first
  std::vector<double> unnormed;  // its output, before the norm of outputs
  std::vector<double> sum;       // with the residual
};

class LayerGradients {
 public:
  LayerGradients(const TransformerLayer& layer, const std::vector<double>& encoder_rows, const AfterStep& after_step)
      : layer_(layer), encoder_rows_(encoder_rows), after_step_(after_step) {}

  std::vector<double> forward(std::vector<double> rows) {
    for (size_t i = 0; i < layer_.norms.size(); ++i) {
      PartOfForward part;
      part.rows = std::move(rows);
      part.input = is_normed_first(i) ? after_step_(normalize(*layer_.norms[i], part.rows)) : part.rows;
      part.unnormed = scaled(layer_.residual_scale, after_step_(output_of(i, part.input)), after_step_);
      Bounded output = as_read(part.unnormed, std::nullopt);
      if (!layer_.output_norms.empty()) output = normalize(layer_.output_norms[i], part.unnormed);
      drop(layer_.dropouts[i], output, std::nullopt);
      part.sum = added(part.rows, after_step_(std::move(output)), after_step_);
      rows = layer_.norm_first ? part.sum : after_step_(normalize(*layer_.norms[i], part.sum));
      parts_.push_back(std::move(part));
    }
    return rows;
  }

  NamedRows backward(std::vector<double> of_rows) {
    clear_padding(layer_, of_rows);
    for (size_t i = layer_.norms.size(); i-- > 0;) {
      const PartOfForward& part = parts_[i];
      if (!layer_.norm_first) of_rows = through_norm("norm_", i, *layer_.norms[i], part.sum, of_rows);
      std::vector<double> of_part = after_step_(dropout_gradient(layer_.dropouts[i], of_rows));
      if (!layer_.output_norms.empty())
        of_part = through_norm("output_norm_", i, layer_.output_norms[i], part.unnormed, of_part);
      of_part = through_part(i, part.input, scaled(layer_.residual_scale, of_part, after_step_));
      if (is_normed_first(i)) of_part = through_norm("norm_", i, *layer_.norms[i], part.rows, of_part);
      of_rows = added(of_rows, of_part, after_step_);
    }
    result_["queries"] = {of_rows, static_cast<int64_t>(of_rows.size()) / std::max<int64_t>(1, num_rows(layer_))};
    return std::move(result_);
  }

 private:
  bool is_normed_first(size_t i) const { return layer_.norm_first && layer_.norms[i].has_value(); }
  bool is_network(size_t i) const { return i + 1 == layer_.norms.size(); }
  bool is_cross(size_t i) const { return i == 1 && layer_.cross_attention.has_value(); }

  MultiHeadProblem attention_at(size_t i, const std::vector<double>& input) const {
    return is_cross(i) ? with_rows(*layer_.cross_attention, input, encoder_rows_)
                       : with_rows(layer_.self_attention, input, input);
  }

  Bounded output_of(size_t i, const std::vector<double>& input) const {
    return is_network(i) ? feed_forward(layer_.feed_forward, input)
                         : multi_head_attention(attention_at(i, input)).output;
  }

  std::vector<double> through_norm(const std::string& name, size_t i, const Norm& norm, const std::vector<double>& rows,
                                   const std::vector<double>& of_output) {
    const NormGradients gradients = norm_gradients(norm, rows, of_output);
    add_norm(name + std::to_string(i + 1), gradients, static_cast<int64_t>(norm.weight.size()), after_step_, result_);
    return after_step_(gradients.rows);
  }

  std::vector<double> through_part(size_t i, const std::vector<double>& input, const std::vector<double>& of_output) {
    NamedRows gradients = is_network(i) ? feed_forward_gradients(layer_.feed_forward, input, of_output, after_step_)
                                        : multi_head_gradients(attention_at(i, input), of_output, after_step_);
    std::vector<double> of_input = take("queries", gradients);
    if (!is_network(i)) {
      std::vector<double> of_keys = take("keys", gradients);
      of_keys = added(of_keys, take("values", gradients), after_step_);
      if (is_cross(i)) {
        const int64_t num_keys = layer_.cross_attention->sizes.batch * layer_.cross_attention->sizes.num_keys;
        result_["keys"] = {of_keys, static_cast<int64_t>(of_keys.size()) / std::max<int64_t>(1, num_keys)};
      } else {
        of_input = added(of_input, of_keys, after_step_);
      }
    }
    add_below(is_network(i) ? "feed_forward."
              : is_cross(i) ? "cross_attention."
                            : "self_attention.",
              gradients, result_);
    return of_input;
  }

  static std::vector<double> take(const std::string& name, NamedRows& gradients) {
    std::vector<double> values = std::move(gradients.at(name).values);
    gradients.erase(name);
    return values;
  }

  const TransformerLayer& layer_;
  const std::vector<double>& encoder_rows_;
  const AfterStep& after_step_;
  std::vector<PartOfForward> parts_;
  NamedRows result_;
};

}  // namespace

NamedRows transformer_gradients(const TransformerLayer& layer, const std::vector<double>& rows,
                                const std::vector<double>& encoder_rows, const std::vector<double>& of_output,
                                const AfterStep& after_step) {
  LayerGradients gradients(layer, encoder_rows, after_step);
  gradients.forward(rows);
  return gradients.backward(of_output);
}

NamedRows transformer_gradients(const TransformerStack& stack, const std::vector<double>& rows,
                                const std::vector<double>& encoder_rows, const std::vector<double>& of_output,
                                const AfterStep& after_step) {
  std::vector<LayerGradients> layers;
  std::vector<double> between = rows;
  for (const TransformerLayer& layer : stack.layers) {
    layers.emplace_back(layer, encoder_rows, after_step);
    between = layers.back().forward(std::move(between));
  }
  NamedRows result;
  std::vector<double> of_rows = of_output;
  clear_padding(stack.layers.back(), of_rows);
  if (stack.final_norm) {
    const NormGradients gradients = norm_gradients(*stack.final_norm, between, of_rows);
    add_norm("norm", gradients, static_cast<int64_t>(stack.final_norm->weight.size()), after_step, result);
    of_rows = after_step(gradients.rows);
  }
  Rows of_encoder;
  for (size_t i = layers.size(); i-- > 0;) {
    NamedRows gradients = layers[i].backward(std::move(of_rows));
    of_rows = gradients.at("queries").values;
    if (i > 0) gradients.erase("queries");
    const auto keys = gradients.find("keys");
    if (keys != gradients.end()) {
      of_encoder.size = keys->second.size;
      of_encoder.values =
          of_encoder.values.empty() ? keys->second.values : added(of_encoder.values, keys->second.values, after_step);
      gradients.erase(keys);
    }
    if (i == 0) {
      result["queries"] = gradients.at("queries");
      gradients.erase("queries");
    }
    add_below("layers." + std::to_string(i) + ".", gradients, result);
  }
  if (!of_encoder.values.empty()) result["keys"] = of_encoder;
  return result;
}

}  // namespace heed::reference
