// SPDX-License-Identifier: Apache-2.0
#include "layers/transformer_layer.h"

#include <cinttypes>
#include <utility>

#include "attention/options.h"
#include "base/error.h"
#include "layers/cache_call.h"
#include "layers/dropout.h"
#include "layers/errors_of_member.h"

namespace heed {
namespace {

constexpr const char* kNormNames[] = {"norm_1", "norm_2", "norm_3"};
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
    fail(Status::InvalidArgument, "options->%s->num_hiddens is %" PRId64 ", expected at least 1, the size of the rows",
         member, options.num_hiddens);
  }
  if (options.num_hiddens != size) {
    fail(Status::InvalidArgument,
         "options->%s->num_hiddens is %" PRId64 ", expected %" PRId64 ", as self_attention has", member,
         options.num_hiddens, size);
  }
  if (options.output_size != 0 && options.output_size != size) {
    fail(Status::InvalidArgument,
         "options->%s->output_size is %" PRId64 ", expected %" PRId64 " or 0: it is added to rows of num_hiddens",
         member, options.output_size, size);
  }
  if (options.no_output_projection) {
    fail(Status::InvalidArgument,
         "options->%s->no_output_projection is 1, expected 0: the output is added to rows of num_hiddens", member);
  }
}

// The feed-forward network of rows of `size`.
std::shared_ptr<Layer> make_feed_forward(const std::shared_ptr<Context>& context, FeedForwardOptions options,
                                         int64_t size) {
  if (options.output_size != 0 && options.output_size != size) {
    fail(Status::InvalidArgument,
         "options->feed_forward->output_size is %" PRId64 ", expected %" PRId64
         " or 0: it is added to rows of num_hiddens",
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

void refuse_input(const Tensor* tensor, const char* name, const char* kind, const char* expected) {
  if (tensor != nullptr)
    fail(Status::InvalidArgument, "%s is set, but %s %s layer has %s: expected NULL", name, article_of(kind), kind,
         expected);
}

}  // namespace

// ---- what both kinds share ------------------------------------------------------------------------------------------

namespace {

std::vector<Layer::NamedLayer> children_of(const std::shared_ptr<Context>& context,
                                           std::span<const TransformerLayer::Sublayer> sublayers,
                                           const LayerNormOptions& norm, float dropout) {
  check_dropout(dropout);
  std::vector<Layer::NamedLayer> children;
  for (const auto& [name, layer] : sublayers) children.push_back({name, layer});
  for (size_t i = 0; i < sublayers.size(); ++i)
    children.push_back({kNormNames[i], make_child<LayerNorm>(context, norm, "norm")});
  for (size_t i = 0; i < sublayers.size(); ++i)
    children.push_back(
        {kDropoutNames[i], host_make_shared<Dropout>(context->host_allocator(), context, DropoutOptions{dropout})});
  return children;
}

}  // namespace

TransformerLayer::TransformerLayer(const std::shared_ptr<Context>& context, std::span<const Sublayer> sublayers,
                                   const LayerNormOptions& norm, bool norm_first, float dropout, int64_t size,
                                   Activation activation)
    : Layer(context, {}, kNoParameters, children_of(context, sublayers, norm, dropout)),
      num_sublayers_(sublayers.size()),
      dropout_(dropout),
      size_(size) {
  block_.norm = norm.kind;
  block_.epsilon = double{epsilon_of(norm)};
  block_.norm_first = norm_first;
  block_.activation = activation;
}

const char* TransformerLayer::options_of_child(size_t index) const {
  if (index < num_attentions()) return options_of_attention(index);
  return index < num_sublayers_ ? "feed_forward" : "norm";
}

void TransformerLayer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const Value& input = call.inputs.queries;
  const bool packed = is_packed(call.inputs);
  const int32_t rank = packed ? 2 : 3;
  if (input.rank() != rank || input.dim(rank - 1) != size_) {
    fail(Status::InvalidArgument, "inputs->queries has dims %s, expected (%s, %" PRId64 ")",
         to_string(input.shape()).c_str(), packed ? "total" : "B, S", size_);
  }
  make_children(schedule, call);
  const auto check_rows = [&](size_t child, const Value& rows) {
    InputValues inputs;
    inputs.queries = rows;
    inputs.others = call.inputs.others;
    check_child(child, inputs, schedule, purpose, call);
  };
  // The input of a sublayer and, after it, its norm.
  Value rows = input;
  for (size_t i = 0; i < num_sublayers_; ++i) {
    const bool is_last = i + 1 == num_sublayers_;
    if (block_.norm_first) check_rows(norm_of(i), rows);
    const Value from = block_.norm_first ? Value(schedule.reserve_spread(input.shape())) : rows;
    if (i < num_attentions()) {
      check_child(i, attention_inputs(i, call, from, schedule), schedule, purpose, call);
      if (i == 0 && call.inputs.others->query_lens != nullptr) call.row_limits = &call.children[0].attention->limits;
    } else {
      check_rows(i, from);
    }
    if (!block_.norm_first || !is_last) rows = schedule.reserve_spread(input.shape());
    if (!block_.norm_first) check_rows(norm_of(i), rows);
    if (drops(call)) check_rows(dropout_of(i), schedule.reserve_spread(input.shape()));
  }
  for (size_t i = num_attentions(); i < num_children(); ++i) call.children[i].row_limits = call.row_limits;
  call.shapes.dtype = input.dtype();
  call.shapes.is_packed = packed;
  call.shapes.output = input.shape();
}

void TransformerLayer::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const auto input_of = [&call](size_t child) { return call.children[child].inputs.queries; };
  for (size_t i = 0; i < num_sublayers_; ++i) {
    const bool is_last = i + 1 == num_sublayers_;
    // What the sublayer adds to, and where the sum and the next sublayer's rows are.
    const Value residual = block_.norm_first ? input_of(norm_of(i)) : input_of(i);
    const Value next = is_last ? outputs.output : (block_.norm_first ? input_of(norm_of(i + 1)) : input_of(i + 1));
    const Value sum = block_.norm_first ? next : input_of(norm_of(i));
    OutputValues normalized;
    normalized.output = block_.norm_first ? input_of(i) : next;
    if (block_.norm_first) compose_child(norm_of(i), schedule, call, normalized);
    OutputValues result;
    result.output = sum;
    result.addend = residual;
    if (drops(call)) {
      OutputValues undropped;
      undropped.output = input_of(dropout_of(i));
      compose_child(i, schedule, call, undropped);
      compose_child(dropout_of(i), schedule, call, result);
    } else {
      compose_child(i, schedule, call, result);
    }
    if (!block_.norm_first) compose_child(norm_of(i), schedule, call, normalized);
  }
}

