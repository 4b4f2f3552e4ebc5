// SPDX-License-Identifier: Apache-2.0
// Layers of a Transformer's encoder and decoder, and stacks of them, in f64. A caller decides what becomes of each step's
// result, since errors that are carried through several steps are wider than anything that a test could use.
#pragma once

#include <optional>
#include <vector>

#include "reference/feed_forward.h"
#include "reference/moved_steps.h"
#include "reference/multi_head_attention.h"
#include "reference/norm.h"

namespace heed::reference {

struct TransformerLayer {
  // Without queries, keys and values: those are rows of the layer and of the encoder.
  MultiHeadProblem self_attention;
  std::optional<MultiHeadProblem> cross_attention;
  FeedForward feed_forward;
  std::vector<std::optional<Norm>> norms;  // one for each attention and the network; none: its rows stay as they are
  std::vector<Norm> output_norms;          // none, or likewise, of their outputs
  std::vector<Dropout> dropouts;           // of their outputs
  double residual_scale = 1;               // of their outputs
  bool norm_first = false;
};

struct TransformerStack {
  std::vector<TransformerLayer> layers;
  std::optional<Norm> final_norm;
  // As that of each norm, attention and network: to which the engine rounds the result of each operation.
  std::optional<Format> compute_format = std::nullopt;
};

std::vector<double> transform(const TransformerStack& stack, std::vector<double> rows,
                              const std::vector<double>& encoder_rows, const AfterStep& after_step);

// The rows' exact result, and how far an engine's may be from it: moved_steps.h.
Bounded transform(const TransformerStack& stack, const std::vector<double>& rows,
                  const std::vector<double>& encoder_rows);

}  // namespace heed::reference
