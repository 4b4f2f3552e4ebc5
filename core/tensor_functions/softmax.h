// SPDX-License-Identifier: Apache-2.0
// Softmax along an axis, and softmax of attention scores with lengths.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace heed {

// heed_softmax; heed_log_softmax if is_logarithm.
void softmax(const Tensor& tensor, int32_t axis, bool is_logarithm, const Tensor& result);

// heed_masked_softmax; valid_lens null: every key is visible.
void masked_softmax(const Tensor& scores, const Tensor* valid_lens, const Tensor& result);

}  // namespace heed
