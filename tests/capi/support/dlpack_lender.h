// SPDX-License-Identifier: Apache-2.0
// Memory of a test's own, offered as DLPack's producers do.
#pragma once

#include <dlpack/dlpack.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "capi/support/objects.h"

namespace heed::capi_test {

// Element i of the memory, from 0 to 23, is i. The managed tensor is a (dims) of F32 at `first`, row-major where strides
// are empty (then DLPack's are NULL); its deleter counts its calls and leaves the lender as it is.
struct DlpackLender {
  explicit DlpackLender(Dims dims, Dims strides = {}, int64_t first = 0);
  DlpackLender(const DlpackLender&) = delete;
  DlpackLender& operator=(const DlpackLender&) = delete;

  // Hands it over.
  Tensor lend(heed_context* context);

  alignas(64) float memory[24];
  Dims shape;
  Dims steps;
  DLManagedTensor managed{};
  std::atomic<int> num_deletions{0};
  // Of the last deletion.
  std::thread::id thread;
};

}  // namespace heed::capi_test
