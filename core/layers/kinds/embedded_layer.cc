// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/embedded_layer.h"

#include <algorithm>
#include <cinttypes>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "layers/errors_of_member.h"
#include "layers/kinds/dropout.h"
#include "layers/kinds/linear.h"

namespace heed {
namespace {

constexpr int64_t kMostTokenTypes = INT32_MAX;

template <typename Kind, typename Options>
std::shared_ptr<Layer> make_part(const std::shared_ptr<Context>& context, const Options& options) {
  return host_make_shared<Kind>(context->host_allocator(), context, options);
}

// The size of the rows of the embedding.
int64_t embedding_size_of(const EmbeddedOptions& options, int64_t size) {
  return options.embedding && options.embedding->embedding_size != 0 ? options.embedding->embedding_size : size;
}

EmbeddingOptions token_types_of(const EmbeddedOptions& options, int64_t size) {
  if (!options.embedding) {
    fail(Status::InvalidArgument,
         OPTION("num_token_types") " is %" PRId64 ", but " OPTION("embedding") " is " WORD(
             "NULL") ": expected both, since token types are added to rows of ids",
         options.num_token_types);
  }
  if (options.num_token_types < 0 || options.num_token_types > kMostTokenTypes) {
    fail(Status::InvalidArgument, OPTION("num_token_types") " is %" PRId64 ", expected 0 for none, to %" PRId64,
         options.num_token_types, kMostTokenTypes);
  }
  return {.num_embeddings = options.num_token_types, .embedding_size = embedding_size_of(options, size)};
}

// What makes rows of images or features. `member`: its options. `other`: those of another layer for the input, or null.
template <typename Kind, typename Options>
std::shared_ptr<Layer> make_rows(const std::shared_ptr<Context>& context, const char* member, Options options,
                                 int64_t size, const char* other) {
  if (other != nullptr) {
    fail(Status::InvalidArgument,
         OPTION("%s") " is set, but so is " OPTION("%s") ": expected " WORD("NULL") " for one of them", member, other);
  }
  if (options.size == 0) options.size = size;
  if (options.size != size) {
    fail(Status::InvalidArgument, OPTION("%s->size") " is %" PRId64 ", expected %" PRId64 " or 0, the size of the rows",
         member, options.size, size);
  }
  return ErrorsOfMember(member).of([&] { return make_part<Kind>(context, options); });
}

// `size`: of the layers' rows.
std::shared_ptr<Layer> make_positions(const std::shared_ptr<Context>& context, const EmbeddedOptions& given,
                                      int64_t size) {
  PositionalEncodingOptions options = *given.positions;
  const int64_t own_size = embedding_size_of(given, size);
  if (options.size == 0) options.size = own_size;
  if (options.size != own_size && options.size != size) {
    if (own_size == size) {
      fail(Status::InvalidArgument,
           OPTION("positions->size") " is %" PRId64 ", expected %" PRId64
                                     " or 0: positions are added to rows of that size",
           options.size, size);
    }
    fail(Status::InvalidArgument,
         OPTION("positions->size") " is %" PRId64 ", expected 0, %" PRId64 " or %" PRId64
                                   ": positions are added to rows of the embedding, of %" PRId64
                                   ", or of the layers, of %" PRId64,
         options.size, own_size, size, own_size, size);
  }
  return ErrorsOfMember("positions").of([&] { return make_part<PositionalEncoding>(context, options); });
}

std::shared_ptr<Layer> make_embedding(const std::shared_ptr<Context>& context, EmbeddingOptions options, int64_t size,
                                      bool is_tied) {
  if (options.embedding_size == 0) options.embedding_size = size;
  options.is_tied = is_tied;
  return ErrorsOfMember("embedding").of([&] { return make_part<Embedding>(context, options); });
}

}  // namespace

const char* words_of_rows(const EmbeddedOptions& options) {
  if (options.embedding) return "ids";
  if (options.patches) return "images";
  return options.audio ? "features of audio" : "rows";
}

std::vector<Layer::NamedLayer> EmbeddedLayer::first_children(const std::shared_ptr<Context>& context,
                                                             const EmbeddedOptions& options, int64_t size,
                                                             const LayerNormOptions& norm, float dropout,
                                                             bool is_tied) {
  std::vector<NamedLayer> children;
  const auto add = [&](ChildRole role, std::shared_ptr<Layer> layer) {
    children.push_back(as_child(role, std::move(layer)));
  };
  const int64_t own_size = embedding_size_of(options, size);
  if (options.embedding) add(ChildRole::Embedding, make_embedding(context, *options.embedding, size, is_tied));
  const char* const ids = options.embedding ? "embedding" : nullptr;
  if (options.patches)
    add(ChildRole::Patches, make_rows<PatchEmbedding>(context, "patches", *options.patches, size, ids));
  if (options.audio)
    add(ChildRole::Audio,
        make_rows<AudioEmbedding>(context, "audio", *options.audio, size, options.patches ? "patches" : ids));
  if (options.num_token_types != 0)
    add(ChildRole::TokenTypes, make_part<Embedding>(context, token_types_of(options, size)));
  const bool projects = own_size != size;
  // Positions of the layers' size can only be added after the projection to that size.
  const bool projects_first = projects && options.positions && options.positions->size == size;
  const auto add_projection = [&] {
    add(ChildRole::EmbeddingProjection,
        make_part<Linear>(context, LinearOptions{.output_size = size, .no_bias = options.no_projection_bias}));
  };
  if (projects_first) add_projection();
  if (options.positions) add(ChildRole::Positions, make_positions(context, options, size));
  if (options.embedding_norm) add(ChildRole::EmbeddingNorm, make_part<LayerNorm>(context, norm));
  if (projects && !projects_first) add_projection();
  if (!children.empty()) add(ChildRole::EmbeddingDropout, make_part<Dropout>(context, DropoutOptions{dropout}));
  return children;
}

EmbeddedLayer::EmbeddedLayer(std::shared_ptr<Context> context, std::span<const NamedLayer> children,
                             const EmbeddedOptions& options, int64_t size, float dropout)
    : Layer(std::move(context), {}, kNoParameters, children), options_(options), size_(size), dropout_(dropout) {
  while (num_first_children_ < num_children() && child_role(num_first_children_) != ChildRole::Layers)
    ++num_first_children_;
}

Value EmbeddedLayer::check_first_children(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [input, keys, values, sequences, visibility, cache, decoder, token_types, layer_offset, memory,
               wanted_output, encoder_lens] = call.inputs;
  const bool packed = is_packed(call.inputs);
  const int32_t rank = packed ? 2 : 3;
  if (has_embedding()) check_ids_of_rows(input, packed, call.ids_name);
  if (reads_signals() && packed) {
    fail(Status::InvalidArgument,
         INPUT("sequences") " has offsets, but the images or features of %s have one size: expected " WORD("NULL"),
         call.ids_name);
  }
  if (!has_embedding() && !reads_signals() && (input.rank() != rank || input.dim(rank - 1) != size_)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected (%s, %" PRId64 ")", call.ids_name,
         to_string(input.shape()).c_str(), packed ? "total" : "B, S", size_);
  }
  if (token_types != nullptr && !(token_types->shape() == input.shape())) {
    fail(Status::InvalidArgument, INPUT("token_types") " has " ARGUMENT("dims") " %s, expected %s, those of the ids",
         to_string(token_types->shape()).c_str(), to_string(input.shape()).c_str());
  }
  make_children(schedule, call);
  call.arrays = schedule.arena().allocate_for<Value>(num_first_children_);
  Value rows = input;
  for (size_t i = 0; i < num_first_children_; ++i) {
    const ChildRole role = child_role(i);
    if (role == ChildRole::EmbeddingDropout && !drops(call)) break;
    LayerCall& part = call.children[i];
    InputValues inputs = rows_alone(rows);
    if (role == ChildRole::Positions) {
      inputs.sequences = &schedule.arena().make<SequenceInputs>(of_queries(*sequences));
      inputs.cache = cache;
    }
    part.ids_name = call.ids_name;
    part.id_lens = sequences->query_lens;
    if (role == ChildRole::TokenTypes) {
      part.ids_name = INPUT("token_types");
      part.id_words = &kTokenTypeWords;
      part.has_zero_ids = token_types == nullptr;
      inputs.queries = token_types == nullptr ? input : Value(token_types);
    }
    const Shape shape = check_child(i, inputs, schedule, purpose, call).output;
    if (role == ChildRole::Patches) check_num_patches(call, shape[1]);
    // Token types are added in place, and so runs a norm of rows that a child before made: the rows of the call, which may be
    // copies too, have their own dtype.
    // A backward of the norm reads its rows.
    const bool is_in_place =
        role == ChildRole::TokenTypes ||
        (role == ChildRole::EmbeddingNorm && rows.intermediate() != input.intermediate() && !schedule.saves_arrays());
    if (!is_in_place) rows = schedule.reserve_spread(shape);
    std::construct_at(&call.arrays[i], rows);
  }
  return rows;
}