void TransformerLayer::write_common_options(JsonWriter& json) const {
  write_child_options(num_sublayers_ - 1, "feed_forward", json);
  write_child_options(norm_of(0), "norm", json);
  json.member("norm_first", block_.norm_first);
  json.member("dropout", dropout_);
}

// ---- encoder --------------------------------------------------------------------------------------------------------

LayerInputs check_encoder_tensors(const LayerInputs& inputs, const char* kind, const char* device_name) {
  refuse_input(inputs.keys, "inputs->keys", kind, "self-attention alone");
  refuse_input(inputs.values, "inputs->values", kind, "self-attention alone");
  refuse_input(inputs.key_offsets, "inputs->sequences->key_offsets", kind, "self-attention alone");
  check_no_decoder_inputs(inputs, kind);
  if (inputs.cache != nullptr) {
    fail(Status::InvalidArgument,
         "inputs->cache is set, but an %s layer keeps no keys: expected NULL, or a decoder layer without cross "
         "attention",
         kind);
  }
  check_queries(inputs);
  check_devices(inputs, "the layer", device_name);
  return inputs;
}

EncoderLayer::EncoderLayer(const std::shared_ptr<Context>& context, const EncoderLayerOptions& options)
    : TransformerLayer(
          context,
          std::vector<Sublayer>{
              {"self_attention",
               make_attention(context, options.attention, "attention", options.attention.num_hiddens)},
              {"feed_forward", make_feed_forward(context, options.feed_forward, options.attention.num_hiddens)}},
          options.norm, options.norm_first, options.dropout, options.attention.num_hiddens,
          options.feed_forward.activation) {}

LayerInputs EncoderLayer::check_tensors(const LayerInputs& inputs) const {
  return check_encoder_tensors(inputs, kind(), context()->device_name());
}

InputValues EncoderLayer::attention_inputs(size_t, const LayerCall& call, const Value& queries, Schedule&) const {
  return {queries, queries, queries, call.inputs.others};
}

void EncoderLayer::write_options(JsonWriter& json) const {
  write_child_options(0, "attention", json);
  write_common_options(json);
}

// ---- decoder --------------------------------------------------------------------------------------------------------

