// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/transformer_stack.h"

#include <cinttypes>
#include <string>
#include <utility>

#include "base/error.h"
#include "layers/errors_of_member.h"
#include "layers/kinds/linear.h"
#include "layers/output_rows.h"

namespace heed {
namespace {

constexpr int64_t kMostLayers = 4096;
constexpr const char* kNoTokenTypes = "the %s has no token types: expected " WORD("NULL");

int64_t size_of(const EncoderLayerOptions& options) { return options.attention.num_hiddens; }
int64_t size_of(const DecoderLayerOptions& options) { return options.self_attention.num_hiddens; }
// The member that has this size.
const char* attention_of(const EncoderLayerOptions&) { return "attention"; }
const char* attention_of(const DecoderLayerOptions&) { return "self_attention"; }

}  // namespace

void check_num_layers(int64_t num_layers) {
  if (num_layers >= 1 && num_layers <= kMostLayers) return;
  fail(Status::InvalidArgument, OPTION("num_layers") " is %" PRId64 ", expected 1 to %" PRId64, num_layers,
       kMostLayers);
}

template <typename LayerKind, typename LayerOptions>
TransformerStack::Parts TransformerStack::make_parts(const std::shared_ptr<Context>& context,
                                                     const StackOptions<LayerOptions>& options) {
  check_num_layers(options.num_layers);
  const LayerOptions& first = options.layers.front();
  const bool has_own = options.layers.size() > 1;
  if (has_own && options.share_layers) {
    fail(Status::InvalidArgument, OPTION("share_layers") " is " FLAG("share_layers", "1") ", but " OPTION(
                                      "layers") " has options for each: expected " OPTION("layer") " alone");
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
             OPTION("%s->num_hiddens") " is %" PRId64 ", expected %" PRId64 ", as in the first layer",
             attention_of(layer), size_of(layer), parts.size);
      }
      layers.push_back(host_make_shared<LayerKind>(allocator, context, layer));
    });
  }
  parts.children = first_children(context, options, parts.size, first.norm, first.dropout, is_tied);
  const auto* const embedding =
      options.embedding ? static_cast<const Embedding*>(parts.children.front().layer.get()) : nullptr;
  for (size_t i = 0; i < layers.size(); ++i) parts.children.push_back(as_child(ChildRole::Layers, layers[i], i));
  if (options.final_norm)
    parts.children.push_back(as_child(ChildRole::Norm, host_make_shared<LayerNorm>(allocator, context, first.norm)));
  if (!options.output) return parts;
  const int64_t embedding_size = embedding == nullptr ? parts.size : embedding->table().shape()[1];
  if (is_tied && embedding_size != parts.size) {
    parts.children.push_back(as_child(
        ChildRole::OutputProjection,
        host_make_shared<Linear>(allocator, context, LinearOptions{.output_size = embedding_size, .no_bias = true})));
  }
  parts.children.push_back(as_child(ChildRole::Output, make_output_layer(context, *options.output, embedding)));
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
  const ChildRole role = child_role(index);
  if (role == ChildRole::Norm || role == ChildRole::EmbeddingNorm) return first + "->norm";
  const bool has_own = makes_rows(role) || role == ChildRole::Positions || role == ChildRole::Output;
  return has_own ? name_of(role) : "";
}

LayerDescription TransformerStack::describe() const {
  LayerDescription description;
  for (size_t i = 0; i < num_children(); ++i) {
    ChildDescription child = {.options = options_of_child(i)};
    const ChildRole role = child_role(i);
    if (role == ChildRole::Output) child.bias_option = kOutputBiasOption;
    if (role == ChildRole::EmbeddingProjection) child.bias_option = SETTING("no_projection_bias", "0");
    description.children.push_back(std::move(child));
  }
  return description;
}

InputValues TransformerStack::inputs_of_layer(size_t child, const LayerCall& call, const Value& rows) const {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [queries, keys, values, sequences, visibility, cache, decoder, token_types, layer_offset, memory,
               wanted_output, encoder_lens] = call.inputs;
  return {.queries = rows,
          .keys = keys,
          .values = values,
          .sequences = sequences,
          .visibility = visibility,
          .cache = cache,
          .decoder = decoder,
          .cache_layer_offset = static_cast<int64_t>(child - num_first_children())};
}

