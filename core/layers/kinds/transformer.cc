// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/transformer.h"

#include <cinttypes>
#include <utility>

#include "base/error.h"
#include "layers/errors_of_member.h"

namespace heed {
namespace {

constexpr const char* kMemory = INPUT("decoder->memory");

int64_t encoder_size(const TransformerOptions& options) { return options.encoder.layers.front().attention.num_hiddens; }
int64_t decoder_size(const TransformerOptions& options) {
  return options.decoder.layers.front().self_attention.num_hiddens;
}

void check_options(const TransformerOptions& options) {
  if (!options.decoder.layers.front().cross_attention) {
    fail(Status::InvalidArgument,
         OPTION("decoder->%s->cross_attention") " is " WORD(
             "NULL") ", expected options: the decoder attends to the encoder's output",
         options.decoder.layers.size() > 1 ? "layers[0]" : "layer");
  }
  if (options.encoder.output) {
    fail(Status::InvalidArgument, OPTION("encoder->output") " is set, expected " WORD(
                                      "NULL") ": the decoder attends to the rows of the encoder's layers");
  }
  if (options.output && options.decoder.output) {
    fail(Status::InvalidArgument, OPTION("output") " is set, but so is " OPTION("decoder->output") ": expected " WORD(
                                      "NULL") " for one of them");
  }
  if (!options.embedding) return;
  if (options.encoder.patches || options.encoder.audio) {
    fail(Status::InvalidArgument,
         OPTION("encoder->%s") " is set, but so is " OPTION("embedding") ", which is for both: expected " WORD(
             "NULL") ", and " OPTION("decoder->embedding"),
         options.encoder.patches ? "patches" : "audio");
  }
  for (const auto& [name, embedding] :
       {std::pair{"encoder", &options.encoder.embedding}, {"decoder", &options.decoder.embedding}}) {
    if (*embedding) {
      fail(Status::InvalidArgument,
           OPTION("%s->embedding") " is set, but so is " OPTION("embedding") ": expected " WORD(
               "NULL") " for one of them",
           name);
    }
  }
  if (encoder_size(options) != decoder_size(options)) {
    fail(Status::InvalidArgument,
         OPTION("encoder") " has rows of %" PRId64 " and " OPTION("decoder") " of %" PRId64 ", but " OPTION(
             "embedding") " is for both: expected the same size",
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
           OPTION("embedding->embedding_size") " is %" PRId64 ", expected %" PRId64 " or 0, the size of the rows",
           complete.embedding_size, size);
    }
    complete.is_tied = options.output && options.output->is_tied;
    embedding =
        ErrorsOfMember("embedding").of([&] { return host_make_shared<Embedding>(allocator, context, complete); });
    children.push_back(as_child(ChildRole::Embedding, embedding));
    children.push_back(as_child(ChildRole::DecoderEmbedding, embedding));
  }
  children.push_back(as_child(ChildRole::Encoder, ErrorsOfMember("encoder").of([&] {
    return host_make_shared<Encoder>(allocator, context, options.encoder);
  })));
  children.push_back(as_child(ChildRole::Decoder, ErrorsOfMember("decoder").of([&] {
    return host_make_shared<Decoder>(allocator, context, options.decoder);
  })));
  if (options.output)
    children.push_back(as_child(ChildRole::Output, make_output_layer(context, *options.output, embedding.get())));
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

LayerDescription Transformer::describe() const {
  LayerDescription description;
  for (size_t i = 0; i < num_children(); ++i) {
    const ChildRole role = child_role(i);
    description.children.push_back(
        {.options = name_of(role == ChildRole::DecoderEmbedding ? ChildRole::Embedding : role),
         .bias_option = role == ChildRole::Output ? kOutputBiasOption : nullptr});
  }
  return description;
}

RowMasks Transformer::row_masks(const LayerInputs& inputs) const {
  const bool encodes = inputs.decoder.memory == nullptr && inputs.decoder.memory_cache == nullptr;
  if (encodes && reads_signals_ && inputs.attention_mask != nullptr) fail_mask_of_signals(encoder_words_);
  return {.of_queries = inputs.decoder.self_attention_mask,
          .queries_name = kSelfAttentionMask,
          .of_keys = inputs.attention_mask,
          .keys_name = kAttentionMask,
          .encodes_keys = encodes,
          .stores_keys = fills_cache(inputs.cache),
          .has_decoder = true};
}

InputRules Transformer::input_rules(const LayerInputs& inputs) const {
  static constexpr Refusal kRefusals[] = {
      kNoOwnValues,
      kNoSlopes,
      kNoSinks,
      kNoMemoryCache,
      kNoKeyPositions,
      kNoOutputRows,
      {{Input::Bias},
       KIND("%s %s layer") " has biases in its children alone: expected " WORD(
           "NULL") ", or a call of its children encoder and decoder"},
      {{Input::TokenTypes}, "the %s's encoder has no token types: expected " WORD("NULL")},
  };
  constexpr auto kReads = [](bool fills) {
    return with_output_rows(decoder_reads(true, fills).with({Input::Memory}).without({Input::Bias}), fills);
  };
  static_assert(covers_all_inputs({kReads(true), kRefusals}));
  const InputSet reads = kReads(fills_cache(inputs.cache));
  return {has_token_types_ ? reads.with({Input::TokenTypes}) : reads, kRefusals};
}

LayerInputs Transformer::check_tensors(const LayerInputs& inputs) const {
  if (inputs.decoder.memory != nullptr && inputs.keys != nullptr)
    fail(Status::InvalidArgument,
         INPUT("keys") " is set, but so is %s, the encoder's output: expected " WORD("NULL") " for one of them",
         kMemory);
  if (inputs.decoder.memory == nullptr && inputs.keys == nullptr && inputs.decoder.memory_cache == nullptr) {
    fail(Status::InvalidArgument,
         INPUT("keys") " is " WORD("NULL") " and so is %s: expected the %s of the encoder, or its output", kMemory,
         encoder_words_);
  }
  const bool fills = fills_cache(inputs.cache);
  if (inputs.queries == nullptr && inputs.decoder.memory_cache != nullptr)
    fail(Status::InvalidArgument,
         INPUT("queries") " is " WORD("NULL") ", but " INPUT("%s") " is set: expected the %s of the decoder",
         inputs.decoder.memory_cache->path, decoder_reads_ids_ ? "ids" : "rows");
  if (inputs.queries == nullptr && inputs.decoder.memory != nullptr && !fills)
    fail(Status::InvalidArgument,
         INPUT("queries") " is " WORD("NULL") ", but %s is set: expected the %s of the decoder", kMemory,
         decoder_reads_ids_ ? "ids" : "rows");
  if (fills && inputs.visibility.valid_lens != nullptr && inputs.sequences.query_lens != nullptr) {
    fail(Status::InvalidArgument,
         "%s is set, but so is " INPUT("sequences->query_lens") ", the same lengths: expected " WORD(
             "NULL") " for one of them",
         inputs.visibility.names->valid_lens);
  }
  if (inputs.queries == nullptr && inputs.cache != nullptr && !fills)
    fail(Status::InvalidArgument,
         INPUT("cache") " is set, but " INPUT("queries") " is " WORD("NULL") ": expected rows for the cache");
  if (inputs.queries != nullptr) check_side(*inputs.queries, INPUT("queries"), decoder_reads_ids_);
  if (inputs.keys != nullptr)
    check_side(*inputs.keys, INPUT("keys"), encoder_reads_ids_, reads_signals_ ? encoder_words_ : nullptr);
  if (inputs.decoder.memory != nullptr) check_rows(*inputs.decoder.memory, kMemory);
  const Tensor* const mask = inputs.visibility.mask;
  if (mask != nullptr && (mask->rank() != 4 || mask->dim(2) != 1)) {
    fail(
        Status::InvalidArgument,
        INPUT("mask") " has " ARGUMENT("dims") " %s, expected (B, 1, 1, S), which keys the encoder and the "
"decoder see, or a call of the children encoder and decoder",
        to_string(mask->shape()).c_str());
  }
  if (inputs.token_types != nullptr) check_ids(*inputs.token_types, INPUT("token_types"), kTokenTypeWords);
  check_decoder_settings(inputs, true, kind());
  require_lens_of_elements(inputs.visibility.valid_lens, inputs.visibility.names->valid_lens, kAttentionMask);
  require_lens_of_elements(inputs.decoder.self_valid_lens, kSelfAttentionNames.valid_lens, kSelfAttentionMask);
  return inputs;
}

DType Transformer::row_dtype(const LayerInputs& inputs) const {
  for (const Tensor* tensor : {inputs.queries, inputs.keys, inputs.decoder.memory}) {
    if (tensor != nullptr && is_floating(tensor->dtype())) return tensor->dtype();
  }
  // The first parameter is the table for both sides, or the first one of what the encoder reads.
  const Parameter& table = parameters().front();
  return table.is_set() ? table.value().dtype() : DType::F32;
}

namespace {

// The rows that are filled into a cache are the encoder's, so that their lengths are, too.
const Tensor* encoder_lens_of(const InputValues& inputs) {
  if (inputs.encoder_lens != nullptr || !fills_cache(inputs.cache)) return inputs.encoder_lens;
  return inputs.sequences->query_lens;
}

// The encoder's queries are the keys of the call.
SequenceInputs encoder_of(const SequenceInputs& sequences, const Tensor* lens) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [positions, query_lens, query_offsets, key_offsets, key_positions] = sequences;
  return {nullptr, lens, key_offsets, nullptr, nullptr};
}

// The rows that are stored are those of the encoder, without its padding: valid_lens or query_lens of them.
SequenceInputs stored_rows_of(const SequenceInputs& sequences, const Tensor* valid_lens) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [positions, query_lens, query_offsets, key_offsets, key_positions] = sequences;
  return {positions, valid_lens != nullptr ? valid_lens : query_lens, query_offsets, key_offsets, nullptr};
}

Visibility without_lengths(const Visibility& visibility) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [valid_lens, mask, bias, alibi_slopes, sinks, names] = visibility;
  return {nullptr, mask, bias, alibi_slopes, sinks, names};
}

}  // namespace

