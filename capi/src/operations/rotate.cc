// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/rotate.h"

#include <heed/heed.h>

#include <cstdint>
#include <optional>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_rotary_embedding(const heed_tensor* tensor, const heed_tensor* cosines, const heed_tensor* sines,
                                  const heed_tensor* positions, int32_t layout, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, ARGUMENT("tensor"))->tensor;
    const Tensor of_cosines = require(cosines, "cosines")->tensor;
    const Tensor of_sines = require(sines, "sines")->tensor;
    const std::optional<Tensor> of_rows = copy_of(positions);
    const Tensor output = require(result, "result")->tensor;
    const bool is_interleaved = read_rotary_layout(layout, "layout") == RotaryLayout::Interleaved;
    rotate(input, of_cosines, of_sines, pointer_to(of_rows), is_interleaved, output);
  });
}

}  // extern "C"
