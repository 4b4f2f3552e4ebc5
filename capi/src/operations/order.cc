// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/order.h"

#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_cumulative_sum(const heed_tensor* tensor, int32_t axis, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor output = require(result, "result")->tensor;
    cumulative_sum(input, axis, output);
  });
}

heed_status heed_sort(const heed_tensor* tensor, int32_t axis, int32_t descending, heed_tensor* values,
                      heed_tensor* indices) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const std::optional<Tensor> sorted = copy_of(values);
    const std::optional<Tensor> places = copy_of(indices);
    sort(input, axis, read_flag(descending, "descending"), pointer_to(sorted), pointer_to(places));
  });
}

heed_status heed_top_k(const heed_tensor* tensor, int32_t axis, int32_t largest, heed_tensor* values,
                       heed_tensor* indices) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const std::optional<Tensor> first = copy_of(values);
    const std::optional<Tensor> places = copy_of(indices);
    top_k(input, axis, read_flag(largest, "largest"), pointer_to(first), pointer_to(places));
  });
}

}  // extern "C"
