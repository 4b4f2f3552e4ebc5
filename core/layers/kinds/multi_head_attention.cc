// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/multi_head_attention.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/checked.h"
#include "base/decimal_text.h"
#include "base/error.h"
#include "base/half.h"
#include "layers/kinds/backward/attention_backward.h"
#include "layers/kinds/backward/linear_backward.h"
#include "ops/head_transform_backward.h"
#include "ops/linear.h"
#include "ops/visible_keys.h"
#include "tensor/copy.h"
#include "tensor/fill.h"
#include "tensor/host_memory.h"

namespace heed {
namespace {

// The parameters, in the order of the table. The bias of a projection follows its weight.
enum : size_t {
  kQueryWeight = 0,
  kKeyWeight = 2,
  kValueWeight = 4,
  kOutputWeight = 6,
  kScoreWeights = 8,
  kQueryNorm,
  kKeyNorm,
  kSinks,
  kRelativeBias,
  kBiasKey,
  kBiasValue,
  kNumParameters
};
constexpr PossibleParameter kParameters[] = {
    {.name = "W_q.weight", .use = Use::Projection},
    {.name = "W_q.bias", .initializer = Initializer::Zeros, .bias_bit = {kBiasQ, CONSTANT("HEED_BIAS_Q")}},
    {.name = "W_k.weight", .use = Use::Projection},
    {.name = "W_k.bias", .initializer = Initializer::Zeros, .bias_bit = {kBiasK, CONSTANT("HEED_BIAS_K")}},
    {.name = "W_v.weight", .use = Use::Projection},
    {.name = "W_v.bias", .initializer = Initializer::Zeros, .bias_bit = {kBiasV, CONSTANT("HEED_BIAS_V")}},
    {.name = "W_o.weight", .use = Use::Projection, .option = SETTING("no_output_projection", "0")},
    {.name = "W_o.bias", .initializer = Initializer::Zeros, .bias_bit = {kBiasO, CONSTANT("HEED_BIAS_O")}},
    {.name = "w_v.weight", .option = CONSTANT("HEED_SCORING_ADDITIVE") " in " OPTION("scoring")},
    {.name = "q_norm.weight",
     .initializer = Initializer::Ones,
     .option = OPTION("qk_norm_epsilon"),
     .feature = ParameterFeature::QkNorm},
    {.name = "k_norm.weight",
     .initializer = Initializer::Ones,
     .option = OPTION("qk_norm_epsilon"),
     .feature = ParameterFeature::QkNorm},
    {.name = "sinks", .initializer = Initializer::Zeros, .option = OPTION("sinks"), .feature = ParameterFeature::Sinks},
    {.name = "relative_bias.weight",
     .initializer = Initializer::Zeros,
     .option = OPTION("relative_bias"),
     .feature = ParameterFeature::RelativeBias},
    {.name = "bias_k", .initializer = Initializer::Zeros, .option = OPTION("add_bias_kv")},
    {.name = "bias_v", .initializer = Initializer::Zeros, .option = OPTION("add_bias_kv")},
};
static_assert(std::size(kParameters) == kNumParameters);

// What a call with a backward keeps in LayerCall::saved: the heads that the attention reads, with a norm what is
// normalized, and the rotations of the rows.
enum : size_t {
  kSavedQueries = kFirstSavedOfKind,
  kSavedKeys,
  kSavedValues,
  kSavedQuerySums,
  kSavedKeySums,
  kSavedQueryRotations,
  kSavedKeyRotations
};
static_assert(kSavedKeyRotations < kMaxSavedValues);

constexpr BiasesOption kBiasesOption = {kBiasAll, SETTING("biases", "HEED_BIAS_NONE"),
                                        SETTING("biases", "HEED_BIAS_ALL")};

void check_size(const char* name, int64_t size) {
  if (size < 0) fail(Status::InvalidArgument, OPTION("%s") " is %" PRId64 ", expected at least 0", name, size);
}

// The number of heads times their size: a dim of a parameter.
int64_t all_heads(const char* heads_name, int64_t heads, const char* size_name, int64_t size) {
  int64_t product = 0;
  if (!checked_multiply(heads, size, product)) {
    fail(Status::InvalidArgument,
         OPTION("%s") " is %" PRId64 " and " OPTION("%s") " %" PRId64
                                                          ", whose product overflows, expected at most 2^63 - 1",
         heads_name, heads, size_name, size);
  }
  return product;
}

void check_qk_norm(const MultiHeadAttentionOptions& options) {
  if (!std::isfinite(options.qk_norm_epsilon) || options.qk_norm_epsilon < 0) {
    fail(Status::InvalidArgument,
         OPTION("qk_norm_epsilon") " is %s, expected a finite number above 0, or 0 for no norm",
         DecimalText(options.qk_norm_epsilon).c_str());
  }
  if (options.qk_norm_epsilon == 0 && options.qk_norm != QkNorm::Rms) {
    fail(Status::InvalidArgument, OPTION("qk_norm") " is " CONSTANT("HEED_QK_NORM_LAYER") ", but " OPTION(
                                      "qk_norm_epsilon") " is 0: expected the norm's epsilon, above 0");
  }
}

// Fills in the defaults and checks the options against each other.
MultiHeadAttentionOptions with_defaults(const MultiHeadAttentionOptions& given) {
  MultiHeadAttentionOptions options = given;
  check_options(options.attention);
  check_size("num_hiddens", options.num_hiddens);
  check_size("num_kv_heads", options.num_kv_heads);
  check_size("head_size", options.head_size);
  check_size("value_head_size", options.value_head_size);
  check_size("output_size", options.output_size);
  if (options.num_heads < 1)
    fail(Status::InvalidArgument, OPTION("num_heads") " is %" PRId64 ", expected at least 1", options.num_heads);
  if (options.num_kv_heads == 0) options.num_kv_heads = options.num_heads;
  if (options.num_heads % options.num_kv_heads != 0) {
    fail(Status::InvalidArgument,
         OPTION("num_heads") " is %" PRId64 ", which " OPTION("num_kv_heads") ", %" PRId64
                                                                              ", does not divide: expected a divisor",
         options.num_heads, options.num_kv_heads);
  }
  if (options.head_size == 0) {
    if (options.num_hiddens == 0)
      fail(Status::InvalidArgument,
           OPTION("num_hiddens") " is 0 and so is " OPTION("head_size") ", expected one of them above 0");
    if (options.num_hiddens % options.num_heads != 0) {
      fail(Status::InvalidArgument,
           OPTION("num_hiddens") " is %" PRId64 ", which " OPTION(
               "num_heads") ", %" PRId64 ", does not divide: expected a multiple, or " OPTION("head_size") " above 0",
           options.num_hiddens, options.num_heads);
    }
    options.head_size = options.num_hiddens / options.num_heads;
  }
  if (options.value_head_size == 0) options.value_head_size = options.head_size;
  if (options.biases < 0 || options.biases > kBiasAll) {
    fail(Status::InvalidArgument, OPTION("biases") " is %d, expected a set of " WORD("HEED_BIAS_ bits") ", 0 to %d",
         options.biases, kBiasAll);
  }
  if (options.no_output_projection) {
    if (options.output_size != 0) {
      fail(Status::InvalidArgument,
           OPTION("output_size") " is %" PRId64 ", but " OPTION("no_output_projection") " is " FLAG(
               "no_output_projection", "set") ": expected one or the other",
           options.output_size);
    }
    if ((options.biases & kBiasO) != 0) {
      fail(Status::InvalidArgument,
           OPTION("biases") " has " CONSTANT("HEED_BIAS_O") ", but " OPTION("no_output_projection") " is " FLAG(
               "no_output_projection", "set") ": expected one or the other");
    }
    options.output_size = all_heads("num_heads", options.num_heads, "value_head_size", options.value_head_size);
  } else if (options.output_size == 0) {
    if (options.num_hiddens == 0) {
      fail(Status::InvalidArgument, OPTION("num_hiddens") " is 0, expected above 0, or " OPTION(
                                        "output_size") " above 0, or " SETTING("no_output_projection", "1"));
    }
    options.output_size = options.num_hiddens;
  }
  check_qk_norm(options);
  if (options.scoring == Scoring::Additive && (options.add_bias_kv || options.add_zero_attn)) {
    const char* const option = options.add_bias_kv ? "add_bias_kv" : "add_zero_attn";
    fail(Status::InvalidArgument,
         OPTION("%s") " is " FLAG("%s", "1") ", but " OPTION("scoring") " is " CONSTANT(
             "HEED_SCORING_ADDITIVE") ": expected " FLAG("%s", "0"),
         option, option, option);
  }
  options.relative_bias = with_defaults(options.relative_bias);
  return options;
}

// The slopes of ALiBi that the layer has by itself. Scaled slopes are rounded to BF16 first, as Falcon's are.
std::optional<Tensor> own_alibi_slopes(const std::shared_ptr<Context>& context,
                                       const MultiHeadAttentionOptions& options) {
  if (options.alibi == AlibiUse::None) return std::nullopt;
  Tensor slopes = Tensor::undefined(host_memory_of(context), DType::F32, {options.num_heads});
  fill_alibi_slopes(slopes);
  if (options.alibi == AlibiUse::Scaled) {
    const float scale = options.attention.scale != 0
                            ? options.attention.scale
                            : static_cast<float>(1.0 / std::sqrt(static_cast<double>(options.head_size)));
    auto* numbers = reinterpret_cast<float*>(slopes.data());
    for (int64_t h = 0; h < options.num_heads; ++h)
      numbers[h] = widen(narrow_to_bfloat16(static_cast<double>(numbers[h]))) * scale;
  }
  return context->is_host() ? slopes : converted_copy(context, slopes, DType::F32);
}

// Makes numbers of the queries' rows, (B, H, Q) or packed (H, total), an operand.
void set_numbers_of_heads(Schedule& schedule, Operand& operand, const Value& numbers) {
  const bool packed = numbers.rank() == 2;
  schedule.set_operand(operand, numbers, {packed ? -1 : 0, packed ? 0 : 1, packed ? 1 : 2, -1});
}

}  // namespace

MultiHeadAttention::Resolved MultiHeadAttention::resolve(const MultiHeadAttentionOptions& given) {
  Resolved result;
  result.options = with_defaults(given);
  const MultiHeadAttentionOptions& options = result.options;
  const int64_t query_size = all_heads("num_heads", options.num_heads, "head_size", options.head_size);
  const int64_t key_size = all_heads("num_kv_heads", options.num_kv_heads, "head_size", options.head_size);
  const int64_t value_size =
      all_heads("num_kv_heads", options.num_kv_heads, "value_head_size", options.value_head_size);
  const int64_t merged_size = all_heads("num_heads", options.num_heads, "value_head_size", options.value_head_size);
  std::vector<Parameter>& parameters = result.parameters;
  const auto add = [&](size_t weight, int32_t bias_bit, int64_t num_heads, const Shape& shape,
                       std::optional<ProjectedInput> projected_input) {
    parameters.emplace_back(kParameters[weight], shape, num_heads, projected_input);
    if ((options.biases & bias_bit) != 0) parameters.emplace_back(kParameters[weight + 1], Shape{shape[0]}, num_heads);
  };
  add(kQueryWeight, kBiasQ, options.num_heads, {query_size, kOpenDim}, ProjectedInput::Queries);
  add(kKeyWeight, kBiasK, options.num_kv_heads, {key_size, kOpenDim}, ProjectedInput::Keys);
  add(kValueWeight, kBiasV, options.num_kv_heads, {value_size, kOpenDim}, ProjectedInput::Values);
  if (!options.no_output_projection)
    add(kOutputWeight, kBiasO, options.num_heads, {options.output_size, merged_size}, std::nullopt);
  const auto add_other = [&](size_t parameter, const Shape& shape) {
    parameters.emplace_back(kParameters[parameter], shape, options.num_heads);
  };
  if (options.scoring == Scoring::Additive) add_other(kScoreWeights, {options.num_heads, options.head_size});
  if (options.qk_norm_epsilon > 0) {
    const bool is_shared = options.qk_norm == QkNorm::Rms;
    const Shape of_all{options.head_size};
    add_other(kQueryNorm, is_shared ? of_all : Shape{options.num_heads, options.head_size});
    add_other(kKeyNorm, is_shared ? of_all : Shape{options.num_kv_heads, options.head_size});
  }
  if (options.add_bias_kv) {
    add_other(kBiasKey, {key_size});
    add_other(kBiasValue, {value_size});
  }
  if (options.sinks) add_other(kSinks, {options.num_heads});
  if (options.relative_bias.kind != RelativeBias::None)
    add_other(kRelativeBias, {options.relative_bias.num_buckets, options.num_heads});
  return result;
}

MultiHeadAttention::MultiHeadAttention(std::shared_ptr<Context> context, const MultiHeadAttentionOptions& options)
    : MultiHeadAttention(std::move(context), resolve(options)) {}

MultiHeadAttention::MultiHeadAttention(std::shared_ptr<Context> context, Resolved resolved)
    : AttentionLayer(std::move(context), std::move(resolved.parameters), kParameters),
      options_(resolved.options),
      relative_buckets_(HostStlAllocator<int32_t>(this->context()->host_allocator())),
      alibi_slopes_(own_alibi_slopes(this->context(), options_)) {
  const HostAllocator& allocator = this->context()->host_allocator();
  if (options_.rope) {
    rotary_ = std::make_unique<RotaryPositions>(*options_.rope, options_.head_size, allocator);
    options_.rope = rotary_->options();
  }
  if (options_.relative_bias.kind == RelativeBias::None) return;
  const std::vector<int32_t> buckets = relative_buckets(options_.relative_bias);
  relative_buckets_.assign(buckets.begin(), buckets.end());
}

LayerDescription MultiHeadAttention::describe() const {
  LayerDescription description = AttentionLayer::describe();
  description.biases = kBiasesOption;
  LayerAttention& attention = description.attention;
  attention.is_multi_head = options_.scoring == Scoring::DotProduct;
  attention.num_heads = options_.num_heads;
  attention.num_kv_heads = options_.num_kv_heads;
  attention.head_size = options_.head_size;
  attention.options = options_.attention;
  attention.rope = options_.rope;
  attention.qk_norm_epsilon = options_.qk_norm_epsilon;
  attention.qk_norm = options_.qk_norm;
  attention.sinks = options_.sinks;
  attention.relative_bias = options_.relative_bias;
  attention.alibi = options_.alibi;
  return description;
}

std::optional<CachedLayer> MultiHeadAttention::cached_layer() const {
  if (options_.scoring != Scoring::DotProduct) return std::nullopt;
  CachedLayer layer;
  layer.num_kv_heads = options_.num_kv_heads;
  layer.head_size = options_.head_size;
  layer.value_head_size = options_.value_head_size;
  layer.options = &options_.attention;
  layer.rotary = rotary_ != nullptr ? &rotary_->table() : nullptr;
  if (rotary_ != nullptr && rotary_->short_table() != nullptr) {
    layer.short_rotary = &rotary_->short_table();
    layer.short_length = rotary_->options().original_length;
  }
  layer.reads_distances = position_use().reads_distances;
  return layer;
}

PositionUse MultiHeadAttention::position_use() const {
  return {.rotates = rotary_ != nullptr,
          .reads_distances = options_.alibi != AlibiUse::None || options_.relative_bias.kind != RelativeBias::None};
}

int64_t MultiHeadAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  const int64_t batch = check_sequences(inputs);
  const Visibility& visibility = *inputs.visibility;
  if (options_.alibi != AlibiUse::None && visibility.alibi_slopes != nullptr) {
    fail(Status::InvalidArgument,
         INPUT("alibi_slopes") " is set, but the " WORD("layer") " has slopes of its own, by " OPTION(
             "alibi") ": expected " WORD("NULL"));
  }
  if (options_.sinks && visibility.sinks != nullptr)
    fail(Status::InvalidArgument,
         INPUT("sinks") " is set, but the " WORD("layer") " has the parameter sinks: expected " WORD("NULL"));
  const Value& queries = rows_of(inputs);
  shapes.dtype = queries.dtype();
  shapes.is_packed = is_packed(inputs);
  if (shapes.is_packed) {
    shapes.output = {queries.dim(0), options_.output_size};
    shapes.log_sum_exp.emplace({options_.num_heads, queries.dim(0)});
    return batch;
  }
  shapes.output = {queries.dim(0), queries.dim(1), options_.output_size};
  const int64_t num_constant_keys = (options_.add_bias_kv ? 1 : 0) + (options_.add_zero_attn ? 1 : 0);
  // With a cache, the rows of its sequences are added later.
  const int64_t num_keys = inputs.cache != nullptr ? 0 : inputs.keys.dim(1);
  shapes.weights.emplace({queries.dim(0), options_.num_heads, queries.dim(1), num_keys + num_constant_keys});
  shapes.log_sum_exp.emplace({queries.dim(0), options_.num_heads, queries.dim(1)});
  return batch;
}

