// SPDX-License-Identifier: Apache-2.0
// Memory of a test, exported as a DLPack producer does.
#pragma once

#include <dlpack/dlpack.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "capi/support/objects.h"

namespace heed::capi_test {

// 24 elements, of which element i is i. The managed tensor has these dims in F32, and starts at element `first`.
// Without strides it is row-major, and DLPack's strides are NULL. Its deleter counts its calls, and does not destroy
// the lender.
struct DlpackLender {
  explicit DlpackLender(Dims dims, Dims strides = {}, int64_t first = 0);
  DlpackLender(const DlpackLender&) = delete;
  DlpackLender& operator=(const DlpackLender&) = delete;

  // Passes the managed tensor to heed_tensor_from_dlpack.
  Tensor lend(heed_context* context);

  alignas(64) float memory[24];
  Dims shape;
  Dims steps;
  DLManagedTensor managed{};
  std::atomic<int> num_deletions{0};
  // The thread of the last deletion.
  std::thread::id thread;
};

}  // namespace heed::capi_test