namespace {

bool has_wanted_output(const LayerCall& call) {
  return call.inputs.wanted_output != nullptr && call.inputs.wanted_output->is_given();
}

}  // namespace

void TransformerStack::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const size_t first = num_first_children();
  if (fills_cache(call.inputs)) {
    for (size_t i = first; i < first + num_layers_; ++i)
      check_child(i, inputs_of_layer(i, call, Value()), schedule, purpose, call);
    return;
  }
  if (call.inputs.cache != nullptr) check_rings(schedule, call);
  Value rows = check_first_children(schedule, purpose, call);
  const KeyLimits* limits = nullptr;
  for (size_t i = first; i < num_children(); ++i) {
    if (i > first) rows = schedule.reserve_spread(call.shapes.output);
    const InputValues inputs = is_layer(i) ? inputs_of_layer(i, call, rows) : rows_alone(rows);
    call.children[i].row_limits = limits;
    const OutputShapes& shapes = check_child(i, inputs, schedule, purpose, call);
    if (i == first) {
      limits = call.children[i].row_limits;
      set_row_limits(call, limits);
    }
    call.shapes.output = shapes.output;
    if (i + 1 == first + num_layers_ && has_wanted_output(call)) {
      call.all_rows = schedule.reserve_spread(shapes.output);
      const int64_t num_rows = shapes.output[is_packed(call.inputs) ? 0 : 1];
      const auto& wanted = schedule.arena().make<OutputRows>(
          find_output_rows(schedule, call.inputs, batch_of(call.inputs), num_rows, purpose));
      call.output_rows = &wanted;
      call.shapes.output = {batch_of(call.inputs), wanted.count, shapes.output[shapes.output.rank - 1]};
      call.row_limits = limits = wanted.limits;
    }
  }
  call.shapes.dtype = has_embedding() ? call.called_dtype : call.inputs.queries.dtype();
  call.shapes.is_packed = is_packed(call.inputs) && call.output_rows == nullptr;
}

void TransformerStack::check_rings(Schedule& schedule, const LayerCall& call) const {
  const CacheInputs& inputs = *call.inputs.cache;
  const std::span<const int64_t> windows = cache_windows();
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t layer = inputs.layer + static_cast<int64_t>(i);
    // The attentions refuse a layer that the cache lacks.
    if (layer < 0 || layer >= inputs.cache->options().num_layers) return;
    const int64_t shown = inputs.cache->geometry(layer).visible_rows;
    if (shown == 0 || (windows[i] > 0 && windows[i] <= shown)) continue;
    fail_for_window(schedule, inputs, layer, shown, windows[i], child_name(num_first_children() + i));
  }
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
    const bool takes_rows = call.output_rows != nullptr && i + 1 == num_first_children() + num_layers_;
    const Value wanted = std::exchange(result.output, takes_rows ? call.all_rows : result.output);
    compose_child(i, schedule, call, result);
    if (takes_rows) add_output_rows(schedule, *call.output_rows, call.all_rows, wanted);
  }
}

