// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor as text for people.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace heed {

// The elements as NumPy (2.3 and later) prints them with its default options. The tensor has data.
std::string elements_text(const Tensor& tensor);

}  // namespace heed
