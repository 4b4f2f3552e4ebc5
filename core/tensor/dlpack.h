// SPDX-License-Identifier: Apache-2.0
// Exchanges tensors with other array libraries by DLPack (github.com/dmlc/dlpack), without a copy. A DLManagedTensor
// describes strided elements. It has a deleter, which the consumer calls once.
#pragma once

#include <memory>

#include "base/memory.h"
#include "tensor/tensor.h"

struct DLManagedTensor;

namespace heed {

// A tensor that uses the elements of `managed`. It does not own them yet: call release_with(delete_dlpack, managed) on
// it when nothing can fail any more. Throws InvalidArgument, Unsupported.
Tensor from_dlpack(std::shared_ptr<const Memory> memory, const DLManagedTensor& managed);

// A Storage::Release: calls the deleter, if there is one, of the DLManagedTensor that `managed` points to.
void delete_dlpack(void* managed, void* data) noexcept;

// A new DLManagedTensor that shares the tensor's storage and keeps it alive until its deleter is called. A read-only
// tensor is copied, since DLPack has no flag for it.
DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace heed
