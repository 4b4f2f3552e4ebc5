// SPDX-License-Identifier: Apache-2.0
// The rotation of pairs of elements by tables of cosines and sines.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// heed_rotary_embedding; positions may be null.
void rotate(const Tensor& tensor, const Tensor& cosines, const Tensor& sines, const Tensor* positions,
            bool is_interleaved, const Tensor& result);

}  // namespace heed
