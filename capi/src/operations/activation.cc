// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/activation.h"

#include <heed/heed.h>

#include <cstdint>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_activation(const heed_tensor* tensor, int32_t activation, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor output = require(result, "result")->tensor;
    activate(input, read_activation(activation, "activation"), output);
  });
}

}  // extern "C"
