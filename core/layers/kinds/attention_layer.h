// SPDX-License-Identifier: Apache-2.0
// The base of all attention layers: queries, keys and values, and which keys each query sees.
#pragma once

#include <optional>

#include "layers/cache_call.h"
#include "layers/layer.h"
#include "layers/row_positions.h"
#include "ops/attention.h"

namespace heed {

class AttentionLayer : public Layer {
 public:
  InputRules input_rules(const LayerInputs& inputs) const final;
  std::optional<CacheShape> cache_shape() const final;
  LayerDescription describe() const override;

 protected:
  using Layer::Layer;

  LayerInputs check_tensors(const LayerInputs& inputs) const final;
  RowMasks row_masks(const LayerInputs& inputs) const final;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const final;

  // Checks the shapes of queries, keys and values against each other and against the options. Sets the shapes of the
  // outputs. Returns the number of batch elements.
  virtual int64_t check_inputs(const InputValues& inputs, OutputShapes& shapes) const = 0;
  // For layers that can use a cache: what the cache must know. Otherwise none.
  virtual std::optional<CachedLayer> cached_layer() const { return std::nullopt; }
  virtual const AttentionOptions& attention_options() const = 0;
  virtual PositionUse position_use() const { return {}; }
  // Whether the inputs have an axis of heads, or the layer makes one.
  virtual bool has_heads(const InputValues& inputs) const = 0;
  // Called after check_inputs has passed: sets the sizes of the attention.
  virtual void set_attention(const InputValues& inputs, AttentionProblem& problem) const = 0;

 private:
  // Throws InvalidArgument if positions of rows that are appended fall among rows that no mask separates.
  void check_appended_positions(Schedule& schedule, const CacheCall& appended, const CachedSequences& cached,
                                const LayerCall& call) const;
  // What depends on positions in a call with this visibility.
  PositionUse position_use_in(const Visibility& visibility) const;
  // The sequences of a call with a cache. `given`: those of the call, in host memory if `reads`.
  const CachedSequences& set_cache(Schedule& schedule, bool reads, int64_t batch, const CallSequences& given,
                                   LayerCall& call) const;
};

}  // namespace heed