ProjectionParameters MultiHeadAttention::parameters_of(size_t weight) const {
  return {*parameter_of(weight), parameter_of(weight + 1)};
}

void MultiHeadAttention::set_attention(const InputValues& inputs, AttentionProblem& problem) const {
  const int32_t rows = row_axis(inputs);
  problem.batch = batch_of(inputs);
  problem.num_heads = options_.num_heads;
  problem.num_kv_heads = options_.num_kv_heads;
  const int64_t num_rows = rows_of(inputs).dim(rows);
  problem.limits = unlimited(num_rows, inputs.cache != nullptr ? num_rows : inputs.keys.dim(rows));
  problem.head_size = options_.head_size;
  problem.value_head_size = options_.value_head_size;
  problem.scoring = options_.scoring;
}

HeadTransform MultiHeadAttention::head_transform() const {
  HeadTransform transform;
  if (options_.qk_norm_epsilon > 0) {
    transform.norm = options_.qk_norm == QkNorm::Layer ? NormKind::Layer : NormKind::Rms;
    transform.epsilon = options_.qk_norm_epsilon;
  }
  if (rotary_ != nullptr) rotary_->set(transform);
  return transform;
}

void MultiHeadAttention::set_score_terms(Schedule& schedule, AttentionProblem& problem) const {
  if (alibi_slopes_) schedule.set_operand(problem.alibi_slopes, *alibi_slopes_, {-1, 0, -1, -1});
  if (options_.sinks) schedule.set_operand(problem.sinks, parameter_of(kSinks)->value(), {-1, 0, -1, -1});
  if (options_.add_bias_kv) {
    schedule.set_operand(problem.bias_key, parameter_of(kBiasKey)->value(), {-1, -1, -1, 0});
    problem.bias_key.strides[1] = options_.head_size;
    schedule.set_operand(problem.bias_value, parameter_of(kBiasValue)->value(), {-1, -1, -1, 0});
    problem.bias_value.strides[1] = options_.value_head_size;
  }
  problem.has_zero_key = options_.add_zero_attn ? 1 : 0;
  if (options_.relative_bias.kind == RelativeBias::None) return;
  schedule.set_operand(problem.relative_bias, parameter_of(kRelativeBias)->value(), {-1, 1, -1, 0});
  problem.buckets = relative_buckets_.data();
  problem.num_buckets = options_.relative_bias.num_buckets;
  problem.max_distance = options_.relative_bias.max_distance;
}

void MultiHeadAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  AttentionProblem& attention = *call.attention;
  const bool has_cache = attention.cached.given != 0;
  const bool appends = attention.cached.appends != 0;
  const bool has_queries = !fills_cache(call.inputs);
  // Weights and log_sum_exp do not depend on values, but a cache keeps them.
  const bool needs_values = has_cache ? appends : outputs.output.is_given();
  const bool unrotates = has_cache && rotary_ != nullptr && call.inputs.cache->cache->options().unrotated_keys;
  HeadTransform transform = head_transform();
  transform.keeps_order = keeps_order(has_cache) ? 1 : 0;
  HeadTransform of_keys = transform;
  if (unrotates) {
    of_keys.layout = RotaryLayout::None;
    of_keys.rotary_size = of_keys.rotary_offset = 0;
  }
  const RotaryPositions::Rotations rotations =
      rotary_ != nullptr ? rotary_->add(schedule, call) : RotaryPositions::Rotations{};
  if (call.saved != nullptr) {
    call.saved[kSavedQueryRotations] = rotations.of_queries;
    call.saved[kSavedKeyRotations] = rotations.of_keys;
  }
  const auto given = [](const HeadTransform& of_head) { return of_head.is_given() ? &of_head : nullptr; };
  const WantedRows wanted = queries_wanted(call);
  const bool saves_sums = call.saved != nullptr && transform.norm != NormKind::None;
  const Projected all[] = {
      {ProjectedInput::Queries, parameters_of(kQueryWeight), options_.head_size, wanted, given(transform),
       parameter_of(kQueryNorm), rotations.of_queries, saves_sums ? &call.saved[kSavedQuerySums] : nullptr},
      {ProjectedInput::Keys, parameters_of(kKeyWeight), options_.head_size, has_cache ? wanted : WantedRows::Visible,
       given(of_keys), parameter_of(kKeyNorm), unrotates ? Value() : rotations.of_keys,
       saves_sums ? &call.saved[kSavedKeySums] : nullptr},
      {ProjectedInput::Values, parameters_of(kValueWeight), options_.value_head_size,
       has_cache ? wanted : values_read(attention)}};
  // Queries alone are projected where the cache has the keys, keys and values alone where it gets them.
  const size_t first = has_queries ? 0 : 1;
  const size_t end = needs_values ? 3 : (has_cache ? 1 : 2);
  const std::array<Value, kMaxLinearParts> projected =
      project(schedule, call.inputs, attention.limits, std::span(all).subspan(first, end - first));
  const Value queries = has_queries ? projected[0] : Value();
  const Value keys = end > 1 ? projected[1 - first] : Value();
  const Value values = needs_values ? projected[2 - first] : Value();
  const Value cached_rotations = unrotates && has_queries ? rotary_->add_cached_keys(schedule, call) : Value();

  const bool packed = is_packed(call.inputs);
  const int32_t batch = batch_axis(call.inputs);
  schedule.add(has_queries ? "attention" : "store keys and values", attention);
  if (has_queries) schedule.set_operand(attention.queries, queries, {batch, 1, 2, 3});
  if (keys.is_given()) schedule.set_operand(attention.keys, keys, {batch, 1, 2, 3});
  if (cached_rotations.is_given()) {
    schedule.set_operand(attention.cached.rotations, cached_rotations, {0, -1, 1, 2});
    attention.cached.rotary_size = rotary_->options().rotary_size;
    attention.cached.rotary_offset = rotary_->options().rotary_offset;
    attention.cached.rotary_layout = static_cast<int32_t>(rotary_->options().layout);
  }
  if (options_.scoring == Scoring::Additive)
    schedule.set_operand(attention.score_weights, parameter_of(kScoreWeights)->value(), {-1, 0, -1, 1});
  set_score_terms(schedule, attention);
  if (needs_values) schedule.set_operand(attention.values, values, {batch, 1, 2, 3});
  if (outputs.weights.is_given()) schedule.set_operand(attention.weights, outputs.weights, {0, 1, 2, 3});
  const Value log_sum_exp = saved_log_sum_exp(schedule, call, outputs.log_sum_exp);
  if (log_sum_exp.is_given()) set_numbers_of_heads(schedule, attention.log_sum_exp, log_sum_exp);
  if (call.saved != nullptr) std::ranges::copy(std::array{queries, keys, values}, call.saved + kSavedQueries);
  if (!outputs.output.is_given()) return;

  const bool is_output = options_.no_output_projection && call.saved == nullptr;
  const Value merged = is_output
                           ? outputs.output
                           : reserve_rows(schedule, call.inputs.queries, options_.num_heads, options_.value_head_size);
  set_heads(schedule, attention.output, merged, options_.num_heads, options_.value_head_size);
  if (call.saved != nullptr) call.saved[kSavedOutput] = merged;
  OutputValues written = outputs;
  written.log_sum_exp = log_sum_exp;
  if (options_.no_output_projection) {
    written.output = merged;
    add_copies_of_results(schedule, written, outputs);
    return;
  }
  add_copies_of_results(schedule, written, outputs);
  const int32_t rows = row_axis(call.inputs);
  LinearProblem& linear = schedule.add<LinearProblem>("project output");
  linear.batch = packed ? 1 : attention.batch;
  linear.rows = merged.dim(rows);
  linear.input_size = options_.num_heads * options_.value_head_size;
  schedule.set_operand(linear.input, merged, {-1, batch, rows, rows + 1});
  LinearPart& part = linear.parts[0];
  set_parameters(schedule, part, parameters_of(kOutputWeight));
  if (call.inputs.sequences->query_lens != nullptr) {
    linear.limits = attention.limits;
    part.wanted_rows = WantedRows::Queries;
    part.zeroes_unwanted = 1;
  }
  schedule.set_operand(part.output, outputs.output, {-1, batch, rows, rows + 1});
  part.scale = outputs.scale;
  if (outputs.addend.is_given()) schedule.set_operand(part.addend, outputs.addend, {-1, batch, rows, rows + 1});
}

