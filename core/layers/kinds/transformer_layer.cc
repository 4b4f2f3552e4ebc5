// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/transformer_layer.h"

#include <cinttypes>
#include <cmath>
#include <utility>

#include "attention/options.h"
#include "base/decimal_text.h"
#include "base/error.h"
#include "layers/backward/added_gradients.h"
#include "layers/cache_call.h"
#include "layers/errors_of_member.h"
#include "layers/kinds/dropout.h"
#include "tensor/dtype_term.h"

namespace heed {
namespace {

// The child that decoder layers have between self-attention and feed-forward.
constexpr size_t kCrossAttention = 1;
constexpr const char* kNoEmbedding = KIND("%s %s layer") " has no embedding: expected " WORD("NULL");
constexpr ChildRole kNormRoles[] = {ChildRole::Norm1, ChildRole::Norm2, ChildRole::Norm3};
constexpr ChildRole kOutputNormRoles[] = {ChildRole::OutputNorm1, ChildRole::OutputNorm2, ChildRole::OutputNorm3};
constexpr const char* kDropoutNames[] = {"dropout_1", "dropout_2", "dropout_3"};

// Makes a child. In errors of its options "options->" becomes "options-><member>->".
template <typename Kind, typename Options>
std::shared_ptr<Layer> make_child(const std::shared_ptr<Context>& context, const Options& options, const char* member) {
  const ErrorsOfMember errors(member);
  return errors.of([&] { return host_make_shared<Kind>(context->host_allocator(), context, options); });
}

// Throws unless the attention maps rows of `size` to rows of `size`.
void check_attention(const MultiHeadAttentionOptions& options, const char* member, int64_t size) {
  if (options.num_hiddens < 1) {
    fail(Status::InvalidArgument,
         OPTION("%s->num_hiddens") " is %" PRId64 ", expected at least 1, the size of the rows", member,
         options.num_hiddens);
  }
  if (options.num_hiddens != size) {
    fail(Status::InvalidArgument,
         OPTION("%s->num_hiddens") " is %" PRId64 ", expected %" PRId64 ", as " MEMBER("self_attention") " has", member,
         options.num_hiddens, size);
  }
  if (options.output_size != 0 && options.output_size != size) {
    fail(Status::InvalidArgument,
         OPTION("%s->output_size") " is %" PRId64 ", expected %" PRId64
                                   " or 0: it is added to rows of " MEMBER("num_hiddens"),
         member, options.output_size, size);
  }
  if (options.no_output_projection) {
    fail(Status::InvalidArgument,
         OPTION("%s->no_output_projection") " is " FLAG("no_output_projection", "1") ", expected " FLAG(
             "no_output_projection", "0") ": the output is added to rows of " MEMBER("num_hiddens"),
         member);
  }
}

// The feed-forward network of rows of `size`.
std::shared_ptr<Layer> make_feed_forward(const std::shared_ptr<Context>& context, FeedForwardOptions options,
                                         int64_t size) {
  if (options.output_size != 0 && options.output_size != size) {
    fail(Status::InvalidArgument,
         OPTION("feed_forward->output_size") " is %" PRId64 ", expected %" PRId64
                                             " or 0: it is added to rows of " MEMBER("num_hiddens"),
         options.output_size, size);
  }
  options.output_size = size;
  return make_child<FeedForward>(context, options, "feed_forward");
}

std::shared_ptr<Layer> make_attention(const std::shared_ptr<Context>& context, const MultiHeadAttentionOptions& options,
                                      const char* member, int64_t size) {
  check_attention(options, member, size);
  return make_child<MultiHeadAttention>(context, options, member);
}

}  // namespace

// ---- what both kinds share ------------------------------------------------------------------------------------------

namespace {

void check_options(const TransformerLayerOptions& options) {
  check_dropout(options.dropout);
  for (const auto& [name, is_set] :
       {std::pair{"output_norms", options.output_norms}, {"no_first_norm", options.no_first_norm}}) {
    if (is_set && !options.norm_first)
      fail(Status::InvalidArgument,
           OPTION("%s") " is " FLAG("%s", "1") ", but " OPTION("norm_first") " is " FLAG("norm_first",
                                                                                         "0") ": expected both",
           name, name);
  }
  if (!std::isfinite(options.residual_scale)) {
    fail(Status::InvalidArgument, OPTION("residual_scale") " is %s, expected a finite number",
         DecimalText(static_cast<double>(options.residual_scale), 9).c_str());
  }
  if (options.output_norms && options.residual_scale != 0 && options.residual_scale != 1) {
    fail(Status::InvalidArgument,
         OPTION("residual_scale") " is %s, but " OPTION("output_norms") " is " FLAG(
             "output_norms", "1") ": expected one of them, since a norm undoes a factor before it",
         DecimalText(static_cast<double>(options.residual_scale), 9).c_str());
  }
}

std::vector<Layer::NamedLayer> children_of(const std::shared_ptr<Context>& context,
                                           std::span<const TransformerLayer::Sublayer> sublayers,
                                           const TransformerLayerOptions& options) {
  check_options(options);
  std::vector<Layer::NamedLayer> children;
  for (const auto& [role, layer] : sublayers) children.push_back(Layer::as_child(role, layer));
  for (size_t i = options.no_first_norm ? 1 : 0; i < sublayers.size(); ++i)
    children.push_back(Layer::as_child(kNormRoles[i], make_child<LayerNorm>(context, options.norm, "norm")));
  for (size_t i = 0; options.output_norms && i < sublayers.size(); ++i)
    children.push_back(Layer::as_child(kOutputNormRoles[i], make_child<LayerNorm>(context, options.norm, "norm")));
  for (size_t i = 0; i < sublayers.size(); ++i)
    children.push_back({kDropoutNames[i], host_make_shared<Dropout>(context->host_allocator(), context,
                                                                    DropoutOptions{options.dropout})});
  return children;
}

}  // namespace

TransformerLayer::TransformerLayer(const std::shared_ptr<Context>& context, std::span<const Sublayer> sublayers,
                                   const TransformerLayerOptions& options, int64_t size)
    : Layer(context, {}, kNoParameters, children_of(context, sublayers, options)),
      num_sublayers_(sublayers.size()),
      dropout_(options.dropout),
      size_(size) {
  block_.norm = options.norm.kind;
  block_.epsilon = double{epsilon_of(options.norm)};
  block_.norm_first = options.norm_first;
  block_.output_norms = options.output_norms;
  block_.no_first_norm = options.no_first_norm;
  if (options.residual_scale != 0) block_.residual_scale = options.residual_scale;
  block_.activation = options.feed_forward.activation;
}

LayerDescription TransformerLayer::describe() const {
  LayerDescription description;
  description.block = block_;
  for (size_t i = 0; i < num_children(); ++i) {
    const char* const of_others = i < num_sublayers_ ? "feed_forward" : "norm";
    description.children.push_back({.options = i < num_attentions() ? options_of_attention(i) : of_others});
  }
  return description;
}

namespace {

// What cross attention reads in a call that fills a cache with the encoder's output.
InputValues stored_rows(const InputValues& inputs) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [queries, keys, values, sequences, visibility, cache, decoder, token_types, layer_offset, memory,
               wanted_output, encoder_lens] = inputs;
  return {.keys = keys,
          .values = keys,
          .sequences = sequences,
          .visibility = visibility,
          .cache = cache,
          .cache_layer_offset = layer_offset};
}

}  // namespace