LayerInputs check_decoder_tensors(const LayerInputs& inputs, const char* kind, bool has_cross_attention,
                                  const char* device_name) {
  refuse_input(inputs.values, "inputs->values", kind, "the values of inputs->keys");
  refuse_input(inputs.alibi_slopes, "inputs->alibi_slopes", kind, "slopes by the option alibi");
  refuse_input(inputs.sinks, "inputs->sinks", kind, "sinks by the option sinks");
  if (inputs.cache != nullptr && inputs.cache->fills) {
    fail(Status::Unsupported,
         "a %s layer was to fill a cache, expected its child cross_attention: self-attention appends to its cache in "
         "heed_layer_forward",
         kind);
  }
  check_queries(inputs);
  if (has_cross_attention) {
    if (inputs.keys == nullptr) {
      fail(Status::InvalidArgument,
           "inputs->keys is NULL, expected a tensor: the encoder's output, to which the %s layer's cross attention "
           "attends",
           kind);
    }
    if (inputs.keys->dtype() != inputs.queries->dtype()) {
      fail(Status::InvalidArgument, "inputs->keys is %s, but inputs->queries is %s: expected the same dtype",
           name_of(inputs.keys->dtype()), name_of(inputs.queries->dtype()));
    }
  } else {
    for (const auto& [name, tensor] : {std::pair{"inputs->keys", inputs.keys},
                                       {"inputs->valid_lens", inputs.valid_lens},
                                       {"inputs->mask", inputs.mask},
                                       {"inputs->bias", inputs.bias},
                                       {"inputs->sequences->key_offsets", inputs.key_offsets}}) {
      if (tensor == nullptr) continue;
      fail(Status::InvalidArgument,
           "%s is set, but the %s layer has no cross attention: expected NULL; what self-attention reads is in "
           "inputs->decoder",
           name, kind);
    }
  }
  if (inputs.cache != nullptr && !inputs.cache->appends()) {
    fail(Status::InvalidArgument,
         "inputs->cache->use is HEED_CACHE_READ, expected HEED_CACHE_APPEND: self-attention of a %s layer appends rows",
         kind);
  }
  check_devices(inputs, "the layer", device_name);
  LayerInputs complete = inputs;
  complete.values = complete.keys;
  return complete;
}

DecoderLayer::DecoderLayer(const std::shared_ptr<Context>& context, const DecoderLayerOptions& options)
    : TransformerLayer(context, sublayers_of(context, options), options.norm, options.norm_first, options.dropout,
                       options.self_attention.num_hiddens, options.feed_forward.activation),
      has_cross_attention_(options.cross_attention.has_value()) {}

std::vector<TransformerLayer::Sublayer> DecoderLayer::sublayers_of(const std::shared_ptr<Context>& context,
                                                                   const DecoderLayerOptions& options) {
  const int64_t size = options.self_attention.num_hiddens;
  std::vector<Sublayer> sublayers = {
      {"self_attention", make_attention(context, options.self_attention, "self_attention", size)}};
  if (options.cross_attention) {
    sublayers.push_back(
        {"cross_attention", make_attention(context, *options.cross_attention, "cross_attention", size)});
  }
  sublayers.push_back({"feed_forward", make_feed_forward(context, options.feed_forward, size)});
  return sublayers;
}

LayerInputs DecoderLayer::check_tensors(const LayerInputs& inputs) const {
  return check_decoder_tensors(inputs, kind(), has_cross_attention_, context()->device_name());
}

InputValues DecoderLayer::attention_inputs(size_t index, const LayerCall& call, const Value& queries,
                                           Schedule& schedule) const {
  auto& others = schedule.arena().make<AttentionInputs>(*call.inputs.others);
  const bool is_self = index == 0;
  if (is_self) {
    others.valid_lens = others.self_valid_lens;
    others.mask = others.self_mask;
    others.bias = others.self_bias;
    others.names = &kSelfAttentionNames;
    others.key_offsets = nullptr;
  } else {
    others.positions = nullptr;
    others.cache = nullptr;
    others.cache_sequences = nullptr;
  }
  others.self_valid_lens = others.self_mask = others.self_bias = nullptr;
  if (is_self) return {queries, queries, queries, &others};
  return {queries, call.inputs.keys, call.inputs.keys, &others};
}

void DecoderLayer::write_options(JsonWriter& json) const {
  write_child_options(0, "self_attention", json);
  if (has_cross_attention_) write_child_options(1, "cross_attention", json);
  write_common_options(json);
}

}  // namespace heed
