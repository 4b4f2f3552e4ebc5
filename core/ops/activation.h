// SPDX-License-Identifier: Apache-2.0
// Functions of one element between the layers of a network, and the list of all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/terms.h"

// One row for each activation: its name; NAME of HEED_ACTIVATION_NAME in heed.h, which has the number of the row, as capi/src
// asserts; its word in saved files, which is also the name of its function in the kernels; and the FLOPs that it counts for one
// element: multiplications, additions, and one for an exponential or a distribution function. sigma is the logistic function,
// Phi the distribution function of the normal distribution.
#define HEED_ACTIVATIONS(ACTIVATION)                                                                \
  ACTIVATION(Relu, RELU, relu, 1)                  /* max(x, 0); NaN stays NaN */                   \
  ACTIVATION(Gelu, GELU, gelu, 2)                  /* x Phi(x) */                                   \
  ACTIVATION(GeluTanh, GELU_TANH, gelu_tanh, 8)    /* x sigma(2 sqrt(2 / pi) (x + 0.044715 x^3)) */ \
  ACTIVATION(GeluQuick, GELU_QUICK, gelu_quick, 4) /* x sigma(1.702 x) */                           \
  ACTIVATION(Silu, SILU, silu, 3)                  /* x sigma(x) */

namespace heed {

enum class Activation : int32_t {
  None = -1,
#define HEED_ENUMERATOR(name, upper, word, flops) name,
  HEED_ACTIVATIONS(HEED_ENUMERATOR)
#undef HEED_ENUMERATOR
};

// A row of the list.
struct ActivationRow {
  Activation activation;
  const char* constant;  // as a term of sentences
  const char* word;
  double flops;
};
inline constexpr ActivationRow kActivations[] = {
#define HEED_ROW(name, upper, word, flops) {Activation::name, CONSTANT("HEED_ACTIVATION_" #upper), #word, flops},
    HEED_ACTIVATIONS(HEED_ROW)
#undef HEED_ROW
};
inline constexpr int32_t kNumActivations = std::size(kActivations);

// Not of Activation::None.
constexpr const ActivationRow& row_of(Activation activation) { return kActivations[static_cast<size_t>(activation)]; }

constexpr double flops_of(Activation activation) {
  return activation == Activation::None ? 0 : row_of(activation).flops;
}

}  // namespace heed
