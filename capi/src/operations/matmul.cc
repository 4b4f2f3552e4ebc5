// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/matmul.h"

#include <heed/heed.h>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_matmul(const heed_tensor* a, const heed_tensor* b, heed_tensor* product) noexcept {
  return guarded(__func__, a, [&] {
    const Tensor left = require(a, ARGUMENT("a"))->tensor;
    const Tensor right = require(b, ARGUMENT("b"))->tensor;
    const Tensor result = require(product, ARGUMENT("product"))->tensor;
    matmul(left, right, result);
  });
}

}  // extern "C"