void MultiHeadAttention::compose_backward(Schedule& schedule, const LayerCall& call,
                                          const GradientValues& gradients) const {
  const InputValues& inputs = call.inputs;
  const auto add_projection = [&](size_t weight, const Value& input, const Value& of_output, float scale,
                                  const InputGradient& to, const RowsWithGradient& rows,
                                  const char* parameters_operation, const char* input_operation) {
    add_linear_backward(schedule, context(),
                        {.parameters = parameters_of(weight),
                         .input = input,
                         .output_gradient = of_output,
                         .scale = scale,
                         .weight = gradient_of(call, weight),
                         .bias = gradient_of(call, weight + 1),
                         .input_gradient = to,
                         .rows = rows,
                         .parameters_operation = parameters_operation,
                         .input_operation = input_operation});
  };
  const RowsWithGradient query_rows = rows_with_gradient(call, ProjectedInput::Queries);
  const Value merged = call.saved[kSavedOutput];
  Value of_merged = gradients.output;
  if (!options_.no_output_projection) {
    of_merged = reserve_rows(schedule, inputs.queries, options_.num_heads, options_.value_head_size);
    add_projection(kOutputWeight, merged, gradients.output, gradients.scale, {of_merged}, query_rows,
                   "gradients of the output projection's parameters", "gradient of the attention's output");
  }

  const auto is_needed = [&](size_t weight, const InputGradient& to) {
    return to.is_wanted() || gradient_of(call, weight) != nullptr || gradient_of(call, weight + 1) != nullptr;
  };
  const auto reserve_if = [&](bool is_wanted, const Value& like, int64_t num_heads, int64_t head_size) {
    return is_wanted ? reserve_rows(schedule, like, num_heads, head_size) : Value();
  };
  const bool needs_norms = gradient_of(call, kQueryNorm) != nullptr || gradient_of(call, kKeyNorm) != nullptr;
  const Value of_queries = reserve_if(is_needed(kQueryWeight, gradients.queries) || needs_norms, inputs.queries,
                                      options_.num_heads, options_.head_size);
  const Value of_keys = reserve_if(is_needed(kKeyWeight, gradients.keys) || needs_norms, inputs.keys,
                                   options_.num_kv_heads, options_.head_size);
  const Value of_values = reserve_if(is_needed(kValueWeight, gradients.values), inputs.values, options_.num_kv_heads,
                                     options_.value_head_size);
  AttentionBackwardProblem& problem = add_attention_backward(schedule, call, gradients);
  const int32_t batch = batch_axis(inputs);
  schedule.set_operand(problem.forward.queries, call.saved[kSavedQueries], {batch, 1, 2, 3});
  schedule.set_operand(problem.forward.keys, call.saved[kSavedKeys], {batch, 1, 2, 3});
  schedule.set_operand(problem.forward.values, call.saved[kSavedValues], {batch, 1, 2, 3});
  set_heads(schedule, problem.forward.output, merged, options_.num_heads, options_.value_head_size);
  set_numbers_of_heads(schedule, problem.forward.log_sum_exp, call.saved[kSavedLogSumExp]);
  set_heads(schedule, problem.output_gradient, of_merged, options_.num_heads, options_.value_head_size);
  if (of_queries.is_given())
    set_heads(schedule, problem.queries_gradient, of_queries, options_.num_heads, options_.head_size);
  if (of_keys.is_given())
    set_heads(schedule, problem.keys_gradient, of_keys, options_.num_kv_heads, options_.head_size);
  if (of_values.is_given())
    set_heads(schedule, problem.values_gradient, of_values, options_.num_kv_heads, options_.value_head_size);
  set_parameter_sums(schedule, call, problem);
  if (of_queries.is_given()) compose_transform_backward(kQueryNorm, schedule, call, of_queries);
  if (of_keys.is_given()) compose_transform_backward(kKeyNorm, schedule, call, of_keys);

  if (of_queries.is_given()) {
    add_projection(kQueryWeight, inputs.queries, of_queries, 1, gradients.queries, query_rows, kQueryParameters,
                   kQueryInput);
  }
  if (of_keys.is_given()) {
    add_projection(kKeyWeight, inputs.keys, of_keys, 1, gradients.keys, rows_with_gradient(call, ProjectedInput::Keys),
                   kKeyParameters, kKeyInput);
  }
  if (of_values.is_given()) {
    add_projection(kValueWeight, inputs.values, of_values, 1, gradients.values,
                   rows_with_gradient(call, ProjectedInput::Values), kValueParameters, kValueInput);
  }
}

