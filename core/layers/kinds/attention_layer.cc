// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/attention_layer.h"

#include "base/error.h"
#include "layers/host_sequences.h"
#include "layers/kinds/projection.h"
#include "tensor/device.h"

namespace heed {

std::optional<Layer::CacheShape> AttentionLayer::cache_shape() const {
  const std::optional<CachedLayer> layer = cached_layer();
  if (!layer) return std::nullopt;
  return CacheShape{1, layer->num_kv_heads, layer->head_size, layer->value_head_size};
}

LayerInputs AttentionLayer::check_tensors(const LayerInputs& inputs) const {
  check_no_decoder_inputs(inputs, kind());
  check_no_token_types(inputs, kind());
  if (inputs.cache != nullptr) {
    if (!cached_layer()) {
      fail(Status::Unsupported,
           "inputs->cache is set, but %s attends to keys as they are given: expected NULL, or a multi-head attention "
           "with "
           "HEED_SCORING_DOT_PRODUCT",
           kind());
    }
    check_same_device("inputs->cache->cache", inputs.cache->cache->context()->device_name(), owner(),
                      context()->device_name());
  }
  return complete_inputs(inputs, owner(), context()->device_name());
}

void AttentionLayer::set_cache(Schedule& schedule, bool reads_lengths, int64_t batch, AttentionInputs& others,
                               LayerCall& call) const {
  const int64_t num_rows = rows_of(call.inputs).dim(row_axis(call.inputs));
  if (others.cache_sequences != nullptr && others.cache_sequences->has_data())
    others.cache_sequences = &schedule.on_host(*others.cache_sequences);
  if (others.query_lens != nullptr && others.query_lens->has_data())
    others.query_lens = &schedule.on_host(*others.query_lens);
  const CacheCall appended = set_cache_sequences(schedule, *cached_layer(), batch, num_rows, reads_lengths, others);
  if (appended.num_rows > 0) schedule.add_cache(schedule.arena().make<CacheCall>(appended));
  // Weights have a column for each row of the longest sequence.
  if (call.shapes.weights) (*call.shapes.weights)[3] += others.cached->limits.num_keys;
}

void AttentionLayer::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  const int64_t batch = check_inputs(call.inputs, call.shapes);
  AttentionInputs others = *call.inputs.others;
  const bool reads_lengths = purpose != Purpose::Shapes;
  if (reads_lengths) {
    if (others.valid_lens != nullptr && others.valid_lens->has_data())
      others.valid_lens = &schedule.on_host(*others.valid_lens);
    bring_to_host(others, batch, schedule);
  }
  if (others.cache != nullptr) set_cache(schedule, reads_lengths, batch, others, call);
  InputValues inputs = call.inputs;
  inputs.others = &others;
  // Built in the arena: copying a struct that was just written stalls on store forwarding.
  call.attention = &schedule.arena().make<AttentionProblem>();
  set_attention(inputs, reads_lengths, *call.attention);
}

}  // namespace heed
