// SPDX-License-Identifier: Apache-2.0
// The steps of optimizers (ops/update.h). The compiler makes vectors of these loops.
#pragma once

#include "backends/cpu/kernels/simd/simd.h"
#include "ops/update.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

static void update_sgd(const SgdNumbers n, const float* __restrict gradient, float* __restrict parameter,
                       float* __restrict buffer, int64_t count) {
  if (buffer == nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      const auto old = static_cast<double>(parameter[i]);
      parameter[i] = static_cast<float>(old - n.learning_rate * (static_cast<double>(gradient[i]) + n.coupled * old));
    }
    return;
  }
  // Without Nesterov's step the buffer alone is subtracted.
  const double of_gradient = n.nesterov != 0 ? 1 : 0;
  const double of_buffer = n.nesterov != 0 ? n.momentum : 1;
  for (int64_t i = 0; i < count; ++i) {
    const auto old = static_cast<double>(parameter[i]);
    const double with_decay = static_cast<double>(gradient[i]) + n.coupled * old;
    const double sum = n.momentum * static_cast<double>(buffer[i]) + with_decay;
    buffer[i] = static_cast<float>(sum);
    parameter[i] = static_cast<float>(old - n.learning_rate * (of_gradient * with_decay + of_buffer * sum));
  }
}

static void update_adam(const AdamNumbers n, const float* __restrict gradient, float* __restrict parameter,
                        float* __restrict first, float* __restrict second, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float with_decay = gradient[i] + n.coupled * parameter[i];
    first[i] += n.one_minus_beta1 * (with_decay - first[i]);
    second[i] = n.beta2 * second[i] + n.one_minus_beta2 * with_decay * with_decay;
    const float root = __builtin_sqrtf(second[i]) * n.root_factor + n.epsilon;
    // Without epsilon an element whose gradients were all 0 has no step.
    const float divisor = root > 0 ? root : __builtin_inff();
    parameter[i] -= n.decoupled * parameter[i] + n.step * first[i] / divisor;
  }
}

static void update_elements(const UpdateArguments* arguments) {
  if (arguments->second == nullptr) {
    update_sgd(arguments->sgd, arguments->gradient, arguments->parameter, arguments->first, arguments->count);
  } else {
    update_adam(arguments->adam, arguments->gradient, arguments->parameter, arguments->first, arguments->second,
                arguments->count);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
