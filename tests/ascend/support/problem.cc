// SPDX-License-Identifier: Apache-2.0
#include "ascend/support/problem.h"

#include "base/half.h"
#include "tensor/copy.h"
#include "tensor/host_image.h"

namespace heed {

Tensor tensor_of(const std::shared_ptr<Context>& context, DType dtype, const Shape& shape,
                 const std::vector<float>& numbers) {
  return converted_copy(context, Tensor::copy_of(context, DType::F32, shape, numbers.data()), dtype);
}

std::vector<float> numbers_of(const Tensor& tensor) {
  const Tensor copy = host_copy(tensor);
  std::vector<float> numbers(static_cast<size_t>(copy.num_elements()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (copy.dtype() == DType::F32) numbers[i] = reinterpret_cast<const float*>(copy.data())[i];
    if (copy.dtype() == DType::F16) numbers[i] = widen(reinterpret_cast<const Half*>(copy.data())[i]);
    if (copy.dtype() == DType::BF16) numbers[i] = widen(reinterpret_cast<const BFloat16*>(copy.data())[i]);
  }
  return numbers;
}

std::vector<float> run(const std::shared_ptr<Context>& context, const Op& op, const Tensor& output) {
  context->run(op, context->plan(op), nullptr);
  return numbers_of(output);
}

}  // namespace heed
