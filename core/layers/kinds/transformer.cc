// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/transformer.h"

#include <cinttypes>
#include <utility>

#include "base/error.h"
#include "layers/errors_of_member.h"

namespace heed {
namespace {

constexpr const char* kMemory = "inputs->decoder->memory";

int64_t encoder_size(const TransformerOptions& options) { return options.encoder.layers.front().attention.num_hiddens; }
int64_t decoder_size(const TransformerOptions& options) {
  return options.decoder.layers.front().self_attention.num_hiddens;
}

void check_options(const TransformerOptions& options) {
  if (!options.decoder.layers.front().cross_attention) {
    fail(Status::InvalidArgument,
         "options->decoder->%s->cross_attention is NULL, expected options: the decoder attends to the encoder's "
         "output",
         options.decoder.layers.size() > 1 ? "layers[0]" : "layer");
  }
  if (options.encoder.output) {
    fail(Status::InvalidArgument,
         "options->encoder->output is set, expected NULL: the decoder attends to the rows of the encoder's layers");
  }
  if (options.output && options.decoder.output) {
    fail(Status::InvalidArgument,
         "options->output is set, but so is options->decoder->output: expected NULL for one of them");
  }
  if (!options.embedding) return;
  if (options.encoder.patches || options.encoder.audio) {
    fail(Status::InvalidArgument,
         "options->encoder->%s is set, but so is options->embedding, which is for both: expected NULL, and "
         "options->decoder->embedding",
         options.encoder.patches ? "patches" : "audio");
  }
  for (const auto& [name, embedding] :
       {std::pair{"encoder", &options.encoder.embedding}, {"decoder", &options.decoder.embedding}}) {
    if (*embedding) {
      fail(Status::InvalidArgument,
           "options->%s->embedding is set, but so is options->embedding: expected NULL for one of them", name);
    }
  }
  if (encoder_size(options) != decoder_size(options)) {
    fail(Status::InvalidArgument,
         "options->encoder has rows of %" PRId64 " and options->decoder of %" PRId64
         ", but options->embedding is for both: expected the same size",
         encoder_size(options), decoder_size(options));
  }
}

// The rows or ids of one side. `what`: as in check_rows.
void check_side(const Tensor& tensor, const char* name, bool are_ids, const char* what = nullptr) {
  if (are_ids)
    check_ids(tensor, name);
  else
    check_rows(tensor, name, what);
}

}  // namespace

std::vector<Layer::NamedLayer> Transformer::children_of(const std::shared_ptr<Context>& context,
                                                        const TransformerOptions& options) {
  check_options(options);
  const HostAllocator& allocator = context->host_allocator();
  std::vector<NamedLayer> children;
  std::shared_ptr<Embedding> embedding;
  const int64_t size = decoder_size(options);
  if (options.embedding) {
    EmbeddingOptions complete = *options.embedding;
    if (complete.embedding_size == 0) complete.embedding_size = size;
    if (complete.embedding_size != size) {
      fail(Status::InvalidArgument,
           "options->embedding->embedding_size is %" PRId64 ", expected %" PRId64 " or 0, the size of the rows",
           complete.embedding_size, size);
    }
    complete.is_tied = options.output && options.output->is_tied;
    embedding =
        ErrorsOfMember("embedding").of([&] { return host_make_shared<Embedding>(allocator, context, complete); });
    children.push_back({"embedding", embedding});
    children.push_back({"decoder_embedding", embedding});
  }
  children.push_back({"encoder", ErrorsOfMember("encoder").of(
                                     [&] { return host_make_shared<Encoder>(allocator, context, options.encoder); })});
  children.push_back({"decoder", ErrorsOfMember("decoder").of(
                                     [&] { return host_make_shared<Decoder>(allocator, context, options.decoder); })});
  if (options.output) children.push_back({"output", make_output_layer(context, *options.output, embedding.get())});
  return children;
}

Transformer::Transformer(const std::shared_ptr<Context>& context, const TransformerOptions& options)
    : Layer(context, {}, kNoParameters, children_of(context, options)),
      encoder_words_(options.embedding ? "ids" : words_of_rows(options.encoder)),
      has_embedding_(options.embedding.has_value()),
      encoder_reads_ids_(has_embedding_ || options.encoder.embedding.has_value()),
      decoder_reads_ids_(has_embedding_ || options.decoder.embedding.has_value()),
      reads_signals_(options.encoder.patches || options.encoder.audio),
      has_token_types_(options.encoder.num_token_types != 0),
      output_(options.output) {}

std::string Transformer::options_of_child(size_t index) const {
  const std::string name = child_name(index);
  return name == "decoder_embedding" ? "embedding" : name;
}

const char* Transformer::bias_option_of_child(size_t index) const {
  return child_name(index) == std::string_view("output") ? kOutputBiasOption : nullptr;
}

LayerInputs Transformer::check_tensors(const LayerInputs& inputs) const {
  if (inputs.memory != nullptr && inputs.keys != nullptr)
    fail(Status::InvalidArgument,
         "inputs->keys is set, but so is %s, the encoder's output: expected NULL for one of them", kMemory);
  if (inputs.memory == nullptr && inputs.keys == nullptr && inputs.memory_cache == nullptr) {
    fail(Status::InvalidArgument, "inputs->keys is NULL and so is %s: expected the %s of the encoder, or its output",
         kMemory, encoder_words_);
  }
  const bool fills = inputs.cache != nullptr && inputs.cache->fills;
  if (inputs.queries == nullptr && inputs.memory_cache != nullptr)
    fail(Status::InvalidArgument, "inputs->queries is NULL, but %s is set: expected the %s of the decoder",
         inputs.memory_cache->name, decoder_reads_ids_ ? "ids" : "rows");
  if (inputs.queries == nullptr && inputs.memory != nullptr && !fills)
    fail(Status::InvalidArgument, "inputs->queries is NULL, but %s is set: expected the %s of the decoder", kMemory,
         decoder_reads_ids_ ? "ids" : "rows");
  if (inputs.queries == nullptr && inputs.cache != nullptr && !fills)
    fail(Status::InvalidArgument, "inputs->cache is set, but inputs->queries is NULL: expected rows for the cache");
  if (inputs.queries != nullptr) check_side(*inputs.queries, "inputs->queries", decoder_reads_ids_);
  if (inputs.keys != nullptr)
    check_side(*inputs.keys, "inputs->keys", encoder_reads_ids_, reads_signals_ ? encoder_words_ : nullptr);
  if (inputs.memory != nullptr) check_rows(*inputs.memory, kMemory);
  if (inputs.bias != nullptr) {
    fail(Status::InvalidArgument,
         "inputs->bias is set, but a transformer layer has biases in its children alone: expected NULL, or a call of "
         "its children encoder and decoder");
  }
  if (inputs.mask != nullptr && (inputs.mask->rank() != 4 || inputs.mask->dim(2) != 1)) {
    fail(
        Status::InvalidArgument,
        "inputs->mask has dims %s, expected (B, 1, 1, S), which keys the encoder and the decoder see, or a call of the "
        "children encoder and decoder",
        to_string(inputs.mask->shape()).c_str());
  }
  if (inputs.token_types != nullptr) {
    if (!has_token_types_)
      fail(Status::InvalidArgument,
           "inputs->token_types is set, but the transformer's encoder has no token types: expected NULL");
    check_ids(*inputs.token_types, "inputs->token_types", kTokenTypeWords);
  }
  check_decoder_settings(inputs, true, kind(), context()->device_name());
  return inputs;
}

DType Transformer::row_dtype(const LayerInputs& inputs) const {
  for (const Tensor* tensor : {inputs.queries, inputs.keys, inputs.memory}) {
    if (tensor != nullptr && is_floating(tensor->dtype())) return tensor->dtype();
  }
  // The first parameter is the table for both sides, or the first one of what the encoder reads.
  const Parameter& table = parameters().front();
  return table.is_set() ? table.value().dtype() : DType::F32;
}

Value Transformer::check_embedding(size_t embedding, const char* ids_name, const Value& ids, Schedule& schedule,
                                   Purpose purpose, LayerCall& call) const {
  const AttentionInputs& others = *call.inputs.others;
  check_ids_of_rows(ids, (embedding == 0 ? others.key_offsets : others.query_offsets) != nullptr, ids_name);
  make_children(schedule, call);
  call.children[embedding].ids_name = ids_name;
  InputValues inputs;
  inputs.queries = ids;
  inputs.others = call.inputs.others;
  return schedule.reserve_spread(check_child(embedding, inputs, schedule, purpose, call).output);
}

void Transformer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const AttentionInputs& given = *call.inputs.others;
  make_children(schedule, call);
  Value memory = given.memory;
  if (encodes(call)) {
    auto& others = schedule.arena().make<AttentionInputs>(given);
    others.positions = others.query_lens = nullptr;
    others.query_offsets = std::exchange(others.key_offsets, nullptr);
    others.cache = nullptr;
    others.cache_sequences = nullptr;
    others.self_valid_lens = others.self_mask = others.self_bias = nullptr;
    InputValues inputs;
    inputs.queries = call.inputs.keys;
    inputs.others = &others;
    if (has_embedding_) inputs.queries = check_embedding(0, "inputs->keys", inputs.queries, schedule, purpose, call);
    call.children[encoder()].ids_name = "inputs->keys";
    const OutputShapes& shapes = check_child(encoder(), inputs, schedule, purpose, call);
    if (!call.inputs.queries.is_given() && !fills_cache(call.inputs)) {
      call.shapes = shapes;
      call.shapes.dtype = *given.called_dtype;
      return;
    }
    memory = schedule.reserve_spread(shapes.output);
  }
  auto& others = schedule.arena().make<AttentionInputs>(given);
  others.token_types = others.memory = nullptr;
  // The rows that are stored are those of the encoder, without its padding.
  if (fills_cache(call.inputs)) others.query_lens = std::exchange(others.valid_lens, nullptr);
  InputValues inputs;
  inputs.queries = call.inputs.queries;
  inputs.keys = inputs.values = memory;
  inputs.others = &others;
  if (has_embedding_ && inputs.queries.is_given())
    inputs.queries = check_embedding(1, "inputs->queries", inputs.queries, schedule, purpose, call);
  call.shapes = check_child(decoder(), inputs, schedule, purpose, call);
  if (fills_cache(call.inputs)) return;
  if (output_) {
    InputValues rows;
    rows.queries = schedule.reserve_spread(call.shapes.output);
    rows.others = &others;
    call.children[output()].row_limits = call.children[decoder()].row_limits;
    call.shapes.output = check_child(output(), rows, schedule, purpose, call).output;
  }
  call.shapes.dtype = *given.called_dtype;
}