namespace {

// Of an attention whose keys and values are its queries: their gradients are one sum.
GradientValues self_attention_gradients(const InputGradient& rows, ScoreGradients* scores) {
  GradientValues gradients;
  gradients.queries = rows;
  gradients.keys = gradients.values = {rows.to, rows.to};
  gradients.scores = scores;
  return gradients;
}

}  // namespace

void TransformerLayer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  if (fills_cache(call.inputs)) {
    check_child(kCrossAttention, stored_rows(call.inputs), schedule, purpose, call);
    return;
  }
  const Value& input = call.inputs.queries;
  const bool packed = is_packed(call.inputs);
  const int32_t rank = packed ? 2 : 3;
  if (input.rank() != rank || input.dim(rank - 1) != size_) {
    fail(Status::InvalidArgument, INPUT("queries") " has " ARGUMENT("dims") " %s, expected (%s, %" PRId64 ")",
         to_string(input.shape()).c_str(), packed ? "total" : "B, S", size_);
  }
  make_children(schedule, call);
  const auto check_rows = [&](size_t child, const Value& rows) {
    check_child(child, rows_alone(rows), schedule, purpose, call);
  };
  // The input of a sublayer and, after it, its norm.
  Value rows = input;
  for (size_t i = 0; i < num_sublayers_; ++i) {
    const bool is_last = i + 1 == num_sublayers_;
    const bool is_normalized = block_.norm_first && has_norm(i);
    if (is_normalized) check_rows(norm_of(i), rows);
    const Value from = is_normalized ? Value(schedule.reserve_spread(input.shape())) : rows;
    if (i < num_attentions()) {
      check_child(i, attention_inputs(i, call, from, schedule), schedule, purpose, call);
      if (i == 0 && call.inputs.sequences->query_lens != nullptr) call.row_limits = &call.children[0].attention->limits;
    } else {
      check_rows(i, from);
    }
    if (block_.output_norms) check_rows(output_norm_of(i), schedule.reserve_spread(input.shape()));
    if (!block_.norm_first || !is_last) rows = schedule.reserve_spread(input.shape());
    // A norm behind the sum is in place, unless its backward reads the sum.
    if (!block_.norm_first)
      check_rows(norm_of(i), schedule.saves_arrays() ? Value(schedule.reserve_spread(input.shape())) : rows);
    if (drops(call)) check_rows(dropout_of(i), schedule.reserve_spread(input.shape()));
  }
  for (size_t i = num_attentions(); i < num_children(); ++i) call.children[i].row_limits = call.row_limits;
  call.shapes.dtype = input.dtype();
  call.shapes.is_packed = packed;
  call.shapes.output = input.shape();
}

