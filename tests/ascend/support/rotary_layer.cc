// SPDX-License-Identifier: Apache-2.0
#include "ascend/support/rotary_layer.h"

#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "ascend/support/explained.h"
#include "reference/error_bound.h"

namespace heed::ascend_test {
namespace {

constexpr int64_t kEmbeddingSize = 24;
// The bound adds up the worst of all roundings, which hardly meet. Of several keys the mean error is at most 0.004 of the
// bound in all cases here; positions that are off by one make it 0.012 and more.
constexpr double kMeanFraction = 0.008;

using reference::Bounded;
using reference::Format;

Format format_of(heed_dtype dtype) { return dtype == HEED_F16 ? Format::F16 : Format::BF16; }

int64_t rotary_size_of(const RotaryCase& call) {
  return call.rotary_size == 0 ? call.head_size - call.rotary_offset : call.rotary_size;
}

Layer make_rotary_layer(heed_context* context, const RotaryCase& call) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = call.layout;
  rope.rotary_size = call.rotary_size;
  rope.rotary_offset = call.rotary_offset;
  rope.base = call.base;
  rope.attention_factor = call.attention_factor;
  std::vector<float> factors(static_cast<size_t>(rotary_size_of(call) / 2), 1.0f);
  if (call.last_factor != 1) {
    factors.back() = call.last_factor;
    rope.scaling = HEED_ROPE_SCALING_FACTORS;
    rope.num_factors = static_cast<int64_t>(factors.size());
    rope.factors = factors.data();
  }
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = call.num_heads;
  options.num_kv_heads = call.num_kv_heads;
  options.head_size = call.head_size;
  options.biases = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V;
  options.no_output_projection = call.has_output_projection ? 0 : 1;
  options.output_size = call.has_output_projection ? kEmbeddingSize : 0;
  options.causal = call.causal;
  options.qk_norm_epsilon = call.epsilon;
  options.qk_norm = call.has_layer_norm ? HEED_QK_NORM_LAYER : HEED_QK_NORM_RMS;
  options.alibi = call.alibi;
  if (call.layout != 0) options.rope = &rope;
  return capi_test::make_multi_head(context, options);
}

// (outer, a, b, size) as (outer, b, a, size).
Bounded swapped(const Bounded& from, int64_t outer, int64_t a, int64_t b, int64_t size) {
  Bounded to(from.values.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < a; ++i) {
      for (int64_t j = 0; j < b; ++j) {
        for (int64_t d = 0; d < size; ++d) {
          const auto source = static_cast<size_t>(((o * a + i) * b + j) * size + d);
          const auto target = static_cast<size_t>(((o * b + j) * a + i) * size + d);
          to.values[target] = from.values[source];
          to.errors[target] = from.errors[source];
        }
      }
    }
  }
  return to;
}

// The norm of one head, in place, by the section "Norms and rotary positions" of the error bound on Ascend.
void normalize(Format format, bool has_layer_norm, double epsilon, const double* weight, int64_t size, double* x,
               double* error) {
  const double u = reference::kUnitRoundoff;
  const auto n = static_cast<double>(size);
  double mean = 0.0;
  double mean_error = 0.0;
  for (int64_t d = 0; d < size; ++d) {
    mean += has_layer_norm ? x[d] / n : 0.0;
    mean_error += has_layer_norm ? (error[d] + (n + 1) * u * std::fabs(x[d])) / n : 0.0;
  }
  double squares = 0.0;
  double moved = 0.0;
  for (int64_t d = 0; d < size; ++d) {
    x[d] -= mean;
    error[d] += mean_error + u * std::fabs(x[d]);
    squares += x[d] * x[d] / n;
    moved += (2 * std::fabs(x[d]) * error[d] + error[d] * error[d]) / n;
  }
  const double root = std::sqrt(squares + epsilon);
  // The largest relative change of 1 / root, with the roundings of sum, mean, root and division.
  const double lowest = std::max(0.0, squares - moved) + epsilon;
  const double relative = root / std::sqrt(lowest) - 1 + (n / 2 + 6) * u;
  for (int64_t d = 0; d < size; ++d) {
    const double y = x[d] / root * weight[d];
    const double e = std::fabs(weight[d]) / root * error[d] * (1 + relative) + std::fabs(y) * relative;
    x[d] = y;
    error[d] = reference::error_after_rounding(format, y, e);
  }
}

