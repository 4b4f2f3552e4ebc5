// SPDX-License-Identifier: Apache-2.0
// What kinds of attention have in common: queries, keys and values, and which keys each query sees.
#pragma once

#include "layers/layer.h"
#include "ops/attention.h"

namespace heed {

class AttentionLayer : public Layer {
 protected:
  using Layer::Layer;

  LayerInputs check_tensors(const LayerInputs& inputs) const final;
  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const final;

  // Checks the shapes of queries, keys and values among themselves and against the options, and sets those of the
  // outputs.
  virtual void check_inputs(const InputValues& inputs, OutputShapes& shapes) const = 0;
  // For inputs that have passed check_inputs: sets the sizes of the attention, and checks and sets lengths, mask and
  // bias. Lengths are on the host; without `reads_lengths` their elements are not looked at.
  virtual void set_attention(const InputValues& inputs, bool reads_lengths, AttentionProblem& problem) const = 0;
};

}  // namespace heed
