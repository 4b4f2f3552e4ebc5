// SPDX-License-Identifier: Apache-2.0
#include "support/call.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "reference/error_bound.h"
#include "reference/multi_head_attention.h"
#include "reference/positions.h"
#include "support/arguments.h"
#include "support/block_reference.h"
#include "support/packing.h"

namespace heed::property {
namespace {

const Input& keys_of(const Call& call) { return call.keys ? *call.keys : call.queries; }
const Input& values_of(const Call& call) { return call.values ? *call.values : keys_of(call); }

int64_t value_or(int64_t value, int64_t fallback) { return value != 0 ? value : fallback; }

Context context_of(const Call& call, Fallback fallback) {
  heed_context_options options = device_options(fallback);
  options.num_threads = call.num_threads;
  options.flush_subnormals = call.flush_subnormals ? 1 : 0;
  options.executor = call.executor;
  heed_context* context = nullptr;
  check(heed_context_create(&options, &context));
  return Context(context);
}

heed_dot_product_attention_options dot_product_options(const Call& call) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  copy_shared_options(call.options, options);
  return options;
}

Layer make_layer(heed_context* context, const Call& call) {
  if (call.block) return make_block(context, *call.block);
  heed_layer* layer = nullptr;
  if (call.kind == Kind::MultiHead) {
    heed_multi_head_attention_options options = call.options;
    heed_rope_options rope = call.rope.value_or(heed_rope_options HEED_ROPE_OPTIONS_INIT);
    if (!call.rope_factors.empty()) {
      rope.factors = call.rope_factors.data();
      rope.num_factors = static_cast<int64_t>(call.rope_factors.size());
    }
    if (call.rope) options.rope = &rope;
    check(heed_multi_head_attention_create(context, &options, &layer));
    return Layer(layer);
  }
  if (call.kind == Kind::Additive) {
    heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
    options.num_hiddens = call.options.num_hiddens;
    copy_shared_options(call.options, options);
    check(heed_additive_attention_create(context, &options, &layer));
    return Layer(layer);
  }
  if (call.kind == Kind::General) {
    heed_general_attention_options options = HEED_GENERAL_ATTENTION_OPTIONS_INIT;
    options.query_size = call.parameters.at("W.weight").contents.dims[0];
    copy_shared_options(call.options, options);
    check(heed_general_attention_create(context, &options, &layer));
    return Layer(layer);
  }
  const heed_dot_product_attention_options options = dot_product_options(call);
  check(heed_dot_product_attention_create(context, &options, &layer));
  return Layer(layer);
}

reference::Alignment alignment_of(int32_t causal_or_window) {
  static_assert(int{HEED_CAUSAL_TOP_LEFT} == int{HEED_WINDOW_TOP_LEFT});
  static_assert(int{HEED_CAUSAL_BOTTOM_RIGHT} == int{HEED_WINDOW_BOTTOM_RIGHT});
  if (causal_or_window == HEED_CAUSAL_TOP_LEFT) return reference::Alignment::TopLeft;
  return causal_or_window == HEED_CAUSAL_BOTTOM_RIGHT ? reference::Alignment::BottomRight : reference::Alignment::None;
}

reference::AttentionOptions reference_options(const Call& call) {
  const heed_multi_head_attention_options& options = call.options;
  reference::AttentionOptions result;
  const bool is_additive_layer = call.kind == Kind::Additive;
  result.scoring = is_additive_layer || options.scoring == HEED_SCORING_ADDITIVE ? reference::Scoring::Additive
                                                                                 : reference::Scoring::DotProduct;
  // The layers of the additive and the general score have a different default.
  const bool is_unscaled = is_additive_layer || call.kind == Kind::General;
  result.scale = is_unscaled && options.scale == 0.0F ? 1.0 : options.scale;
  result.soft_cap = options.soft_cap;
  result.causal = alignment_of(options.causal);
  result.window = alignment_of(options.window);
  result.window_left = options.window_left;
  result.window_right = options.window_right;
  result.empty_rows =
      options.empty_rows == HEED_EMPTY_ROWS_MEAN ? reference::EmptyRows::Mean : reference::EmptyRows::Zero;
  result.dropout = options.dropout;
  result.training = call.training != 0;
  result.dropout_seed = call.dropout_seed;
  return result;
}

// The slopes of the layer's own ALiBi.
void set_own_slopes(const Call& call, const reference::AttentionSizes& sizes, reference::AttentionLimits& limits) {
  const bool is_scaled = call.options.alibi == HEED_ALIBI_SCALED;
  const double usual_scale = 1.0 / std::sqrt(static_cast<double>(sizes.head_size));
  const double scale = call.options.scale != 0.0F ? static_cast<double>(call.options.scale) : usual_scale;
  for (int64_t h = 0; h < sizes.num_heads; ++h) {
    const double slope = reference::alibi_slope(h, sizes.num_heads);
    limits.alibi_slopes.push_back(is_scaled ? reference::round_to(reference::Format::BF16, slope) * scale : slope);
  }
  // To F32, or of the scale and its product with the slope.
  limits.slope_roundings = is_scaled ? 2.0 : 1.0;
}

// The default of a member that is 0.
double number_or(float number, double fallback) { return number != 0.0F ? static_cast<double>(number) : fallback; }

std::optional<reference::RotaryOptions> rotary_options(const Call& call, int64_t head_size) {
  if (!call.rope) return std::nullopt;
  const heed_rope_options& rope = *call.rope;
  reference::RotaryOptions result;
  result.offset = rope.rotary_offset;
  result.size = value_or(rope.rotary_size, head_size - rope.rotary_offset);
  result.pairing = rope.layout == HEED_ROPE_HALF ? reference::Pairing::Half : reference::Pairing::Interleaved;
  static constexpr reference::RotaryScaling kScalings[] = {
      reference::RotaryScaling::None, reference::RotaryScaling::Linear, reference::RotaryScaling::Ntk,
      reference::RotaryScaling::Yarn, reference::RotaryScaling::Llama3, reference::RotaryScaling::Factors};
  result.scaling = kScalings[rope.scaling];
  result.base = number_or(rope.base, 10000.0);
  result.factor = number_or(rope.factor, 1.0);
  result.original_length = static_cast<double>(rope.original_length);
  result.beta_fast = number_or(rope.beta_fast, 32.0);
  result.beta_slow = number_or(rope.beta_slow, 1.0);
  result.low_frequency_factor = number_or(rope.low_freq_factor, 1.0);
  result.high_frequency_factor = number_or(rope.high_freq_factor, 4.0);
  result.rounds_range = rope.no_rounding == 0;
  result.attention_factor = static_cast<double>(rope.attention_factor);
  result.factors.assign(call.rope_factors.begin(), call.rope_factors.end());
  return result;
}

std::optional<reference::HeadNorm> norm_of(const Call& call, const char* parameter) {
  if (call.options.qk_norm_epsilon == 0.0F) return std::nullopt;
  return reference::HeadNorm{call.parameters.at(parameter).contents.values,
                             static_cast<double>(call.options.qk_norm_epsilon),
                             call.options.qk_norm == HEED_QK_NORM_LAYER};
}

std::vector<int64_t> whole_numbers(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

// `given`: the call as it is made; `call`: the same, padded.
reference::AttentionLimits reference_limits(const Call& given, const Call& call) {
  const reference::AttentionSizes sizes = sizes_of(call);
  const Dims pairs = {sizes.batch, sizes.num_heads, sizes.num_queries, sizes.num_keys};
  reference::AttentionLimits limits;
  if (call.valid_lens) {
    Array lengths = call.valid_lens->contents;
    if (lengths.dims.size() == 1) lengths.dims.push_back(1);
    limits.lengths = broadcast(lengths, {sizes.batch, sizes.num_queries}).values;
  }
  if (call.mask) {
    for (double element : broadcast(call.mask->contents, pairs).values) limits.mask.push_back(element != 0.0);
  }
  if (call.bias) limits.bias = broadcast(call.bias->contents, pairs).values;
  if (call.alibi_slopes) limits.alibi_slopes = call.alibi_slopes->contents.values;
  if (call.options.alibi != HEED_ALIBI_NONE) set_own_slopes(call, sizes, limits);
  if (call.sinks) limits.sinks = call.sinks->contents.values;
  if (call.options.sinks != 0) limits.sinks = call.parameters.at("sinks").contents.values;
  if (call.options.relative_bias != HEED_RELATIVE_BIAS_NONE) {
    limits.relative_bias = {call.parameters.at("relative_bias.weight").contents.values,
                            value_or(call.options.relative_bias_buckets, 32),
                            value_or(call.options.relative_bias_max_distance, 128),
                            call.options.relative_bias == HEED_RELATIVE_BIAS_BOTH_WAYS};
  }
  if (call.positions) {
    limits.positions = whole_numbers(call.positions->contents.values);
    limits.compares_rows = !given.keys && !given.key_offsets;
    if (limits.compares_rows) limits.key_positions = limits.positions;
  }
  if (call.key_positions) limits.key_positions = whole_numbers(call.key_positions->contents.values);
  if (call.query_lens) limits.query_counts = whole_numbers(call.query_lens->contents.values);
  if (is_packed(given)) {
    limits.key_counts = counts_of(key_offsets_of(given));
  } else if (!call.keys) {
    limits.key_counts = limits.query_counts;
  }
  return limits;
}

}  // namespace

reference::Projection projection_of(const Call& call, const std::string& name) {
  const Input& weight = call.parameters.at(name + ".weight");
  reference::Projection projection;
  projection.output_size = weight.contents.dims[0];
  projection.input_size = weight.contents.dims[1];
  projection.weight = weight.contents.values;
  const auto bias = call.parameters.find(name + ".bias");
  if (bias != call.parameters.end()) projection.bias = bias->second.contents.values;
  return projection;
}

reference::AttentionSizes sizes_of(const Call& call) {
  const Dims& queries = call.queries.contents.dims;
  const Dims& keys = keys_of(call).contents.dims;
  const Dims& values = values_of(call).contents.dims;
  reference::AttentionSizes sizes;
  const size_t rows = queries.size() - 2;
  sizes.num_queries = queries[rows];
  sizes.num_keys = keys[rows];
  if (is_packed(call)) {
    sizes.batch = static_cast<int64_t>(call.query_offsets->contents.values.size()) - 1;
    sizes.num_queries = largest_of(counts_of(*call.query_offsets));
    sizes.num_keys = largest_of(counts_of(key_offsets_of(call)));
  } else {
    sizes.batch = queries[0];
  }
  switch (call.kind) {
    case Kind::DotProductRank4:
      sizes.num_heads = queries[rows - 1];
      sizes.num_kv_heads = keys[rows - 1];
      [[fallthrough]];
    case Kind::DotProductRank3:
    case Kind::General:
      sizes.head_size = queries.back();
      sizes.value_head_size = values.back();
      break;
    case Kind::Additive:
      sizes.head_size = call.options.num_hiddens;
      sizes.value_head_size = values.back();
      break;
    case Kind::MultiHead: {
      const heed_multi_head_attention_options& options = call.options;
      sizes.num_heads = options.num_heads;
      sizes.num_kv_heads = value_or(options.num_kv_heads, sizes.num_heads);
      sizes.head_size = value_or(options.head_size, options.num_hiddens / options.num_heads);
      sizes.value_head_size = value_or(options.value_head_size, sizes.head_size);
      break;
    }
  }
  return sizes;
}

int64_t num_constant_keys(const Call& call) { return call.options.add_bias_kv + call.options.add_zero_attn; }

ResultDims result_dims(const Call& call) {
  const reference::AttentionSizes sizes = sizes_of(call);
  const int64_t b = sizes.batch, h = sizes.num_heads, q = sizes.num_queries, d = sizes.value_head_size;
  const int64_t k = sizes.num_keys + num_constant_keys(call);
  const bool has_heads = call.kind == Kind::DotProductRank4 || call.kind == Kind::MultiHead;
  const heed_multi_head_attention_options& options = call.options;
  const int64_t output_size = options.no_output_projection ? h * d : value_or(options.output_size, options.num_hiddens);
  if (is_packed(call)) {
    const auto total = static_cast<int64_t>(call.query_offsets->contents.values.back());
    if (!has_heads) return {{total, d}, {}, {total}};
    if (call.kind == Kind::DotProductRank4) return {{h, total, d}, {}, {h, total}};
    return {{total, output_size}, {}, {h, total}};
  }
  if (!has_heads) return {{b, q, d}, {b, q, k}, {b, q}};
  if (call.kind == Kind::DotProductRank4) return {{b, h, q, d}, {b, h, q, k}, {b, h, q}};
  return {{b, q, output_size}, {b, h, q, k}, {b, h, q}};
}

Runner::Opened Runner::open(const Call& call, Fallback fallback) {
  Opened opened;
  opened.context = context_of(call, fallback);
  opened.layer = make_layer(opened.context.get(), call);
  for (const auto& [name, value] : call.parameters) {
    const HostTensor tensor(opened.context.get(), value);
    check(heed_layer_set_parameter(opened.layer.get(), name.c_str(), tensor.handle()));
  }
  return opened;
}

Runner::Runner(const Call& call) {
  made_for_.kind = call.kind;
  made_for_.options = call.options;
  made_for_.block = call.block;
  made_for_.rope = call.rope;
  made_for_.rope_factors = call.rope_factors;
  made_for_.parameters = call.parameters;
  made_for_.num_threads = call.num_threads;
  made_for_.executor = call.executor;
  opened_[static_cast<size_t>(first_fallback())] = open(call, first_fallback());
}

Results Runner::forward(const Call& call, heed_workspace* workspace) const {
  return on_device([&](heed_context* context, heed_layer* layer) {
    const Arguments arguments(context, layer, call);
    if (call.in_one_call) {
      const heed_dot_product_attention_options options = dot_product_options(call);
      check(heed_scaled_dot_product_attention(context, &options, arguments.inputs(), arguments.outputs()));
    } else {
      check(heed_layer_forward(layer, arguments.inputs(), workspace, arguments.outputs()));
    }
    return arguments.read();
  });
}

size_t Runner::workspace_size(const Call& call) const {
  const Arguments arguments(context(), layer(), call);
  size_t num_bytes = 0;
  check(heed_layer_workspace_size(layer(), arguments.inputs(), arguments.outputs(), &num_bytes));
  return num_bytes;
}

GuardedWorkspace Runner::make_workspace(size_t num_bytes) const { return {context(), num_bytes}; }

Results run(const Call& call) {
  const Runner runner(call);
  // A strict context refuses to fill a cache if the device cannot.
  const bool with_workspace = call.with_workspace && (!call.cache_layout || first_fallback() == Fallback::Allowed);
  const GuardedWorkspace workspace =
      with_workspace ? runner.make_workspace(runner.workspace_size(call)) : GuardedWorkspace();
  return runner.forward(call, workspace.get());
}

namespace {

// Of the kinds with parameters.
reference::MultiHeadProblem problem_with_projections(const Call& given, const Call& call) {
  reference::MultiHeadProblem problem;
  problem.compute_format = compute_format(call.queries.dtype);
  problem.sizes = sizes_of(call);
  problem.options = reference_options(call);
  problem.limits = reference_limits(given, call);
  problem.queries = call.queries.contents.values;
  problem.keys = keys_of(call).contents.values;
  problem.values = values_of(call).contents.values;
  if (call.kind == Kind::General) {
    problem.key_projection = projection_of(call, "W");
    return problem;
  }
  problem.query_projection = projection_of(call, "W_q");
  problem.key_projection = projection_of(call, "W_k");
  if (problem.options.scoring == reference::Scoring::Additive)
    problem.score_weights = call.parameters.at("w_v.weight").contents.values;
  if (call.kind == Kind::Additive) return problem;
  problem.value_projection = projection_of(call, "W_v");
  if (!call.options.no_output_projection) problem.output_projection = projection_of(call, "W_o");
  problem.query_norm = norm_of(call, "q_norm.weight");
  problem.key_norm = norm_of(call, "k_norm.weight");
  problem.rotary = rotary_options(call, problem.sizes.head_size);
  if (call.options.add_bias_kv != 0) {
    problem.bias_key = call.parameters.at("bias_k").contents.values;
    problem.bias_value = call.parameters.at("bias_v").contents.values;
  }
  problem.has_zero_key = call.options.add_zero_attn != 0;
  return problem;
}

bool is_dot_product(const Call& call) {
  return call.kind == Kind::DotProductRank3 || call.kind == Kind::DotProductRank4;
}

reference::AttentionProblem problem_without_projections(const Call& given, const Call& call) {
  const std::optional<reference::Format> format = compute_format(call.queries.dtype);
  reference::AttentionProblem problem;
  problem.sizes = sizes_of(call);
  problem.options = reference_options(call);
  problem.limits = reference_limits(given, call);
  problem.compute_format = format;
  const auto as_read = [&](const Input& input) {
    if (format) return reference::as_read(input.contents.values, format);
    reference::Bounded exact;
    exact.values = input.contents.values;
    return exact;
  };
  problem.queries = as_read(call.queries);
  problem.keys = as_read(keys_of(call));
  problem.values = as_read(values_of(call));
  return problem;
}

reference::AttentionResult solve_padded(const Call& given, const Call& call) {
  if (is_dot_product(call)) return reference::attention(problem_without_projections(given, call));
  return reference::multi_head_attention(problem_with_projections(given, call));
}

}  // namespace

reference::AttentionProblem attention_problem(const Call& call) {
  return problem_without_projections(call, is_packed(call) ? padded_form(call, 0.0) : call);
}

reference::MultiHeadProblem multi_head_problem(const Call& call) {
  return problem_with_projections(call, is_packed(call) ? padded_form(call, 0.0) : call);
}

reference::AttentionResult solve(const Call& call) {
  if (call.block) return solve_block(call);
  if (!is_packed(call)) return solve_padded(call, call);
  return packed_results(call, solve_padded(call, padded_form(call, 0.0)));
}

void AccuracyStatistics::add(const AccuracyStatistics& other) {
  elements += other.elements;
  without_bound += other.without_bound;
  if (other.largest_fraction > largest_fraction) {
    largest_fraction = other.largest_fraction;
    where = other.where;
  }
}

testing::AssertionResult agree(const char* name, const Result& result, const reference::Bounded& expected,
                               AccuracyStatistics* statistics) {
  const reference::Format format = format_of(result.dtype);
  const std::vector<double>& actual = result.contents.values;
  if (actual.size() != expected.values.size()) {
    return testing::AssertionFailure() << name << " has " << actual.size() << " elements, expected "
                                       << expected.values.size();
  }
  testing::AssertionResult verdict = testing::AssertionSuccess();
  for_each_index(result.contents.dims, [&](const Dims& index, size_t i) {
    const double value = expected.values[i];
    const double error = expected.errors[i];
    const double fraction = reference::used_fraction(format, value, error, actual[i]);
    const bool may_be_nan = !expected.may_be_nan.empty() && expected.may_be_nan[i] != 0;
    const bool accepted = reference::accepts(format, value, error, actual[i]) || (may_be_nan && std::isnan(actual[i]));
    if (statistics != nullptr) {
      ++statistics->elements;
      if (!std::isnan(value) && !std::isfinite(error)) ++statistics->without_bound;
      // In a narrower dtype the final rounding is nearly the whole error and nearly the whole bound.
      if (result.dtype == HEED_F32 && fraction > statistics->largest_fraction) {
        statistics->largest_fraction = fraction;
        statistics->where = name;
      }
    }
    if (accepted || !verdict) return;
    verdict = testing::AssertionFailure() << name << " at " << testing::PrintToString(index);
    char text[160];
    std::snprintf(text, sizeof text, ": got %.9g, expected %.17g within %.3g (difference %.3g, %.3g of the bound)",
                  actual[i], value, error, actual[i] - value, fraction);
    verdict << text;
  });
  return verdict;
}

testing::AssertionResult agree(const Results& results, const reference::AttentionResult& expected,
                               AccuracyStatistics* statistics) {
  testing::AssertionResult verdict = testing::AssertionSuccess();
  const auto compare = [&](const char* name, const std::optional<Result>& result, const reference::Bounded& bounds) {
    if (verdict && result) verdict = agree(name, *result, bounds, statistics);
  };
  compare("output", results.output, expected.output);
  compare("weights", results.weights, expected.weights);
  compare("log_sum_exp", results.log_sum_exp, expected.log_sum_exp);
  return verdict;
}

testing::AssertionResult agrees_with_reference(const Call& call, AccuracyStatistics* statistics) {
  return agree(run(call), solve(call), statistics);
}

testing::AssertionResult same_bits(const std::optional<Result>& a, const std::optional<Result>& b) {
  if (!a || !b) return testing::AssertionFailure() << "a result is missing";
  if (a->dtype != b->dtype || a->contents.dims != b->contents.dims) {
    return testing::AssertionFailure() << "dtypes or shapes differ";
  }
  if (a->bytes == b->bytes) return testing::AssertionSuccess();
  const size_t element_size = a->bytes.size() / a->contents.values.size();
  for (size_t i = 0; i < a->contents.values.size(); ++i) {
    const auto from = static_cast<std::ptrdiff_t>(i * element_size);
    const auto to = from + static_cast<std::ptrdiff_t>(element_size);
    if (std::isnan(a->contents.values[i]) && std::isnan(b->contents.values[i])) continue;
    if (!std::equal(a->bytes.begin() + from, a->bytes.begin() + to, b->bytes.begin() + from)) {
      return testing::AssertionFailure() << "element " << i << " of " << a->contents.values.size()
                                         << " differs: " << testing::PrintToString(a->contents.values[i]) << " and "
                                         << testing::PrintToString(b->contents.values[i]);
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(const Results& a, const Results& b) {
  const std::optional<Result> Results::*const members[] = {&Results::output, &Results::weights, &Results::log_sum_exp};
  for (const auto member : members) {
    if (!(a.*member) && !(b.*member)) continue;
    const testing::AssertionResult verdict = same_bits(a.*member, b.*member);
    if (!verdict) return verdict;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult is_refused(const Call& call, heed_status status, const std::vector<std::string>& words) {
  try {
    run(call);
  } catch (const CallFailed& failure) {
    if (failure.status != status) {
      return testing::AssertionFailure() << "refused with " << heed_status_name(failure.status) << ", expected "
                                         << heed_status_name(status) << "; the sentence is: " << failure.what();
    }
    for (const std::string& word : words) {
      if (std::string(failure.what()).find(word) == std::string::npos) {
        return testing::AssertionFailure() << "'" << word << "' is missing in the sentence: " << failure.what();
      }
    }
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "the call was not refused";
}

}  // namespace heed::property
