// SPDX-License-Identifier: Apache-2.0
// Activations, dropout and feed-forward networks in f64, with the error of an engine in f32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/multi_head_attention.h"
#include "reference/operations.h"

namespace heed::reference {

enum class Activation { Relu, Gelu, GeluTanh, GeluQuick, Silu };

// The activation of a number. `compute_format`: as in FeedForward.
BoundedNumber activate(Activation activation, const BoundedNumber& x,
                       std::optional<Format> compute_format = std::nullopt);

// Which elements of an array are dropped, as by a layer of dropout; the others are multiplied by 1 / (1 - probability).
struct Dropout {
  double probability = 0;
  uint64_t seed = 0;
};
void drop(const Dropout& dropout, Bounded& array, std::optional<Format> compute_format);

struct FeedForward {
  Projection first;
  std::optional<Projection> gate;
  Projection second;
  Activation activation = Activation::Relu;
  Dropout dropout = {};  // of what the second projection reads
  // To which the engine rounds operands and the result of each operation; none: it computes in f32 and rounds nothing.
  std::optional<Format> compute_format = std::nullopt;
};

// W_2 f(W_1 x), or with a gate W_2 (f(W_gate x) * W_1 x), of rows that are exact.
Bounded feed_forward(const FeedForward& network, const std::vector<double>& rows);

}  // namespace heed::reference