void EmbeddedLayer::check_num_patches(const LayerCall& call, int64_t num_rows) const {
  const bool has_table = options_.positions && options_.positions->kind == PositionKind::Learned;
  if (!has_table || call.inputs.sequences->positions != nullptr || num_rows == options_.positions->max_positions)
    return;
  fail(Status::InvalidArgument,
       "%s has " ARGUMENT("dims") " %s, whose patches make %" PRId64 " rows, expected %" PRId64
                                  ", %s: a learned table belongs to images of one size",
       call.ids_name, to_string(call.inputs.queries.shape()).c_str(), num_rows, options_.positions->max_positions,
       words_of_max(*options_.positions).c_str());
}

void EmbeddedLayer::set_row_limits(LayerCall& call, const KeyLimits* limits) const {
  call.row_limits = limits;
  for (size_t i = 0; i < num_first_children_; ++i) {
    const ChildRole role = child_role(i);
    if (role == ChildRole::EmbeddingNorm || role == ChildRole::EmbeddingProjection ||
        role == ChildRole::EmbeddingDropout)
      call.children[i].row_limits = limits;
  }
}

void EmbeddedLayer::compose_first_children(Schedule& schedule, const LayerCall& call) const {
  for (size_t i = 0; i < num_first_children_; ++i) {
    const ChildRole role = child_role(i);
    if (role == ChildRole::EmbeddingDropout && !drops(call)) break;
    OutputValues outputs;
    outputs.output = call.arrays[i];
    if (role == ChildRole::TokenTypes) outputs.addend = call.arrays[i];
    compose_child(i, schedule, call, outputs);
  }
}

