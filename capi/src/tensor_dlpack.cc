// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "tensor/dlpack.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_tensor_to_dlpack(heed_tensor* tensor, struct DLManagedTensor** managed) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    require(managed, "managed");
    *managed = to_dlpack(self);
  });
}

heed_status heed_tensor_from_dlpack(heed_context* context, struct DLManagedTensor* managed,
                                    heed_tensor** tensor) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(managed, "managed");
    require(tensor, ARGUMENT("tensor"));
    *tensor = make_handle(heed_tensor{from_dlpack(owner, *managed)});
    // The last step, because a call that fails must not take ownership. This step cannot fail.
    (*tensor)->tensor.release_with(delete_dlpack, managed);
  });
}

}  // extern "C"
