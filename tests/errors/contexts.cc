// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic contexts() {
  return {
      "Devices and contexts",
      "",
      {
          PROVOKE(heed_device_count((heed_device)2)),
          PROVOKE(heed_device_count(HEED_DEVICE_ASCEND)),
          PROVOKE(heed_context_create(&context_options, &new_context), context_options.device_index = 1),
          PROVOKE(heed_context_create(&context_options, &new_context), context_options.num_threads = 1025),
          PROVOKE(heed_context_create(&context_options, &new_context), heed_executor executor = HEED_EXECUTOR_INIT;
                  context_options.executor = &executor),
          PROVOKE(heed_context_create(&context_options, &new_context), heed_allocator allocator = HEED_ALLOCATOR_INIT;
                  context_options.allocator = &allocator),
          PROVOKE(heed_tensor_create(new_context, HEED_F32, 3, dims, &new_tensor),
                  heed_allocator allocator = {sizeof allocator, give_none, take, NULL};
                  context_options.allocator = &allocator; heed_context_create(&context_options, &new_context)),
          PROVOKE(heed_tensor_create(new_context, HEED_F32, 3, dims, &new_tensor),
                  heed_allocator allocator = {sizeof allocator, give_odd, take, NULL};
                  context_options.allocator = &allocator; heed_context_create(&context_options, &new_context)),
      }};
}

}  // namespace heed::errors_test
