// SPDX-License-Identifier: Apache-2.0
// What kinds of attention have in common: queries, keys and values, and which keys each query sees.
#pragma once

#include "layers/layer.h"
#include "ops/attention.h"

namespace heed {

class AttentionLayer : public Layer {
 protected:
  using Layer::Layer;

  CheckedInputs check(const LayerInputs& inputs, Purpose purpose) const final;

  // Checks the shapes of queries, keys and values among themselves and against the options, and sets those of the
  // outputs. `inputs` are complete, here and below.
  virtual void check_inputs(const LayerInputs& inputs, OutputShapes& shapes) const = 0;
  // Sets the attention of a call whose inputs passed check_inputs, without the tensors it attends to and writes: its
  // sizes and, checked here, lengths, mask and bias.
  virtual void set_attention(const LayerInputs& inputs, Purpose purpose, AttentionProblem& problem) const = 0;
};

}  // namespace heed