void EmbeddedLayer::compose_first_children_backward(Schedule& schedule, const LayerCall& call, const Value& of_rows,
                                                    const GradientValues& gradients) const {
  Value of_output = of_rows;
  for (size_t i = num_first_children_; i-- > 0;) {
    const ChildRole role = child_role(i);
    if (role == ChildRole::EmbeddingDropout && !drops(call)) continue;
    GradientValues of_child;
    of_child.output = of_output;
    // Ids have no gradient, and the rows to which those of token types are added have that of the sum.
    const bool reads_ids = role == ChildRole::Embedding || role == ChildRole::TokenTypes;
    if (i == 0 && !reads_ids)
      of_child.queries = gradients.queries;
    else if (!reads_ids)
      of_child.queries = {schedule.reserve_spread(call.children[i].inputs.queries.shape())};
    compose_child_backward(i, schedule, call, of_child);
    if (!reads_ids) of_output = of_child.queries.to;
  }
}

DType EmbeddedLayer::row_dtype(const LayerInputs& inputs) const {
  if (!has_embedding()) return Layer::row_dtype(inputs);
  const Parameter& table = parameters().front();
  return table.is_set() ? table.value().dtype() : DType::F32;
}

void EmbeddedLayer::write_embedded_options(JsonWriter& json) const {
  for (size_t i = 0; i < num_first_children_; ++i) {
    const ChildRole role = child_role(i);
    if (makes_rows(role) || role == ChildRole::Positions) write_child_options(i, child_name(i), json);
  }
  json.member("num_token_types", options_.num_token_types);
  json.member("embedding_norm", options_.embedding_norm);
  json.member("no_projection_bias", options_.no_projection_bias);
}

void EmbeddedLayer::check_rows_or_ids(const LayerInputs& inputs) const {
  if (!has_embedding()) {
    check_queries(inputs, reads_signals() ? words_of_rows(options_) : nullptr);
  } else {
    if (inputs.queries == nullptr)
      fail(Status::InvalidArgument, INPUT("queries") " is " WORD("NULL") ", expected " WORD("a tensor") " of ids");
    check_ids(*inputs.queries, INPUT("queries"));
  }
  if (inputs.token_types != nullptr) check_ids(*inputs.token_types, INPUT("token_types"), kTokenTypeWords);
}

void require_lens_of_elements(const Tensor* lens, const char* name, const char* mask) {
  if (lens == nullptr || lens->rank() != 2) return;
  fail(Status::InvalidArgument,
       "%s has " ARGUMENT(
           "dims") " %s, expected (B), one length for each batch element: a mask is not lengths, and goes to %s",
       name, to_string(lens->shape()).c_str(), mask);
}

void fail_mask_of_signals(const char* words) {
  fail(Status::InvalidArgument, "%s is set, but the encoder reads %s, of which all rows count: expected " WORD("NULL"),
       kAttentionMask, words);
}

void check_ids_of_rows(const Value& ids, bool is_packed, const char* name) {
  if (ids.rank() == (is_packed ? 1 : 2)) return;
  fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected (%s), the ids of the rows", name,
       to_string(ids.shape()).c_str(), is_packed ? "total" : "B, S");
}

}  // namespace heed