// Rotates the pair (a, b) by an angle and multiplies it by a factor, in place.
void rotate(Format format, double angle, double factor, double& a, double& a_error, double& b, double& b_error) {
  const double u = reference::kUnitRoundoff;
  const double rounding = format == Format::BF16 ? reference::unit_roundoff(format) + u : u;
  const double c = std::cos(angle) * factor;
  const double s = std::sin(angle) * factor;
  const auto error_of = [&](double x, double x_error, double y, double y_error) {
    const double terms = (std::fabs(x) + x_error) * std::fabs(c) + (std::fabs(y) + y_error) * std::fabs(s);
    return x_error * std::fabs(c) + y_error * std::fabs(s) + terms * (rounding + 3 * u) * (1 + rounding) +
           2 * reference::underflow_error();
  };
  const double first = a * c - b * s;
  const double second = b * c + a * s;
  const double first_error = reference::error_after_rounding(format, first, error_of(a, a_error, b, b_error));
  const double second_error = reference::error_after_rounding(format, second, error_of(b, b_error, a, a_error));
  a = first;
  b = second;
  a_error = first_error;
  b_error = second_error;
}

}  // namespace

std::string text_of(const RotaryCase& call) {
  char text[320];
  std::snprintf(text, sizeof text,
                "dtype %d, layout %d, rotary %d from %d, head size %d, heads %d of %d, queries %d, keys %d, causal %d, "
                "epsilon %g, alibi %d, self %d, base %g, attention factor %g, last factor %g",
                static_cast<int>(call.dtype), call.layout, static_cast<int>(call.rotary_size),
                static_cast<int>(call.rotary_offset), static_cast<int>(call.head_size),
                static_cast<int>(call.num_heads), static_cast<int>(call.num_kv_heads),
                static_cast<int>(call.num_queries), static_cast<int>(call.num_keys), call.causal,
                static_cast<double>(call.epsilon), call.alibi, call.is_self ? 1 : 0, static_cast<double>(call.base),
                static_cast<double>(call.attention_factor), static_cast<double>(call.last_factor));
  return text;
}

Tensor make_tensor_of_floats(heed_context* context, const Dims& dims, const std::vector<float>& elements,
                             heed_dtype dtype) {
  const Tensor wide = capi_test::make_tensor_of<float>(context, dims, elements);
  Tensor tensor = capi_test::make_tensor(context, dims, dtype);
  property::check(heed_tensor_copy(tensor.get(), wide.get()));
  return tensor;
}

RotaryLayer::RotaryLayer(heed_context* context, const RotaryCase& call)
    : context_(context), case_(call), layer_(make_rotary_layer(context, call)) {
  if (call.is_self) case_.num_queries = case_.num_keys;
  queries_ = capi_test::make_random(context, {call.batch, case_.num_queries, kEmbeddingSize}, 1, call.dtype);
  const int64_t output_size = call.has_output_projection ? kEmbeddingSize : call.num_heads * call.head_size;
  output_ = capi_test::make_tensor(context, {call.batch, case_.num_queries, output_size}, call.dtype);
  inputs_.queries = queries_.get();
  if (!call.is_self) {
    keys_ = capi_test::make_random(context, {call.batch, case_.num_keys, kEmbeddingSize}, 2, call.dtype);
    inputs_.keys = keys_.get();
  }
  outputs_.output = output_.get();
  property::check(heed_layer_initialize(layer_.get(), &inputs_, 3));
  uint64_t seed = 10;
  for (const char* name : {"W_q.bias", "W_k.bias", "W_v.bias"}) set(name, ++seed);
  if (call.epsilon > 0) {
    for (const char* name : {"q_norm.weight", "k_norm.weight"}) set(name, ++seed);
  }
}

