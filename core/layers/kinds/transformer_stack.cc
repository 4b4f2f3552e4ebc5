// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/transformer_stack.h"

#include <cinttypes>
#include <string>
#include <utility>

#include "base/error.h"
#include "layers/errors_of_member.h"
#include "layers/kinds/linear.h"

namespace heed {
namespace {

constexpr int64_t kMostLayers = 4096;

int64_t size_of(const EncoderLayerOptions& options) { return options.attention.num_hiddens; }
int64_t size_of(const DecoderLayerOptions& options) { return options.self_attention.num_hiddens; }
// The member that has this size.
const char* attention_of(const EncoderLayerOptions&) { return "attention"; }
const char* attention_of(const DecoderLayerOptions&) { return "self_attention"; }

}  // namespace

void check_num_layers(int64_t num_layers) {
  if (num_layers >= 1 && num_layers <= kMostLayers) return;
  fail(Status::InvalidArgument, "options->num_layers is %" PRId64 ", expected 1 to %" PRId64, num_layers, kMostLayers);
}

template <typename LayerKind, typename LayerOptions>
TransformerStack::Parts TransformerStack::make_parts(const std::shared_ptr<Context>& context,
                                                     const StackOptions<LayerOptions>& options) {
  check_num_layers(options.num_layers);
  const LayerOptions& first = options.layers.front();
  const bool has_own = options.layers.size() > 1;
  if (has_own && options.share_layers) {
    fail(Status::InvalidArgument,
         "options->share_layers is 1, but options->layers has options for each: expected options->layer alone");
  }
  const HostAllocator& allocator = context->host_allocator();
  Parts parts;
  parts.size = size_of(first);
  parts.dropout = first.dropout;
  const bool is_tied = options.output && options.output->is_tied;
  // Layers first: an error of the embedding would name a size that comes from them.
  std::vector<std::shared_ptr<Layer>> layers;
  for (int64_t i = 0; i < options.num_layers; ++i) {
    if (options.share_layers && i > 0) {
      layers.push_back(layers.front());
      continue;
    }
    const std::string member = has_own ? "layers[" + std::to_string(i) + "]" : "layer";
    const LayerOptions& layer = has_own ? options.layers[static_cast<size_t>(i)] : first;
    ErrorsOfMember(member.c_str()).of([&] {
      if (size_of(layer) != parts.size) {
        fail(Status::InvalidArgument,
             "options->%s->num_hiddens is %" PRId64 ", expected %" PRId64 ", as in the first layer",
             attention_of(layer), size_of(layer), parts.size);
      }
      layers.push_back(host_make_shared<LayerKind>(allocator, context, layer));
    });
  }
  parts.children = first_children(context, options, parts.size, first.norm, first.dropout, is_tied);
  const auto* const embedding =
      options.embedding ? static_cast<const Embedding*>(parts.children.front().layer.get()) : nullptr;
  for (size_t i = 0; i < layers.size(); ++i) parts.children.push_back({"layers." + std::to_string(i), layers[i]});
  if (options.final_norm)
    parts.children.push_back({"norm", host_make_shared<LayerNorm>(allocator, context, first.norm)});
  if (!options.output) return parts;
  const int64_t embedding_size = embedding == nullptr ? parts.size : embedding->table().shape()[1];
  if (is_tied && embedding_size != parts.size) {
    parts.children.push_back(
        {"output_projection",
         host_make_shared<Linear>(allocator, context, LinearOptions{.output_size = embedding_size, .no_bias = true})});
  }
  parts.children.push_back({"output", make_output_layer(context, *options.output, embedding)});
  return parts;
}

template <typename LayerOptions>
TransformerStack::TransformerStack(const std::shared_ptr<Context>& context, const StackOptions<LayerOptions>& options,
                                   const Parts& parts)
    : EmbeddedLayer(context, parts.children, options, parts.size, parts.dropout),
      num_layers_(static_cast<size_t>(options.num_layers)),
      has_layers_of_their_own_(options.layers.size() > 1),
      share_layers_(options.share_layers),
      final_norm_(options.final_norm),
      output_(options.output) {}

std::string TransformerStack::options_of_child(size_t index) const {
  const std::string first = has_layers_of_their_own_ ? "layers[0]" : "layer";
  if (is_layer(index))
    return has_layers_of_their_own_ ? "layers[" + std::to_string(index - num_first_children()) + "]" : first;
  std::string name = child_name(index);
  if (name == "norm" || name == "embedding_norm") return first + "->norm";
  if (name == "embedding" || name == "patches" || name == "audio" || name == "positions" || name == "output")
    return name;
  return {};
}

const char* TransformerStack::bias_option_of_child(size_t index) const {
  const std::string_view name = child_name(index);
  if (name == "output") return kOutputBiasOption;
  return name == "embedding_projection" ? "options->no_projection_bias 0" : nullptr;
}

InputValues TransformerStack::inputs_of_layer(size_t child, const LayerCall& call, const Value& rows,
                                              Schedule& schedule) const {
  InputValues inputs = call.inputs;
  inputs.queries = rows;
  if (inputs.others->cache != nullptr || inputs.others->memory_cache != nullptr) {
    auto& others = schedule.arena().make<AttentionInputs>(*call.inputs.others);
    others.cache_layer_offset = static_cast<int64_t>(child - num_first_children());
    inputs.others = &others;
  }
  return inputs;
}

void TransformerStack::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const size_t first = num_first_children();
  if (fills_cache(call.inputs)) {
    for (size_t i = first; i < first + num_layers_; ++i)
      check_child(i, inputs_of_layer(i, call, Value(), schedule), schedule, purpose, call);
    return;
  }
  Value rows = check_first_children(schedule, purpose, call);
  const KeyLimits* limits = nullptr;
  for (size_t i = first; i < num_children(); ++i) {
    if (i > first) rows = schedule.reserve_spread(call.shapes.output);
    InputValues inputs;
    inputs.queries = rows;
    inputs.others = call.inputs.others;
    if (is_layer(i)) inputs = inputs_of_layer(i, call, rows, schedule);
    call.children[i].row_limits = limits;
    const OutputShapes& shapes = check_child(i, inputs, schedule, purpose, call);
    if (i == first) {
      limits = call.children[i].row_limits;
      set_row_limits(call, limits);
    }
    call.shapes.output = shapes.output;
  }
  call.shapes.dtype = has_embedding() ? *call.inputs.others->called_dtype : call.inputs.queries.dtype();
  call.shapes.is_packed = is_packed(call.inputs);
}

