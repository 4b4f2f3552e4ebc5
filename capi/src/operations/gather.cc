// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/gather.h"

#include <heed/heed.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "arguments.h"
#include "base/error.h"
#include "errors.h"
#include "handles.h"
#include "tensor_functions/concatenate.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_gather(const heed_tensor* tensor, const heed_tensor* indices, int32_t axis,
                        heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor chosen = require(indices, "indices")->tensor;
    const Tensor output = require(result, "result")->tensor;
    gather(input, chosen, axis, output);
  });
}

heed_status heed_take(const heed_tensor* tensor, const heed_tensor* indices, int32_t axis,
                      heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor chosen = require(indices, "indices")->tensor;
    const Tensor output = require(result, "result")->tensor;
    take(input, chosen, axis, output);
  });
}

heed_status heed_concatenate(const heed_tensor* const* tensors, int64_t num_tensors, int32_t axis,
                             heed_tensor* result) noexcept {
  return guarded(__func__, result, [&] {
    require(tensors, "tensors");
    const Tensor output = require(result, "result")->tensor;
    if (num_tensors < 1) fail(Status::InvalidArgument, "num_tensors is %" PRId64 ", expected at least 1", num_tensors);
    std::vector<Tensor> joined;
    for (int64_t i = 0; i < num_tensors; ++i) {
      char name[40];
      std::snprintf(name, sizeof name, "tensors[%" PRId64 "]", i);
      joined.push_back(require(tensors[i], name)->tensor);
    }
    concatenate(joined, axis, output);
  });
}

}  // extern "C"