nlohmann::json RotaryLayer::explained() const { return explain(layer_.get(), inputs_, outputs_); }

void RotaryLayer::set(const char* name, uint64_t seed) {
  const Dims dims = capi_test::dims_of(capi_test::snapshot(layer_.get(), name).get());
  const Tensor value = capi_test::make_random(context_, dims, seed, case_.dtype);
  property::check(heed_layer_set_parameter(layer_.get(), name, value.get()));
}

std::vector<double> RotaryLayer::parameter(const char* name) const {
  const std::vector<float> floats = capi_test::read_floats(context_, capi_test::snapshot(layer_.get(), name).get());
  return {floats.begin(), floats.end()};
}

void RotaryLayer::scale_query_head(int64_t head, float factor) {
  const Tensor weight = capi_test::snapshot(layer_.get(), "W_q.weight");
  std::vector<float> elements = capi_test::read_floats(context_, weight.get());
  const auto head_elements = static_cast<size_t>(case_.head_size * kEmbeddingSize);
  for (size_t i = 0; i < head_elements; ++i) elements[static_cast<size_t>(head) * head_elements + i] *= factor;
  const Tensor scaled = make_tensor_of_floats(context_, capi_test::dims_of(weight.get()), elements, case_.dtype);
  property::check(heed_layer_set_parameter(layer_.get(), "W_q.weight", scaled.get()));
}

bool RotaryLayer::is_finite_in_heads_from(int64_t head) const {
  const std::vector<float> results = read();
  for (size_t i = 0; i < results.size(); ++i) {
    const auto of_row = static_cast<int64_t>(i) % (case_.num_heads * case_.head_size);
    if (of_row >= head * case_.head_size && !std::isfinite(results[i])) return false;
  }
  return true;
}

reference::Projection RotaryLayer::projection(const std::string& name) const {
  reference::Projection result;
  const Tensor weight = capi_test::snapshot(layer_.get(), (name + ".weight").c_str());
  result.output_size = capi_test::dims_of(weight.get())[0];
  result.input_size = capi_test::dims_of(weight.get())[1];
  result.weight = parameter((name + ".weight").c_str());
  if (name != "W_o") result.bias = parameter((name + ".bias").c_str());
  return result;
}

Bounded RotaryLayer::transformed(const Bounded& heads, int64_t rows, int64_t num_heads, int64_t first_position,
                                 const char* norm) const {
  const Format format = format_of(case_.dtype);
  const int64_t size = case_.head_size;
  const int64_t begin = case_.rotary_offset;
  const int64_t rotary_size = rotary_size_of(case_);
  Bounded result = heads;
  Bounded weight;
  if (case_.epsilon > 0) weight = reference::as_read(parameter(norm), format);
  for (int64_t row = 0; row < case_.batch * rows; ++row) {
    for (int64_t head = 0; head < num_heads; ++head) {
      double* x = &result.values[static_cast<size_t>((row * num_heads + head) * size)];
      double* error = &result.errors[static_cast<size_t>((row * num_heads + head) * size)];
      if (case_.epsilon > 0) {
        const double* of_head = weight.values.data() + (case_.has_layer_norm ? head * size : 0);
        normalize(format, case_.has_layer_norm, static_cast<double>(case_.epsilon), of_head, size, x, error);
      }
      if (case_.layout == 0) continue;
      const auto position = static_cast<double>(row % rows + first_position);
      for (int64_t i = 0; i < rotary_size / 2; ++i) {
        const bool is_half = case_.layout == HEED_ROPE_HALF;
        const int64_t a = begin + (is_half ? i : 2 * i);
        const int64_t b = is_half ? a + rotary_size / 2 : a + 1;
        const double frequency = std::pow(static_cast<double>(case_.base),
                                          -2.0 * static_cast<double>(i) / static_cast<double>(rotary_size)) /
                                 static_cast<double>(i == rotary_size / 2 - 1 ? case_.last_factor : 1.0f);
        rotate(format, position * frequency, static_cast<double>(case_.attention_factor), x[a], error[a], x[b],
               error[b]);
      }
    }
  }
  return result;
}

