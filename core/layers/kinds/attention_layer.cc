// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/attention_layer.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <utility>

#include "attention/validate.h"
#include "base/error.h"
#include "layers/falling_positions.h"
#include "layers/host_sequences.h"
#include "layers/kinds/projection.h"
#include "tensor/device.h"

namespace heed {
namespace {

// What a cache does not go with.
void check_cached_call(const LayerCall& call) {
  const char* const cache = call.inputs.cache->path;
  if (call.inputs.visibility->valid_lens != nullptr) {
    fail(Status::InvalidArgument,
         INPUT("valid_lens") " is set, but so is " INPUT("%s") ", which knows the lengths of its sequences: "
"expected " WORD(
             "NULL") "; " INPUT("sequences->query_lens") " says how many rows each element has",
         cache);
  }
  const SequenceInputs& sequences = *call.inputs.sequences;
  for (const auto& [name, tensor] : {std::pair{INPUT("sequences->key_offsets"), sequences.key_offsets},
                                     {INPUT("sequences->key_positions"), sequences.key_positions}}) {
    if (tensor == nullptr) continue;
    fail(Status::InvalidArgument, "%s is set, but so is " INPUT("%s") ", which has the keys: expected " WORD("NULL"),
         name, cache);
  }
  if (call.training.is_on) {
    fail(Status::Unsupported,
         INPUT("training") " is " FLAG("training", "1") ", but " INPUT("%s") " is set: expected " FLAG(
             "training", "0") ", since caches have no gradients",
         cache);
  }
}

void set_dropout(AttentionProblem& problem, const Training& training, float dropout) {
  problem.dropout = training.is_on ? dropout : 0.0f;
  problem.dropout_seed = training.dropout_seed;
  if (problem.dropout == 0) return;
  // The counter of a weight's random number consists of its indices as 32-bit words.
  const std::array<int64_t, 4> sizes{problem.batch, problem.num_heads, problem.limits.num_queries,
                                     problem.limits.num_keys};
  const int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (largest > int64_t{1} << 32) {
    fail(Status::Unsupported,
         "dropout with a dimension of %" PRId64
         " is not supported, expected at most 2^32 in batch, heads, queries and keys",
         largest);
  }
}

}  // namespace

InputRules AttentionLayer::input_rules(const LayerInputs&) const {
  static constexpr Refusal kRefusals[] = {
      {kDecoderInputs, KIND("%s %s layer") " is no decoder: expected " WORD("NULL")},
      {{Input::TokenTypes}, KIND("%s %s layer") " has no embedding: expected " WORD("NULL")},
      {{Input::OutputRows}, KIND("%s %s layer") " gives the output of all rows: expected " WORD("NULL")},
      {kCacheInputs,
       KIND("%s") " attends to keys as they are given: expected " WORD(
           "NULL") ", or a multi-head attention with " CONSTANT("HEED_SCORING_DOT_PRODUCT"),
       Status::Unsupported},
  };
  constexpr InputSet kReads = kRowInputs.with(kSequenceInputs).with(kVisibilityInputs);
  static_assert(covers_all_inputs({kReads, kRefusals}));
  return {cached_layer() ? kReads.with(kCacheInputs) : kReads, kRefusals};
}

std::optional<Layer::CacheShape> AttentionLayer::cache_shape() const {
  const std::optional<CachedLayer> layer = cached_layer();
  if (!layer) return std::nullopt;
  return CacheShape{1, layer->num_kv_heads, layer->head_size, layer->value_head_size, layer->window()};
}

LayerDescription AttentionLayer::describe() const {
  LayerDescription description;
  description.reads_whole_module = true;
  return description;
}

LayerInputs AttentionLayer::check_tensors(const LayerInputs& inputs) const {
  if (inputs.cache != nullptr) {
    check_same_device(INPUT("cache->cache"), inputs.cache->cache->context()->device_name(), owner(),
                      context()->device_name());
  }
  return complete_inputs(inputs);
}

RowMasks AttentionLayer::row_masks(const LayerInputs& inputs) const {
  if (inputs.attention_mask == nullptr) return {};
  if (inputs.cache != nullptr && !inputs.cache->appends()) {
    fail(Status::InvalidArgument,
         "%s is set, but " INPUT("cache->use") " is " CONSTANT("HEED_CACHE_READ") ": expected " WORD(
             "NULL") ", since the cache has what counts of the keys",
         kAttentionMask);
  }
  const bool fills = fills_cache(inputs.cache);
  const bool is_self = !fills && inputs.keys->is_same_as(*inputs.queries);
  if (is_self) return {.of_queries = inputs.attention_mask, .queries_name = kAttentionMask};
  return {.of_keys = inputs.attention_mask, .keys_name = kAttentionMask, .stores_keys = fills};
}

PositionUse AttentionLayer::position_use_in(const Visibility& visibility) const {
  PositionUse use = position_use();
  use.reads_distances = use.reads_distances || visibility.alibi_slopes != nullptr;
  return use;
}

void AttentionLayer::check_appended_positions(Schedule& schedule, const CacheCall& appended,
                                              const CachedSequences& cached, const LayerCall& call) const {
  const PositionUse use = position_use_in(*call.inputs.visibility);
  const AttentionOptions options = attention_options();
  const bool compares =
      use.rotates || use.reads_distances || options.window != Alignment::None || options.causal != Alignment::None;
  if (!compares || fills_cache(call.inputs)) return;
  FallingPositions falling(schedule, *call.inputs.visibility);
  for (int64_t b = 0; b < appended.num_rows; ++b) {
    const Cache::NewRows& added = appended.rows[b];
    if (added.positions == nullptr) continue;
    falling.check({.element = b,
                   .first_row = cached.limits.table[b].query_begin,
                   .count = added.count,
                   .positions = added.positions,
                   .is_packed = is_packed(call.inputs),
                   .num_held = appended.cache->rows(appended.layer, added.sequence).length});
  }
}

const CachedSequences& AttentionLayer::set_cache(Schedule& schedule, bool reads, int64_t batch,
                                                 const CallSequences& given, LayerCall& call) const {
  check_cached_call(call);
  const int64_t num_rows = rows_of(call.inputs).dim(row_axis(call.inputs));
  CachedLayer layer = *cached_layer();
  layer.reads_distances = layer.reads_distances || call.inputs.visibility->alibi_slopes != nullptr;
  // Lengths count for the number of keys, which is a dim of weights, also where elements are not read otherwise.
  CallSequences sequences = given;
  sequences.query_lens = on_host(given.query_lens, schedule);
  auto& cached = schedule.arena().make<CachedSequences>();
  const CacheCall appended =
      set_cache_sequences(schedule, layer, cache_of(call.inputs, schedule), batch, num_rows, reads, sequences, cached);
  if (appended.num_rows > 0) {
    schedule.add_cache(schedule.arena().make<CacheCall>(appended));
    check_appended_positions(schedule, appended, cached, call);
  }
  // Weights have a column for each row of the longest sequence.
  if (call.shapes.weights) (*call.shapes.weights)[3] += cached.limits.num_keys;
  return cached;
}

void AttentionLayer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const InputValues& inputs = call.inputs;
  const int64_t batch = check_inputs(inputs, call.shapes);
  const bool reads = purpose != Purpose::Shapes;
  Visibility visibility = *inputs.visibility;
  CallSequences sequences = {*inputs.sequences};
  if (reads) {
    visibility.valid_lens = on_host(visibility.valid_lens, schedule);
    bring_to_host(sequences, batch, schedule);
  }
  if (inputs.cache != nullptr)
    sequences.cached = &set_cache(schedule, reads, batch, sequences, call);
  else
    check_key_positions(inputs);
  // Built in the arena: copying a struct that was just written stalls on store forwarding.
  call.attention = &schedule.arena().make<AttentionProblem>();
  set_attention(inputs, *call.attention);
  const bool places = places_keys(inputs);
  const CallForm form = {call.called_dtype, has_heads(inputs), keys_are_queries(inputs), reads, places};
  set_visibility(*call.attention, visibility, sequences, attention_options(), form);
  if (places) {
    set_row_positions(schedule, inputs, visibility, sequences, attention_options(), position_use_in(visibility), reads,
                      *call.attention);
  }
  set_dropout(*call.attention, call.training, attention_options().dropout);
}

}  // namespace heed