Value Transformer::check_embedding(size_t embedding, const char* ids_name, const Value& ids, Schedule& schedule,
                                   Purpose purpose, LayerCall& call) const {
  const SequenceInputs& sequences = *call.inputs.sequences;
  check_ids_of_rows(ids, (embedding == 0 ? sequences.key_offsets : sequences.query_offsets) != nullptr, ids_name);
  make_children(schedule, call);
  call.children[embedding].ids_name = ids_name;
  call.children[embedding].id_lens = embedding == 0 ? encoder_lens_of(call.inputs) : sequences.query_lens;
  return schedule.reserve_spread(check_child(embedding, rows_alone(ids), schedule, purpose, call).output);
}

void Transformer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [queries, keys, values, sequences, visibility, cache, of_decoder, token_types, layer_offset, given_memory,
               wanted_output, mask_lens] = call.inputs;
  const Tensor* const encoder_lens = encoder_lens_of(call.inputs);
  const bool fills = fills_cache(cache);
  CallArena& arena = schedule.arena();
  make_children(schedule, call);
  Value memory = given_memory;
  if (encodes(call)) {
    const SequenceInputs& of_encoder = arena.make<SequenceInputs>(encoder_of(*sequences, encoder_lens));
    const Value rows = has_embedding_ ? check_embedding(0, INPUT("keys"), keys, schedule, purpose, call) : keys;
    // Rows beyond encoder_lens are none, so that lengths hide nothing more.
    const InputValues inputs = {
        .queries = rows,
        .sequences = &of_encoder,
        .visibility = encoder_lens == nullptr ? visibility : &arena.make<Visibility>(without_lengths(*visibility)),
        .token_types = token_types,
        .wanted_output = queries.is_given() ? nullptr : wanted_output};
    call.children[encoder()].ids_name = INPUT("keys");
    const OutputShapes& shapes = check_child(encoder(), inputs, schedule, purpose, call);
    if (!queries.is_given() && !fills) {
      call.shapes = shapes;
      call.shapes.dtype = call.called_dtype;
      return;
    }
    memory = schedule.reserve_spread(shapes.output);
  }
  InputValues inputs = {.queries = queries,
                        .keys = memory,
                        .values = memory,
                        .sequences = sequences,
                        .visibility = visibility,
                        .cache = cache,
                        .decoder = of_decoder,
                        .wanted_output = wanted_output};
  if (fills) {
    inputs.sequences = &arena.make<SequenceInputs>(stored_rows_of(*sequences, visibility->valid_lens));
    inputs.visibility = &arena.make<Visibility>(without_lengths(*visibility));
  }
  if (has_embedding_ && queries.is_given())
    inputs.queries = check_embedding(1, INPUT("queries"), queries, schedule, purpose, call);
  call.shapes = check_child(decoder(), inputs, schedule, purpose, call);
  if (fills) return;
  if (output_) {
    const Value rows = schedule.reserve_spread(call.shapes.output);
    call.children[output()].row_limits = call.children[decoder()].row_limits;
    call.shapes.output = check_child(output(), rows_alone(rows), schedule, purpose, call).output;
  }
  call.shapes.dtype = call.called_dtype;
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