reference::AttentionResult RotaryLayer::expected() const {
  const Format format = format_of(case_.dtype);
  const auto floats_of = [&](const heed_tensor* tensor) {
    const std::vector<float> floats = capi_test::read_floats(context_, tensor);
    return reference::as_read({floats.begin(), floats.end()}, format);
  };
  const int64_t q = case_.num_queries;
  const int64_t k = case_.num_keys;
  const int64_t d = case_.head_size;
  const Bounded queries = floats_of(queries_.get());
  const Bounded keys = case_.is_self ? queries : floats_of(keys_.get());
  reference::AttentionProblem inner;
  inner.compute_format = format;
  inner.sizes = {case_.batch, case_.num_heads, case_.num_kv_heads, q, k, d, d};
  inner.options.causal =
      case_.causal == HEED_CAUSAL_NONE ? reference::Alignment::None : reference::Alignment::BottomRight;
  for (int64_t h = 0; case_.alibi != HEED_ALIBI_NONE && h < case_.num_heads; ++h) {
    const double slope = std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(case_.num_heads));
    const double scaled = reference::round_to(Format::BF16, slope) / std::sqrt(static_cast<double>(d));
    inner.limits.alibi_slopes.push_back(case_.alibi == HEED_ALIBI_ADDED ? slope : scaled);
  }
  const Bounded projected_queries = reference::project(projection("W_q"), queries, case_.batch * q, format);
  const Bounded projected_keys = reference::project(projection("W_k"), keys, case_.batch * k, format);
  const Bounded projected_values = reference::project(projection("W_v"), keys, case_.batch * k, format);
  inner.queries = swapped(transformed(projected_queries, q, case_.num_heads, k - q, "q_norm.weight"), case_.batch, q,
                          case_.num_heads, d);
  inner.keys = swapped(transformed(projected_keys, k, case_.num_kv_heads, 0, "k_norm.weight"), case_.batch, k,
                       case_.num_kv_heads, d);
  inner.values = swapped(projected_values, case_.batch, k, case_.num_kv_heads, d);
  reference::AttentionResult result = reference::attention(inner);
  result.output = swapped(result.output, case_.batch, case_.num_heads, q, d);
  if (case_.has_output_projection)
    result.output = reference::project(projection("W_o"), result.output, case_.batch * q, format);
  return result;
}

testing::AssertionResult RotaryLayer::agrees_with_reference() const {
  const Bounded expected = this->expected().output;
  const std::vector<float> actual = read();
  const Format format = case_.dtype == HEED_F32 ? Format::F32 : format_of(case_.dtype);
  double fractions = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto number = static_cast<double>(actual[i]);
    if (!std::isfinite(expected.errors[i])) return testing::AssertionFailure() << "no bound for element " << i;
    fractions += reference::used_fraction(Format::F32, expected.values[i], expected.errors[i], number);
    if (reference::accepts(format, expected.values[i], expected.errors[i], number)) continue;
    return testing::AssertionFailure() << "element " << i << " is " << number << ", expected " << expected.values[i]
                                       << " within " << expected.errors[i];
  }
  const double mean = fractions / static_cast<double>(actual.size());
  if (mean <= kMeanFraction || case_.num_keys == 1) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the mean error is " << mean << " of the bound";
}

}  // namespace heed::ascend_test
