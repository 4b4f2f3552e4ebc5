// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/reduce.h"

#include <heed/heed.h>

#include <cstdint>

#include "arguments.h"
#include "base/error.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

static_assert(static_cast<int32_t>(Reduction::Sum) == HEED_REDUCE_SUM);
static_assert(static_cast<int32_t>(Reduction::Mean) == HEED_REDUCE_MEAN);
static_assert(static_cast<int32_t>(Reduction::Max) == HEED_REDUCE_MAX);
static_assert(static_cast<int32_t>(Reduction::Min) == HEED_REDUCE_MIN);
static_assert(static_cast<int32_t>(Reduction::Prod) == HEED_REDUCE_PROD);
static_assert(static_cast<int32_t>(Reduction::Norm) == HEED_REDUCE_NORM);
static_assert(static_cast<int32_t>(Reduction::ArgMax) == HEED_REDUCE_ARGMAX);
static_assert(static_cast<int32_t>(Reduction::ArgMin) == HEED_REDUCE_ARGMIN);

namespace {

Reduction read_reduction(int32_t reduction) {
  if (reduction < 0 || reduction >= kNumReductions) {
    fail(Status::InvalidArgument,
         "reduction is %d, expected " CONSTANT("HEED_REDUCE_SUM") " (0) to " CONSTANT("HEED_REDUCE_ARGMIN") " (%d)",
         reduction, kNumReductions - 1);
  }
  return static_cast<Reduction>(reduction);
}

}  // namespace

extern "C" {

heed_status heed_reduce(int32_t reduction, const heed_tensor* tensor, int32_t axis, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor output = require(result, "result")->tensor;
    reduce(read_reduction(reduction), input, axis, output);
  });
}

heed_status heed_reduce_axes(int32_t reduction, const heed_tensor* tensor, const int32_t* axes, int32_t num_axes,
                             heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor output = require(result, "result")->tensor;
    if (axes != nullptr && (num_axes < 1 || num_axes > kMaxRank)) {
      fail(Status::InvalidArgument,
           ARGUMENT("num_axes") " is %d, expected 1 to %d, or " ARGUMENT("axes") " " WORD("NULL") " for all", num_axes,
           kMaxRank);
    }
    reduce_axes(read_reduction(reduction), input, axes, num_axes, output);
  });
}

}  // extern "C"
