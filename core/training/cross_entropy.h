// SPDX-License-Identifier: Apache-2.0
// The cross-entropy of logits and labels.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"
#include "training/reduction.h"

namespace heed {

struct CrossEntropyOptions {
  double smoothing = 0;
  int64_t ignore_index = 0;
  LossReduction reduction = LossReduction::Mean;
};

// heed_cross_entropy; what is null is not given or not wanted.
void cross_entropy(const Tensor& logits, const Tensor& labels, const Tensor* valid_lens,
                   const CrossEntropyOptions& options, const Tensor* losses, double* total, const Tensor* gradient);

}  // namespace heed