void TransformerLayer::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  if (fills_cache(call.inputs)) return compose_child(kCrossAttention, schedule, call, {});
  const auto input_of = [&call](size_t child) { return call.children[child].inputs.queries; };
  for (size_t i = 0; i < num_sublayers_; ++i) {
    const bool is_last = i + 1 == num_sublayers_;
    // What the sublayer adds to, and where the sum and the next sublayer's rows are.
    const bool is_normalized = block_.norm_first && has_norm(i);
    const Value residual = is_normalized ? input_of(norm_of(i)) : input_of(i);
    const Value next = is_last ? outputs.output : (block_.norm_first ? input_of(norm_of(i + 1)) : input_of(i + 1));
    const Value sum = block_.norm_first ? next : input_of(norm_of(i));
    OutputValues normalized;
    normalized.output = block_.norm_first ? input_of(i) : next;
    if (is_normalized) compose_child(norm_of(i), schedule, call, normalized);
    // Each of these children reads what the one before wrote; the last one adds the residual.
    size_t chain[3] = {i};
    size_t length = 1;
    if (block_.output_norms) chain[length++] = output_norm_of(i);
    if (drops(call)) chain[length++] = dropout_of(i);
    for (size_t k = 0; k < length; ++k) {
      OutputValues result;
      result.output = k + 1 < length ? input_of(chain[k + 1]) : sum;
      if (k + 1 == length) result.addend = residual;
      if (k == 0) result.scale = static_cast<float>(block_.residual_scale);
      compose_child(chain[k], schedule, call, result);
    }
    if (!block_.norm_first) compose_child(norm_of(i), schedule, call, normalized);
  }
}

void TransformerLayer::compose_sublayer_backward(size_t sublayer, Schedule& schedule, const LayerCall& call,
                                                 const GradientValues& gradients, const Value& of_output,
                                                 const InputGradient& rows) const {
  Value of_result = of_output;
  const auto add_before = [&](size_t child) {
    GradientValues of_child;
    of_child.output = of_result;
    of_result = schedule.reserve_spread(of_output.shape());
    of_child.queries = {of_result};
    compose_child_backward(child, schedule, call, of_child);
  };
  if (drops(call)) add_before(dropout_of(sublayer));
  if (block_.output_norms) add_before(output_norm_of(sublayer));
  GradientValues of_child;
  if (sublayer < num_attentions())
    of_child = attention_gradients(sublayer, rows, gradients);
  else
    of_child.queries = rows;
  of_child.output = of_result;
  of_child.scale = static_cast<float>(block_.residual_scale);
  compose_child_backward(sublayer, schedule, call, of_child);
}