void MultiHeadAttention::compose_transform_backward(size_t norm, Schedule& schedule, const LayerCall& call,
                                                    const Value& of_heads) const {
  HeadTransform transform = head_transform();
  if (!transform.is_given()) return;
  const bool of_queries = norm == kQueryNorm;
  transform.keeps_order = keeps_order(false) ? 1 : 0;
  const int32_t row_axis = of_heads.rank() - 2;
  auto& problem =
      schedule.add<HeadTransformBackwardProblem>(of_queries ? "gradient of the queries before norm and rotation"
                                                            : "gradient of the keys before norm and rotation");
  problem.batch = row_axis == 0 ? 1 : of_heads.dim(0);
  problem.rows = of_heads.dim(row_axis);
  problem.num_heads = of_queries ? options_.num_heads : options_.num_kv_heads;
  problem.head_size = options_.head_size;
  for (Operand* const operand : {&problem.output_gradient, &problem.sum_gradient}) {
    set_heads(schedule, *operand, of_heads, problem.num_heads, options_.head_size);
    // The axes of heads and of the batch change places.
    std::swap(operand->strides[0], operand->strides[1]);
  }
  const Projected of_rows = {.input = of_queries ? ProjectedInput::Queries : ProjectedInput::Keys,
                             .parameters = parameters_of(of_queries ? kQueryWeight : kKeyWeight),
                             .head_size = options_.head_size,
                             .transform = &transform,
                             .norm_weight = parameter_of(norm),
                             .rotations = call.saved[of_queries ? kSavedQueryRotations : kSavedKeyRotations]};
  set_transform(schedule, problem.transform, of_rows);
  if (transform.norm == NormKind::None) return;
  schedule.set_operand(problem.sum, call.saved[of_queries ? kSavedQuerySums : kSavedKeySums], {1, 0, 2, 3});
  GradientSum* const sum = gradient_of(call, norm);
  if (sum == nullptr) return;
  const bool is_shared = sum->to.rank() == 1;
  schedule.set_operand(problem.norm_weight_gradient, sum->to, {is_shared ? -1 : 0, -1, -1, is_shared ? 0 : 1});
  problem.accumulates = sum->begin() ? 1 : 0;
}

