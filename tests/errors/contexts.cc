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
          PROVOKE(heed_context_create(&context_options, &new_context), heed_allocator allocator = HEED_ALLOCATOR_INIT;
                  context_options.allocator = &allocator),
      }};
}

}  // namespace heed::errors_test
