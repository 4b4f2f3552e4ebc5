// SPDX-License-Identifier: Apache-2.0
// The gradients that the backward of a layer reads and writes: those of the loss by its output, its inputs and its parameters.
#pragma once

#include <span>
#include <utility>

#include "layers/value.h"
#include "tensor/tensor.h"

namespace heed {

// heed_layer_gradients: of the called layer.
struct LayerGradients {
  // By the output.
  const Tensor* output = nullptr;
  // Null: not wanted.
  const Tensor* queries = nullptr;
  const Tensor* keys = nullptr;
  const Tensor* values = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* alibi_slopes = nullptr;
  const Tensor* sinks = nullptr;
  const Tensor* self_bias = nullptr;
  const Tensor* memory = nullptr;
  // One for each of Layer::parameters(), null where it is not wanted. Empty: none is wanted.
  std::span<const Tensor* const> parameters = {};
  // Whether gradients are added to what the tensors hold.
  bool accumulates = false;
};

// A sum of gradients to which several operations of a call may add, in the order of the backward.
struct GradientSum {
  // Not given: not wanted.
  Value to = {};
  // Whether it holds a number to which the next operation adds.
  bool is_begun = false;

  // For the next operation: whether it adds. Operations behind it do.
  bool begin() { return std::exchange(is_begun, true); }
};

// Where a layer writes the gradient by one of its inputs: `to`, plus `addend`, which may be the same array. With `to` not
// given nothing is written.
struct InputGradient {
  Value to = {};
  Value addend = {};

  bool is_wanted() const { return to.is_given(); }
};

// The next operation that adds to the sum, by an InputGradient.
inline InputGradient next_of(GradientSum& sum) {
  if (!sum.to.is_given()) return {};
  return {sum.to, sum.begin() ? sum.to : Value()};
}

// By what attention adds to scores.
struct ScoreGradients {
  GradientSum bias;
  GradientSum alibi_slopes;
  GradientSum sinks;
};

// What a layer's backward gets from its parent, as compose gets OutputValues.
struct GradientValues {
  // By the output, with its shape, in F32. Where rows are no queries (LayerCall::row_limits) it is 0.
  Value output = {};
  // OutputValues::scale of the forward. The gradient by the addend is the parent's.
  float scale = 1;
  // Written in this order: so those of several roles may go to one array, each with it as its addend.
  InputGradient queries = {};
  InputGradient keys = {};
  InputGradient values = {};
  // Null: none is wanted. Those of a decoder's self-attention are `self`.
  ScoreGradients* scores = nullptr;
  ScoreGradients* self_scores = nullptr;
  GradientSum* memory = nullptr;

  // Whether something is wanted that every layer of a stack adds to.
  bool wants_of_all_layers() const {
    const auto wants = [](const ScoreGradients* of) {
      return of != nullptr && (of->bias.to.is_given() || of->alibi_slopes.to.is_given() || of->sinks.to.is_given());
    };
    return keys.is_wanted() || wants(scores) || wants(self_scores);
  }
};

}  // namespace heed
