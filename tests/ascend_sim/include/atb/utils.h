// SPDX-License-Identifier: Apache-2.0
// Sizes of tensors, and the version.
#pragma once

#include <cstdint>
#include <string>

#include "atb/types.h"

namespace atb {

class ATB_SIM_API Utils {
 public:
  // Its symbol shows with which _GLIBCXX_USE_CXX11_ABI the library was built.
  static std::string GetAtbVersion();
  // Bytes, and elements; 0 where a dimension is not positive, or the number does not fit.
  static uint64_t GetTensorSize(const Tensor& tensor);
  static uint64_t GetTensorSize(const TensorDesc& tensorDesc);
  static uint64_t GetTensorNumel(const Tensor& tensor);
  static uint64_t GetTensorNumel(const TensorDesc& tensorDesc);
};

}  // namespace atb