void Transformer::compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const {
  // The gradients of both embeddings, which are one layer, and of the output by its table add up.
  GradientSum* const table =
      has_embedding_ && call.gradients != nullptr && call.gradients->to.is_given() ? call.gradients : nullptr;
  const auto compose_stack = [&](size_t stack, size_t embedding, const Value& of_output, const InputGradient& to,
                                 GradientValues& of_stack) {
    of_stack.output = of_output;
    of_stack.queries = to;
    const bool learns_ids = has_embedding_ && child_learns(embedding, call);
    if (learns_ids) of_stack.queries = {schedule.reserve_spread(call.children[stack].inputs.queries.shape())};
    compose_child_backward(stack, schedule, call, of_stack);
    if (!learns_ids) return;
    GradientValues of_embedding;
    of_embedding.output = of_stack.queries.to;
    compose_child_backward(embedding, schedule, call, of_embedding);
  };
  const bool learns_memory = encodes(call) && (gradients.keys.is_wanted() || child_learns(encoder(), call) ||
                                               (has_embedding_ && child_learns(0, call)));
  Value of_output = gradients.output;
  if (call.inputs.queries.is_given()) {
    if (output_) {
      GradientValues of_rows;
      of_rows.output = of_output;
      of_output = schedule.reserve_spread(call.children[output()].inputs.queries.shape());
      of_rows.queries = {of_output};
      if (output_->is_tied) call.children[output()].table_gradient = table;
      compose_child_backward(output(), schedule, call, of_rows);
    }
    GradientValues of_decoder;
    of_decoder.self_scores = gradients.self_scores;
    if (learns_memory)
      of_decoder.keys = {schedule.reserve_spread(call.children[decoder()].inputs.keys.shape())};
    else if (!encodes(call) && gradients.memory != nullptr)
      of_decoder.keys = next_of(*gradients.memory);
    compose_stack(decoder(), 1, of_output, gradients.queries, of_decoder);
    of_output = of_decoder.keys.to;
  }
  if (!learns_memory && (call.inputs.queries.is_given() || !encodes(call))) return;
  GradientValues of_encoder;
  compose_stack(encoder(), 0, of_output, gradients.keys, of_encoder);
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
