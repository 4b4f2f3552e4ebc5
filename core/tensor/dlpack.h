// SPDX-License-Identifier: Apache-2.0
// Tensors to and from DLPack, the in-memory exchange of array libraries (github.com/dmlc/dlpack), without a copy. A
// DLManagedTensor is a description of strided elements with a deleter, which the one who takes it calls once.
#pragma once

#include <memory>

#include "base/memory.h"
#include "tensor/tensor.h"

struct DLManagedTensor;

namespace heed {

// A tensor over the elements of `managed`, of which nothing is kept but the address. It does not own them yet: where
// nothing can fail any more, give it release_with(delete_dlpack, managed). Throws InvalidArgument, Unsupported.
Tensor from_dlpack(std::shared_ptr<const Memory> memory, const DLManagedTensor& managed);

// A Storage::Release: calls the deleter, if there is one, of the DLManagedTensor that `managed` points to.
void delete_dlpack(void* managed, void* data) noexcept;

// A new DLManagedTensor that shares the tensor's storage and keeps it alive until its deleter is called. A read-only
// tensor is copied, since DLPack cannot say so.
DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace heed
