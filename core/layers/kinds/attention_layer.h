// SPDX-License-Identifier: Apache-2.0
// The base of all attention layers: queries, keys and values, and which keys each query sees.
#pragma once

#include <optional>

#include "layers/cache_call.h"
#include "layers/layer.h"
#include "ops/attention.h"

namespace heed {

class AttentionLayer : public Layer {
 public:
  std::optional<CacheShape> cache_shape() const final;

 protected:
  using Layer::Layer;

  LayerInputs check_tensors(const LayerInputs& inputs) const final;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const final;
  bool reads_whole_module() const final { return true; }

  // Checks the shapes of queries, keys and values against each other and against the options. Sets the shapes of the
  // outputs. Returns the number of batch elements.
  virtual int64_t check_inputs(const InputValues& inputs, OutputShapes& shapes) const = 0;
  // For layers that can use a cache: what the cache must know. Otherwise none.
  virtual std::optional<CachedLayer> cached_layer() const { return std::nullopt; }
  // Called after check_inputs has passed: sets the sizes of the attention, and checks and sets lengths, mask and bias.
  // Lengths, positions and offsets are in host memory. Their elements are read only if reads_lengths.
  virtual void set_attention(const InputValues& inputs, bool reads_lengths, AttentionProblem& problem) const = 0;

 private:
  // Sets the sequences of a call with a cache.
  void set_cache(Schedule& schedule, bool reads_lengths, int64_t batch, AttentionInputs& others, LayerCall& call) const;
};

}  // namespace heed