void TransformerStack::compose_backward(Schedule& schedule, const LayerCall& call,
                                        const GradientValues& gradients) const {
  const size_t first = num_first_children();
  const size_t last_layer = first + num_layers_ - 1;
  GradientSum keys = {gradients.keys.to, gradients.keys.addend.is_given()};
  // Whether something before child i has a gradient to compute.
  const auto goes_on = [&](size_t i) {
    if (gradients.queries.is_wanted() || (i > first && gradients.wants_of_all_layers())) return true;
    while (i > 0) {
      if (child_learns(--i, call)) return true;
    }
    return false;
  };
  Value of_output = gradients.output;
  for (size_t i = num_children(); i-- > first;) {
    if (i == last_layer && call.output_rows != nullptr) {
      const Value of_all = schedule.reserve_spread(call.all_rows.shape());
      add_output_rows_backward(schedule, *call.output_rows, of_output, of_all);
      of_output = of_all;
    }
    GradientValues of_child;
    of_child.output = of_output;
    if (i == first && first == 0)
      of_child.queries = gradients.queries;
    else if (goes_on(i))
      of_child.queries = {schedule.reserve_spread(call.children[i].inputs.queries.shape())};
    if (is_layer(i)) {
      of_child.keys = next_of(keys);
      of_child.scores = gradients.scores;
      of_child.self_scores = gradients.self_scores;
    }
    const bool is_output = child_role(i) == ChildRole::Output;
    if (is_output && output_->is_tied && call.gradients != nullptr && call.gradients->to.is_given())
      call.children[i].table_gradient = call.gradients;
    compose_child_backward(i, schedule, call, of_child);
    of_output = of_child.queries.to;
    if (!of_output.is_given()) return;
  }
  compose_first_children_backward(schedule, call, of_output, gradients);
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

InputRules Encoder::input_rules(const LayerInputs&) const {
  static constexpr auto kRefusals = encoder_refusals(kNoTokenTypes);
  static_assert(covers_all_inputs({kEncoderReads, kRefusals}));
  const InputSet reads = with_output_rows(kEncoderReads, false);
  return {has_token_types() ? reads.with({Input::TokenTypes}) : reads, kRefusals};
}

LayerInputs Encoder::check_tensors(const LayerInputs& inputs) const {
  check_rows_or_ids(inputs);
  require_lens_of_elements(inputs.visibility.valid_lens, inputs.visibility.names->valid_lens, kAttentionMask);
  return inputs;
}

RowMasks Encoder::row_masks(const LayerInputs& inputs) const {
  if (inputs.attention_mask != nullptr && reads_signals()) fail_mask_of_signals(words_of_input());
  return masks_of_encoder(inputs);
}

Decoder::Decoder(const std::shared_ptr<Context>& context, const DecoderOptions& options)
    : TransformerStack(context, options, make_parts<DecoderLayer>(context, options)),
      has_cross_attention_(options.layers.front().cross_attention.has_value()),
      windows_(context->host_allocator()) {
  bool has_window = false;
  for (size_t i = 0; i < num_layers(); ++i) {
    const std::optional<CacheShape> shape = child_at(num_first_children() + i).cache_shape();
    windows_.push_back(shape ? shape->window : 0);
    has_window = has_window || windows_.back() > 0;
  }
  if (!has_window) windows_.clear();
  for (size_t i = 1; i < options.layers.size(); ++i) {
    if (options.layers[i].cross_attention.has_value() == has_cross_attention_) continue;
    fail(Status::InvalidArgument, OPTION("layers[%zu]->cross_attention") " is %s, expected %s, as in the first layer",
         i, has_cross_attention_ ? WORD("NULL") : "set", has_cross_attention_ ? "options" : WORD("NULL"));
  }
}

std::optional<Layer::CacheShape> Decoder::cache_shape() const {
  std::optional<CacheShape> shape = child_at(num_first_children()).cache_shape();
  for (size_t i = 1; i < num_layers(); ++i) {
    std::optional<CacheShape> other = child_at(num_first_children() + i).cache_shape();
    if (other && shape) other->window = shape->window;
    if (other != shape) return std::nullopt;
  }
  if (shape) shape->num_layers = static_cast<int64_t>(num_layers());
  return shape;
}

InputRules Decoder::input_rules(const LayerInputs& inputs) const {
  static constexpr auto kRefusals = decoder_refusals(kNoTokenTypes);
  static_assert(covers_all_inputs({decoder_reads(false, false), kRefusals}));
  const bool fills = fills_cache(inputs.cache);
  const InputSet reads = with_output_rows(decoder_reads(has_cross_attention_, fills), fills);
  return {has_token_types() ? reads.with({Input::TokenTypes}) : reads, kRefusals};
}

LayerInputs Decoder::check_tensors(const LayerInputs& inputs) const {
  if (!fills_cache(inputs.cache)) check_rows_or_ids(inputs);
  require_lens_of_elements(inputs.visibility.valid_lens, inputs.visibility.names->valid_lens, kAttentionMask);
  require_lens_of_elements(inputs.decoder.self_valid_lens, kSelfAttentionNames.valid_lens, kSelfAttentionMask);
  return check_decoder_tensors(inputs, kind(), has_cross_attention_);
}

RowMasks Decoder::row_masks(const LayerInputs& inputs) const { return masks_of_decoder(inputs, has_cross_attention_); }

}  // namespace heed