void TransformerLayer::compose_backward(Schedule& schedule, const LayerCall& call,
                                        const GradientValues& gradients) const {
  const Shape shape = call.inputs.queries.shape();
  Value of_output = gradients.output;
  for (size_t i = num_sublayers_; i-- > 0;) {
    // By the rows that the sublayer adds to; the residual takes the gradient of the sum there as it is.
    InputGradient rows = {schedule.reserve_spread(shape)};
    if (i == 0) rows = {gradients.queries.is_wanted() ? written_gradient(schedule, gradients.queries, shape) : Value()};
    const bool is_normalized = block_.norm_first && has_norm(i);
    Value of_sum = of_output;
    if (!block_.norm_first) {
      of_sum = schedule.reserve_spread(shape);
      GradientValues of_norm;
      of_norm.output = of_output;
      of_norm.queries = {of_sum};
      compose_child_backward(norm_of(i), schedule, call, of_norm);
    }
    if (rows.is_wanted()) rows.addend = of_sum;
    if (is_normalized) {
      GradientValues of_norm;
      of_norm.output = schedule.reserve_spread(shape);
      of_norm.queries = rows;
      compose_sublayer_backward(i, schedule, call, gradients, of_sum, {of_norm.output});
      compose_child_backward(norm_of(i), schedule, call, of_norm);
    } else {
      compose_sublayer_backward(i, schedule, call, gradients, of_sum, rows);
    }
    of_output = rows.to;
  }
  add_addend(schedule, of_output, gradients.queries);
}

void TransformerLayer::write_common_options(JsonWriter& json) const {
  write_child_options(num_sublayers_ - 1, "feed_forward", json);
  write_child_options(norm_of(1), "norm", json);
  json.member("norm_first", block_.norm_first);
  json.member("output_norms", block_.output_norms);
  json.member("no_first_norm", block_.no_first_norm);
  json.member("residual_scale", static_cast<float>(block_.residual_scale));
  json.member("dropout", dropout_);
}

// ---- encoder --------------------------------------------------------------------------------------------------------

EncoderLayer::EncoderLayer(const std::shared_ptr<Context>& context, const EncoderLayerOptions& options)
    : TransformerLayer(
          context,
          std::vector<Sublayer>{{ChildRole::SelfAttention, make_attention(context, options.attention, "attention",
                                                                          options.attention.num_hiddens)},
                                {ChildRole::FeedForward,
                                 make_feed_forward(context, options.feed_forward, options.attention.num_hiddens)}},
          options, options.attention.num_hiddens) {}

LayerInputs EncoderLayer::check_tensors(const LayerInputs& inputs) const {
  check_queries(inputs);
  return inputs;
}

RowMasks EncoderLayer::row_masks(const LayerInputs& inputs) const { return masks_of_encoder(inputs); }

InputRules EncoderLayer::input_rules(const LayerInputs&) const {
  static constexpr auto kRefusals = encoder_refusals(kNoEmbedding);
  static_assert(covers_all_inputs({kEncoderReads, kRefusals}));
  return {kEncoderReads, kRefusals};
}

InputValues EncoderLayer::attention_inputs(size_t, const LayerCall& call, const Value& queries, Schedule&) const {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [rows, keys, values, sequences, visibility, cache, decoder, token_types, layer_offset, memory,
               wanted_output, encoder_lens] = call.inputs;
  return {.queries = queries, .keys = queries, .values = queries, .sequences = sequences, .visibility = visibility};
}

GradientValues EncoderLayer::attention_gradients(size_t, const InputGradient& queries,
                                                 const GradientValues& gradients) const {
  return self_attention_gradients(queries, gradients.scores);
}

void EncoderLayer::write_options(JsonWriter& json) const {
  write_child_options(0, "attention", json);
  write_common_options(json);
}

// ---- decoder --------------------------------------------------------------------------------------------------------

