// SPDX-License-Identifier: Apache-2.0
#include "atb/utils.h"

#include <cstdint>

namespace atb {

std::string Utils::GetAtbVersion() { return "8.5.0-simulated"; }

uint64_t Utils::GetTensorNumel(const TensorDesc& desc) {
  if (desc.shape.dimNum > MAX_DIM) return 0;
  uint64_t product = desc.shape.dimNum == 0 ? 0 : 1;
  for (uint64_t i = 0; i < desc.shape.dimNum; ++i) {
    const int64_t dim = desc.shape.dims[i];
    if (dim <= 0 || __builtin_mul_overflow(product, static_cast<uint64_t>(dim), &product)) return 0;
  }
  return product;
}

uint64_t Utils::GetTensorNumel(const Tensor& tensor) { return GetTensorNumel(tensor.desc); }

uint64_t Utils::GetTensorSize(const TensorDesc& desc) {
  uint64_t bytes;
  return __builtin_mul_overflow(GetTensorNumel(desc), uint64_t{aclDataTypeSize(desc.dtype)}, &bytes) ? 0 : bytes;
}

uint64_t Utils::GetTensorSize(const Tensor& tensor) { return GetTensorSize(tensor.desc); }

}  // namespace atb
