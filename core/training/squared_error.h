// SPDX-License-Identifier: Apache-2.0
// The squared error of predictions.
#pragma once

#include "tensor/tensor.h"
#include "training/reduction.h"

namespace heed {

struct SquaredErrorOptions {
  double factor = 1;
  LossReduction reduction = LossReduction::Mean;
};

// heed_squared_error; what is null is not wanted.
void squared_error(const Tensor& predictions, const Tensor& targets, const SquaredErrorOptions& options,
                   const Tensor* losses, double* total, const Tensor* gradient);

}  // namespace heed
