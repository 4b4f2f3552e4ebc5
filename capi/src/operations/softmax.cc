// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/softmax.h"

#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_softmax(const heed_tensor* tensor, int32_t axis, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor scores = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor weights = require(result, "result")->tensor;
    softmax(scores, axis, false, weights);
  });
}

heed_status heed_log_softmax(const heed_tensor* tensor, int32_t axis, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor scores = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor weights = require(result, "result")->tensor;
    softmax(scores, axis, true, weights);
  });
}

heed_status heed_masked_softmax(const heed_tensor* scores, const heed_tensor* valid_lens,
                                heed_tensor* result) noexcept {
  return guarded(__func__, scores, [&] {
    const Tensor given = require(scores, ARGUMENT("scores"))->tensor;
    const std::optional<Tensor> lens = copy_of(valid_lens);
    const Tensor weights = require(result, "result")->tensor;
    masked_softmax(given, pointer_to(lens), weights);
  });
}

}  // extern "C"
