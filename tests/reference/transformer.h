// SPDX-License-Identifier: Apache-2.0
// Layers of a Transformer's encoder and decoder, and stacks of them, in f64. A caller decides what becomes of each step's
// result, since errors that are carried through several steps are wider than anything that a test could use.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "reference/feed_forward.h"
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

// What the next step reads in place of the result of this one. Steps are attention, the feed-forward network, both with
// their factor, their sum with the residual, and norms. The bound of a result is that of one step: its inputs have no error.
using AfterStep = std::function<std::vector<double>(Bounded result)>;

std::vector<double> transform(const TransformerStack& stack, std::vector<double> rows,
                              const std::vector<double>& encoder_rows, const AfterStep& after_step);

// The rows' exact result, and how far an engine's may be from it. Each step of it is off by at most its own error; how
// these add up in the result depends on the steps in between. So the steps' results are moved by their whole errors, up or
// down at random, some times over: a result's error is kTimesMoved times the largest difference in its row.
inline constexpr double kTimesMoved = 2.0;
Bounded transform(const TransformerStack& stack, const std::vector<double>& rows,
                  const std::vector<double>& encoder_rows);

}  // namespace heed::reference
