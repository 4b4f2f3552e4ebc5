// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "errors/provocation.h"

namespace heed::errors_test {

Topic contexts() {
  return {"Devices and contexts",
          "",
          {
              PROVOKE(heed_device_count((heed_device)2)),
              PROVOKE(heed_device_count(HEED_DEVICE_ASCEND)),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.device_index = 1),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.num_threads = 1025),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.executor = &executor),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.allocator = &allocator),
              PROVOKE(heed_context_create(&context_options, &new_context), setenv("HEED_ISA", "sse2", 1)),
              PROVOKE(heed_tensor_create(new_context, HEED_F32, 3, dims, &new_tensor), allocator.allocate = give_none;
                      allocator.release = take; context_options.allocator = &allocator;
                      heed_context_create(&context_options, &new_context)),
              PROVOKE(heed_tensor_create(new_context, HEED_F32, 3, dims, &new_tensor), allocator.allocate = give_odd;
                      allocator.release = take; context_options.allocator = &allocator;
                      heed_context_create(&context_options, &new_context)),
          }};
}

}  // namespace heed::errors_test