void MultiHeadAttention::set_parameter_sums(Schedule& schedule, const LayerCall& call,
                                            AttentionBackwardProblem& problem) const {
  const auto set = [&](Operand& operand, SummedGradient bit, size_t parameter, const int32_t(&axes)[kOperandRank]) {
    set_sum(schedule, problem, operand, bit, gradient_of(call, parameter), axes);
  };
  set(problem.score_weights_gradient, SummedGradient::ScoreWeights, kScoreWeights, {-1, 0, -1, 1});
  set(problem.relative_bias_gradient, SummedGradient::RelativeBias, kRelativeBias, {-1, 1, -1, 0});
  set(problem.sinks_gradient, SummedGradient::Sinks, kSinks, {-1, 0, -1, -1});
  set(problem.bias_key_gradient, SummedGradient::BiasKey, kBiasKey, {-1, -1, -1, 0});
  set(problem.bias_value_gradient, SummedGradient::BiasValue, kBiasValue, {-1, -1, -1, 0});
  problem.bias_key_gradient.strides[1] = options_.head_size;
  problem.bias_value_gradient.strides[1] = options_.value_head_size;
}

void MultiHeadAttention::write_options(JsonWriter& json) const {
  json.member("num_hiddens", options_.num_hiddens);
  json.member("num_heads", options_.num_heads);
  json.member("num_kv_heads", options_.num_kv_heads);
  json.member("head_size", options_.head_size);
  json.member("value_head_size", options_.value_head_size);
  // Options without an output projection require an output_size of 0.
  json.member("output_size", options_.no_output_projection ? 0 : options_.output_size);
  json.member("no_output_projection", options_.no_output_projection);
  json.key("biases");
  json.begin_array();
  constexpr std::pair<int32_t, const char*> kBits[] = {{kBiasQ, "q"}, {kBiasK, "k"}, {kBiasV, "v"}, {kBiasO, "o"}};
  for (const auto& [bit, name] : kBits) {
    if ((options_.biases & bit) != 0) json.value(name);
  }
  json.end_array();
  json.member("scoring", options_.scoring == Scoring::Additive ? "additive" : "dot_product");
  heed::write_options(options_.attention, json);
  if (options_.qk_norm_epsilon > 0) {
    json.member("qk_norm", options_.qk_norm == QkNorm::Layer ? "layer" : "rms");
    json.member("qk_norm_epsilon", options_.qk_norm_epsilon);
  }
  if (options_.rope) {
    json.key("rope");
    json.begin_object();
    heed::write_options(*options_.rope, json);
    json.end_object();
  }
  heed::write_options(options_.relative_bias, json);
  if (options_.sinks) json.member("sinks", true);
  if (options_.add_bias_kv) json.member("add_bias_kv", true);
  if (options_.add_zero_attn) json.member("add_zero_attn", true);
  if (options_.alibi != AlibiUse::None) json.member("alibi", options_.alibi == AlibiUse::Scaled ? "scaled" : "added");
}

}  // namespace heed