void TransformerStack::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  if (fills_cache(call.inputs)) {
    for (size_t i = num_first_children(); i < num_first_children() + num_layers_; ++i)
      compose_child(i, schedule, call, {});
    return;
  }
  compose_first_children(schedule, call);
  for (size_t i = num_first_children(); i < num_children(); ++i) {
    const bool is_last = i + 1 == num_children();
    OutputValues result;
    result.output = is_last ? outputs.output : call.children[i + 1].inputs.queries;
    compose_child(i, schedule, call, result);
  }
}

void TransformerStack::write_options(JsonWriter& json) const {
  const size_t first = num_first_children();
  if (has_layers_of_their_own_) {
    json.key("layers");
    json.begin_array();
    for (size_t i = 0; i < num_layers_; ++i) write_child_options(first + i, json);
    json.end_array();
  } else {
    write_child_options(first, "layer", json);
  }
  json.member("num_layers", static_cast<int64_t>(num_layers_));
  json.member("share_layers", share_layers_);
  json.member("final_norm", final_norm_);
  write_embedded_options(json);
  if (!output_) return;
  json.key("output");
  heed::write_options(*output_, json);
}

Encoder::Encoder(const std::shared_ptr<Context>& context, const EncoderOptions& options)
    : TransformerStack(context, options, make_parts<EncoderLayer>(context, options)) {}

LayerInputs Encoder::check_tensors(const LayerInputs& inputs) const {
  check_rows_or_ids(inputs);
  return check_encoder_tensors(inputs, kind(), context()->device_name());
}

Decoder::Decoder(const std::shared_ptr<Context>& context, const DecoderOptions& options)
    : TransformerStack(context, options, make_parts<DecoderLayer>(context, options)),
      has_cross_attention_(options.layers.front().cross_attention.has_value()) {
  for (size_t i = 1; i < options.layers.size(); ++i) {
    if (options.layers[i].cross_attention.has_value() == has_cross_attention_) continue;
    fail(Status::InvalidArgument, "options->layers[%zu]->cross_attention is %s, expected %s, as in the first layer", i,
         has_cross_attention_ ? "NULL" : "set", has_cross_attention_ ? "options" : "NULL");
  }
}

std::optional<Layer::CacheShape> Decoder::cache_shape() const {
  std::optional<CacheShape> shape = child_at(num_first_children()).cache_shape();
  for (size_t i = 1; i < num_layers(); ++i) {
    if (child_at(num_first_children() + i).cache_shape() != shape) return std::nullopt;
  }
  if (shape) shape->num_layers = static_cast<int64_t>(num_layers());
  return shape;
}

LayerInputs Decoder::check_tensors(const LayerInputs& inputs) const {
  if (inputs.cache == nullptr || !inputs.cache->fills) check_rows_or_ids(inputs);
  return check_decoder_tensors(inputs, kind(), has_cross_attention_, context()->device_name());
}

}  // namespace heed