void check_decoder_settings(const LayerInputs& inputs, bool has_cross_attention, const char* kind) {
  const bool fills = fills_cache(inputs.cache);
  if (fills && !has_cross_attention) {
    fail(Status::Unsupported,
         KIND("a %s layer") " without cross attention was to fill a cache, expected " FUNCTION(
             "heed_layer_forward") ": self-attention appends to its cache there",
         kind);
  }
  if (fills && inputs.queries != nullptr) {
    fail(Status::InvalidArgument,
         INPUT("queries") " is set, expected " WORD("NULL") ": " KIND(
             "a %s layer") " fills a cache with the keys and values of the encoder's output",
         kind);
  }
  const CacheInputs* const memory_cache = inputs.decoder.memory_cache;
  if (memory_cache != nullptr) {
    if (memory_cache->appends()) {
      fail(Status::InvalidArgument,
           INPUT("%s->use") " is " CONSTANT("HEED_CACHE_APPEND") ", expected " CONSTANT(
               "HEED_CACHE_READ") ": " FUNCTION("heed_layer_fill_cache") " has stored the rows",
           memory_cache->path);
    }
    for (const auto& [name, tensor] : {std::pair{INPUT("keys"), inputs.keys},
                                       {INPUT("decoder->memory"), inputs.decoder.memory},
                                       {INPUT("valid_lens"), inputs.visibility.valid_lens},
                                       {kAttentionMask, inputs.attention_mask}}) {
      if (tensor == nullptr) continue;
      fail(Status::InvalidArgument,
           "%s is set, but so is " INPUT("%s") ", which has the keys and their number: expected " WORD("NULL"), name,
           memory_cache->path);
    }
  }
  if (inputs.cache != nullptr && !inputs.cache->appends()) {
    fail(Status::InvalidArgument,
         INPUT("cache->use") " is " CONSTANT("HEED_CACHE_READ") ", expected " CONSTANT(
             "HEED_CACHE_APPEND") ": self-attention of " KIND("a %s layer") " appends rows",
         kind);
  }
}

RowMasks masks_of_encoder(const LayerInputs& inputs) {
  return {.of_queries = inputs.attention_mask, .queries_name = kAttentionMask};
}

RowMasks masks_of_decoder(const LayerInputs& inputs, bool has_cross_attention) {
  const Tensor* const of_self = inputs.decoder.self_attention_mask;
  const bool fills = fills_cache(inputs.cache);
  if (has_cross_attention) {
    return {.of_queries = fills ? nullptr : of_self,
            .queries_name = kSelfAttentionMask,
            .of_keys = inputs.attention_mask,
            .keys_name = kAttentionMask,
            .stores_keys = fills,
            .has_decoder = true};
  }
  if (of_self != nullptr && inputs.attention_mask != nullptr) {
    fail(Status::InvalidArgument,
         "%s is set, but so is %s, and without cross attention both are of the same rows: expected " WORD(
             "NULL") " for one of them",
         kAttentionMask, kSelfAttentionMask);
  }
  return {.of_queries = of_self != nullptr ? of_self : inputs.attention_mask,
          .queries_name = of_self != nullptr ? kSelfAttentionMask : kAttentionMask,
          .has_decoder = true};
}

LayerInputs check_decoder_tensors(const LayerInputs& inputs, const char* kind, bool has_cross_attention) {
  if (has_cross_attention && inputs.decoder.memory_cache == nullptr) {
    if (inputs.keys == nullptr) {
      fail(Status::InvalidArgument,
           INPUT("keys") " is " WORD("NULL") ", expected " WORD(
               "a tensor") ": the encoder's output, to which the " KIND("%s layer") "'s cross attention attends",
           kind);
    }
    // The queries may be ids, and a call that fills a cache has none.
    if (inputs.queries != nullptr && is_floating(inputs.queries->dtype()) &&
        inputs.keys->dtype() != inputs.queries->dtype()) {
      fail(Status::InvalidArgument,
           INPUT("keys") " is %s, but " INPUT("queries") " is %s: expected the same " WORD("dtype"),
           term_of(inputs.keys->dtype()), term_of(inputs.queries->dtype()));
    }
    check_rows(*inputs.keys, INPUT("keys"));
  }
  check_decoder_settings(inputs, has_cross_attention, kind);
  LayerInputs complete = inputs;
  complete.values = complete.keys;
  return complete;
}

