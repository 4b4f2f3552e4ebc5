// SPDX-License-Identifier: Apache-2.0
// Functions of one element between the layers of a network.
#pragma once

#include <cstdint>

namespace heed {

// The numbers are those of HEED_ACTIVATION_; capi/src asserts it. sigma is the logistic function, Phi the distribution
// function of the normal distribution.
enum class Activation : int32_t {
  None = -1,
  Relu = 0,       // max(x, 0); NaN stays NaN
  Gelu = 1,       // x Phi(x)
  GeluTanh = 2,   // x sigma(2 sqrt(2 / pi) (x + 0.044715 x^3))
  GeluQuick = 3,  // x sigma(1.702 x)
  Silu = 4,       // x sigma(x)
};

// The FLOPs that an activation counts for one element: multiplications, additions, and one for an exponential or a
// distribution function.
constexpr double flops_of(Activation activation) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: return 1;
    case Activation::Gelu: return 2;
    case Activation::GeluTanh: return 8;
    case Activation::GeluQuick: return 4;
    case Activation::Silu: return 3;
  }
  return 0;
}

}  // namespace heed
