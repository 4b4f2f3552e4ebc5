// SPDX-License-Identifier: Apache-2.0
#include "capi/support/dlpack_lender.h"

#include <numeric>
#include <utility>

namespace heed::capi_test {

DlpackLender::DlpackLender(Dims dims, Dims strides, int64_t first) : shape(std::move(dims)), steps(std::move(strides)) {
  std::iota(std::begin(memory), std::end(memory), 0.0f);
  DLTensor& tensor = managed.dl_tensor;
  tensor.data = memory + first;
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int>(shape.size());
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = shape.data();
  tensor.strides = steps.empty() ? nullptr : steps.data();
  managed.manager_ctx = this;
  managed.deleter = [](DLManagedTensor* self) {
    auto* lender = static_cast<DlpackLender*>(self->manager_ctx);
    lender->thread = std::this_thread::get_id();
    ++lender->num_deletions;
  };
}

Tensor DlpackLender::lend(heed_context* context) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_from_dlpack(context, &managed, &tensor));
  return Tensor(tensor);
}

}  // namespace heed::capi_test
