// SPDX-License-Identifier: Apache-2.0
#include "support/model_call.h"

#include "support/samples.h"

namespace heed::property {
namespace {

template <typename LayerOptions, typename StackOptions>
struct OptionsOfSide {
  heed_embedding_options embedding = HEED_EMBEDDING_OPTIONS_INIT;
  heed_positional_encoding_options positions = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  LayerOptions layer;
  StackOptions stack;

  OptionsOfSide(const ModelSide& side, const LayerOptions& layer_init, const StackOptions& stack_init)
      : layer(layer_init), stack(stack_init) {
    layer.feed_forward = &side.block.feed_forward;
    layer.norm = &side.block.norm;
    layer.norm_first = side.block.norm_first ? 1 : 0;
    layer.residual_scale = side.block.residual_scale;
    stack.layer = &layer;
    stack.num_layers = side.block.num_layers;
    stack.final_norm = side.block.final_norm ? 1 : 0;
    embedding.num_embeddings = kNumModelIds;
    embedding.scale = side.scale;
    if (!side.table.empty() && side.table != "embedding.weight") stack.embedding = &embedding;
    positions.kind = side.positions.value_or(0);
    positions.max_positions = kMostModelRows;
    if (side.positions) stack.positions = &positions;
    stack.embedding_norm = side.has_norm ? 1 : 0;
  }
  OptionsOfSide(const OptionsOfSide&) = delete;
  OptionsOfSide& operator=(const OptionsOfSide&) = delete;
};
using EncoderSide = OptionsOfSide<heed_encoder_layer_options, heed_encoder_options>;
using DecoderSide = OptionsOfSide<heed_decoder_layer_options, heed_decoder_options>;

}  // namespace

int64_t ModelCall::num_wanted() const {
  return output_rows ? output_rows->dims[1] : num_last_rows != 0 ? num_last_rows : last().source.dims[1];
}

int64_t ModelCall::wanted_row(int64_t b, int64_t i) const {
  if (output_rows) return static_cast<int64_t>(output_rows->values[static_cast<size_t>(b * num_wanted() + i)]);
  return num_last_rows != 0 ? last().source.dims[1] - num_last_rows + i : i;
}

std::map<std::string, Dims> ModelCall::input_dims(int64_t num_elements) const {
  std::map<std::string, Dims> dims;
  const auto add = [&](const char* name, const Array& array) {
    if (array.dims.size() != 3) return;
    dims[name] = array.dims;
    dims[name][0] = num_elements;
  };
  if (shape != ModelShape::Transformer) add("queries", last().source);
  if (shape == ModelShape::Transformer && part != ModelPart::Decoder) add("keys", encoder->source);
  if (shape == ModelShape::Transformer && part != ModelPart::Encoder) add("queries", decoder->source);
  if (part == ModelPart::Decoder) add("memory", memory);
  return dims;
}

ModelInputs::ModelInputs(const ModelCall& call, heed_context* context, int64_t first, int64_t count) {
  const auto add = [&](const Array& array, heed_dtype dtype) {
    return tensors_
        .emplace_back(std::make_unique<HostTensor>(context, make_input(slice(array, 0, first, count), dtype)))
        ->handle();
  };
  const auto add_source = [&](const ModelSide& side) {
    return add(side.source, side.table.empty() ? HEED_F32 : HEED_I32);
  };
  if (call.shape == ModelShape::Transformer) {
    if (call.part != ModelPart::Decoder) inputs_.keys = add_source(*call.encoder);
    if (call.part != ModelPart::Encoder) inputs_.queries = add_source(*call.decoder);
    if (call.part == ModelPart::Decoder) decoder_.memory = add(call.memory, HEED_F32);
    inputs_.decoder = &decoder_;
  } else {
    inputs_.queries = add_source(call.last());
  }
  if (call.lens) inputs_.valid_lens = add(*call.lens, HEED_I32);
  if (call.query_lens) sequences_.query_lens = add(*call.query_lens, HEED_I64);
  if (call.output_rows) inputs_.output_rows = add(*call.output_rows, HEED_I32);
  inputs_.num_last_rows = call.num_last_rows;
  inputs_.sequences = &sequences_;
}

Layer make_empty_model(heed_context* context, const ModelCall& call) {
  const ModelSide none = {};
  const ModelSide& encoder_side = call.encoder ? *call.encoder : none;
  const ModelSide& decoder_side = call.decoder ? *call.decoder : none;
  EncoderSide encoder(encoder_side, HEED_ENCODER_LAYER_OPTIONS_INIT, HEED_ENCODER_OPTIONS_INIT);
  encoder.layer.attention = &encoder_side.block.self_attention.options;
  DecoderSide decoder(decoder_side, HEED_DECODER_LAYER_OPTIONS_INIT, HEED_DECODER_OPTIONS_INIT);
  decoder.layer.self_attention = &decoder_side.block.self_attention.options;
  if (decoder_side.block.cross_attention) decoder.layer.cross_attention = &decoder_side.block.cross_attention->options;
  const heed_output_options* const output = call.has_output ? &call.output : nullptr;
  heed_layer* layer = nullptr;
  if (call.shape == ModelShape::Transformer) {
    heed_transformer_options options = HEED_TRANSFORMER_OPTIONS_INIT;
    options.encoder = &encoder.stack;
    options.decoder = &decoder.stack;
    if (call.shares_table) options.embedding = &encoder.embedding;
    options.output = output;
    check(heed_transformer_create(context, &options, &layer));
  } else if (call.shape == ModelShape::Encoder) {
    encoder.stack.output = output;
    if (!call.last().table.empty()) encoder.stack.embedding = &encoder.embedding;
    check(heed_encoder_create(context, &encoder.stack, &layer));
  } else {
    decoder.stack.output = output;
    if (!call.last().table.empty()) decoder.stack.embedding = &decoder.embedding;
    check(heed_decoder_create(context, &decoder.stack, &layer));
  }
  return Layer(layer);
}

Layer make_model(heed_context* context, const ModelCall& call) {
  Layer layer = make_empty_model(context, call);
  for (const auto& [name, value] : call.parameters)
    check(heed_layer_set_parameter(layer.get(), name.c_str(), HostTensor(context, make_input(value)).handle()));
  return layer;
}

}  // namespace heed::property
