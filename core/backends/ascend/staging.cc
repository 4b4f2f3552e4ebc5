// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/staging.h"

#include "backends/ascend/acl.h"

namespace heed::ascend {

void Staging::allocate() {
  const aclError code = aclrtMallocHost(&memory_, kCapacity);
  if (code != ACL_SUCCESS) {
    memory_ = nullptr;
    if (is_device_failure(code)) fail_acl(code, "aclrtMallocHost");
    fail(Status::OutOfMemory,
         "the host has no page-locked memory left (aclrtMallocHost of %zu bytes failed with %d): expected less of it "
         "in other processes",
         kCapacity, code);
  }
  used_ = 0;
}

void Staging::free() {
  if (memory_ != nullptr) static_cast<void>(aclrtFreeHost(memory_));
  memory_ = nullptr;
}

}  // namespace heed::ascend
