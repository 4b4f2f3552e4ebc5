// SPDX-License-Identifier: Apache-2.0
// Products of matrices, with batch axes.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// heed_matmul.
void matmul(const Tensor& a, const Tensor& b, const Tensor& product);

}  // namespace heed
