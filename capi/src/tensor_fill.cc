// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "tensor/fill.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_tensor_fill(heed_tensor* tensor, double value) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    fill_tensor(self, value);
  });
}

heed_status heed_tensor_fill_arange(heed_tensor* tensor, double start, double step) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    fill_arange(self, start, step);
  });
}

heed_status heed_tensor_fill_alibi_slopes(heed_tensor* tensor) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    fill_alibi_slopes(self);
  });
}

heed_status heed_tensor_fill_uniform(heed_tensor* tensor, double low, double high, uint64_t seed) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    fill_uniform(self, low, high, seed);
  });
}

heed_status heed_tensor_fill_normal(heed_tensor* tensor, double mean, double standard_deviation,
                                    uint64_t seed) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    fill_normal(self, mean, standard_deviation, seed);
  });
}

}  // extern "C"