void Transformer::compose_rows(size_t embedding, size_t stack, Schedule& schedule, const LayerCall& call) const {
  if (!has_embedding_) return;
  OutputValues rows;
  rows.output = call.children[stack].inputs.queries;
  compose_child(embedding, schedule, call, rows);
}

void Transformer::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const bool fills = fills_cache(call.inputs);
  const bool decodes = call.inputs.queries.is_given();
  if (encodes(call)) {
    compose_rows(0, encoder(), schedule, call);
    OutputValues memory;
    memory.output = decodes || fills ? call.children[decoder()].inputs.keys : outputs.output;
    compose_child(encoder(), schedule, call, memory);
  }
  if (fills) return compose_child(decoder(), schedule, call, {});
  if (!decodes) return;
  compose_rows(1, decoder(), schedule, call);
  OutputValues rows;
  rows.output = output_ ? call.children[output()].inputs.queries : outputs.output;
  compose_child(decoder(), schedule, call, rows);
  if (output_) {
    OutputValues result;
    result.output = outputs.output;
    compose_child(output(), schedule, call, result);
  }
}

void Transformer::write_options(JsonWriter& json) const {
  write_child_options(encoder(), "encoder", json);
  write_child_options(decoder(), "decoder", json);
  if (has_embedding_) write_child_options(0, "embedding", json);
  if (!output_) return;
  json.key("output");
  heed::write_options(*output_, json);
}

}  // namespace heed
