// SPDX-License-Identifier: Apache-2.0
// What a layer says of itself to those who read files: what it computes with its parameters, and which options of the caller
// give them to it and to its children.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/options.h"
#include "attention/relative_bias.h"
#include "attention/rope.h"
#include "ops/activation.h"
#include "ops/norm.h"
#include "tensor/shape.h"

namespace heed {

// What an attention computes with its weights.
struct LayerAttention {
  // False for layers that do not attend and for additive scores: no known model has additive scores.
  bool is_multi_head = false;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  // A scale of 0 means 1 / sqrt(head_size).
  AttentionOptions options;
  std::optional<RopeOptions> rope;  // with all defaults filled in
  float qk_norm_epsilon = 0;        // 0: no norm
  QkNorm qk_norm = QkNorm::Rms;
  bool sinks = false;
  RelativeBiasOptions relative_bias;  // with all defaults filled in
  AlibiUse alibi = AlibiUse::None;
};

// options->biases of a kind of layer: a set of bits, each of which gives the layer one bias (PossibleParameter::bias_bit).
// Of a kind without this option `all_bits` is 0.
struct BiasesOption {
  int32_t all_bits = 0;
  // The settings of no bit and of all bits, for messages.
  const char* none = nullptr;
  const char* all = nullptr;
};

// What a layer with norms and a feed-forward network computes.
struct LayerBlock {
  NormKind norm = NormKind::Layer;
  double epsilon = 0;
  bool norm_first = false;
  bool output_norms = false;
  bool no_first_norm = false;
  double residual_scale = 1;
  Activation activation = Activation::Relu;
};

// The options of a child, as the caller of the layer around it names them.
struct ChildDescription {
  // The member of the options that has those of the child, such as "feed_forward"; "": none.
  std::string options;
  // The setting of an option that gives the child its parameter "bias", if it is not an option of the child's own; null: it
  // is.
  const char* bias_option = nullptr;
};

struct LayerDescription {
  LayerAttention attention = {};
  std::optional<LayerBlock> block = std::nullopt;
  BiasesOption biases = {};
  // Of a learned table of positions: the row of position 0.
  std::optional<int64_t> first_row = std::nullopt;
  // Of the projection of an image's patches: (channels, height, width), the axes that a row of its weight merges.
  Shape patch = {};
  // The layer is one linear operation, whose weight a file may have as that of a module Conv1D.
  bool is_linear = false;
  // The first parameter multiplies normalized rows. Models that multiply by 1 + weight have it less 1.
  bool is_norm = false;
  // Whether the tensors of a file's module that this layer does not know change what it computes; tensors in the modules of
  // its parameters always do.
  bool reads_whole_module = false;
  // One for each child, or none if no child has anything to say.
  std::vector<ChildDescription> children = {};
};

}  // namespace heed
