// SPDX-License-Identifier: Apache-2.0
// The steps of optimizers, element by element: formulas and arguments. Every instruction set gives the same bits: products are not
// fused with sums.
#pragma once

#include <stdint.h>

namespace heed {

// g = gradient + coupled * p
// b = momentum * b + g; without momentum b = g
// p = p - learning_rate * (nesterov ? g + momentum * b : b)
// in f64, with b and p rounded once.
struct SgdNumbers {
  double learning_rate;
  double momentum;
  double coupled;  // weight decay
  int32_t nesterov;
};

// g = gradient + coupled * p
// m = m + (1 - beta1) * (g - m)
// v = beta2 * v + (1 - beta2) * g^2
// p = p - (decoupled * p + step * m / (sqrt(v) * root_factor + epsilon)), with 0 for 0 / 0
// in f32: in f64 roots and quotients would take longer than memory.
struct AdamNumbers {
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step;  // the learning rate with the corrections of bias that root_factor does not have
  float root_factor;
  float epsilon;
  float coupled;    // weight decay of Adam
  float decoupled;  // learning rate times weight decay of AdamW
};

// Adjacent elements in host memory.
struct UpdateArguments {
  const float* gradient;
  float* parameter;
  float* first;   // b or m; null: none
  float* second;  // v; null: the step is that of SGD
  int64_t count;
  SgdNumbers sgd;
  AdamNumbers adam;
};

}  // namespace heed
