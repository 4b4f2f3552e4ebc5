// SPDX-License-Identifier: Apache-2.0
// Sizes of tensors, and ATB's version.
#pragma once

#include <cstdint>
#include <string>

#include "atb/types.h"

namespace atb {

class ATB_SIM_API Utils {
 public:
  // The name of this symbol shows the _GLIBCXX_USE_CXX11_ABI of the library.
  static std::string GetAtbVersion();
  // The number of bytes, and of elements; 0 if a dimension is not positive or the number overflows.
  static uint64_t GetTensorSize(const Tensor& tensor);
  static uint64_t GetTensorSize(const TensorDesc& tensorDesc);
  static uint64_t GetTensorNumel(const Tensor& tensor);
  static uint64_t GetTensorNumel(const TensorDesc& tensorDesc);
};

}  // namespace atb