DecoderLayer::DecoderLayer(const std::shared_ptr<Context>& context, const DecoderLayerOptions& options)
    : TransformerLayer(context, sublayers_of(context, options), options, options.self_attention.num_hiddens),
      has_cross_attention_(options.cross_attention.has_value()) {}

std::vector<TransformerLayer::Sublayer> DecoderLayer::sublayers_of(const std::shared_ptr<Context>& context,
                                                                   const DecoderLayerOptions& options) {
  const int64_t size = options.self_attention.num_hiddens;
  std::vector<Sublayer> sublayers = {
      {ChildRole::SelfAttention, make_attention(context, options.self_attention, "self_attention", size)}};
  if (options.cross_attention) {
    sublayers.push_back(
        {ChildRole::CrossAttention, make_attention(context, *options.cross_attention, "cross_attention", size)});
  }
  sublayers.push_back({ChildRole::FeedForward, make_feed_forward(context, options.feed_forward, size)});
  return sublayers;
}

RowMasks DecoderLayer::row_masks(const LayerInputs& inputs) const {
  return masks_of_decoder(inputs, has_cross_attention_);
}

InputRules DecoderLayer::input_rules(const LayerInputs& inputs) const {
  static constexpr auto kRefusals = decoder_refusals(kNoEmbedding);
  static_assert(covers_all_inputs({decoder_reads(false, false), kRefusals}));
  return {decoder_reads(has_cross_attention_, fills_cache(inputs.cache)), kRefusals};
}

LayerInputs DecoderLayer::check_tensors(const LayerInputs& inputs) const {
  if (!fills_cache(inputs.cache)) check_queries(inputs);
  return check_decoder_tensors(inputs, kind(), has_cross_attention_);
}

namespace {

Visibility self_attention_of(const DecoderInputs& inputs) {
  Visibility visibility;
  // Names every member of both, so that a new one does not compile until it is handled here.
  const auto& [self_valid_lens, self_mask, self_bias, self_attention_mask, memory, memory_cache] = inputs;
  auto& [valid_lens, mask, bias, alibi_slopes, sinks, names] = visibility;
  valid_lens = self_valid_lens;
  mask = self_mask;
  bias = self_bias;
  names = &kSelfAttentionNames;
  return visibility;
}

SequenceInputs cross_attention_of(const SequenceInputs& sequences) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [positions, query_lens, query_offsets, key_offsets, key_positions] = sequences;
  return {nullptr, query_lens, query_offsets, key_offsets, nullptr};
}

}  // namespace

InputValues DecoderLayer::attention_inputs(size_t index, const LayerCall& call, const Value& queries,
                                           Schedule& schedule) const {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [rows, keys, values, sequences, visibility, cache, decoder, token_types, layer_offset, memory,
               wanted_output, encoder_lens] = call.inputs;
  CallArena& arena = schedule.arena();
  if (index == 0) {
    return {.queries = queries,
            .keys = queries,
            .values = queries,
            .sequences = &arena.make<SequenceInputs>(of_queries(*sequences)),
            .visibility = &arena.make<Visibility>(self_attention_of(*decoder)),
            .cache = cache,
            .cache_layer_offset = layer_offset};
  }
  return {.queries = queries,
          .keys = keys,
          .values = keys,
          .sequences = &arena.make<SequenceInputs>(cross_attention_of(*sequences)),
          .visibility = visibility,
          .cache = decoder->memory_cache,
          .cache_layer_offset = layer_offset};
}

GradientValues DecoderLayer::attention_gradients(size_t index, const InputGradient& queries,
                                                 const GradientValues& gradients) const {
  if (index != kCrossAttention) return self_attention_gradients(queries, gradients.self_scores);
  GradientValues of_attention;
  of_attention.queries = queries;
  of_attention.keys = gradients.keys;
  of_attention.values = {gradients.keys.to, gradients.keys.to};
  of_attention.scores = gradients.scores;
  return of_attention;
}

void DecoderLayer::write_options(JsonWriter& json) const {
  write_child_options(0, "self_attention", json);
  if (has_cross_attention_) write_child_options(1, "cross_attention", json);
  write_common_options(json);
}

}  // namespace heed
