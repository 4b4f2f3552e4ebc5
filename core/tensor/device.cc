// SPDX-License-Identifier: Apache-2.0
#include "tensor/device.h"

#include <cstring>

#include "base/error.h"

namespace heed {

void check_same_device(const char* name, const char* device_name, const char* other_name,
                       const char* other_device_name) {
  if (device_name == other_device_name || std::strcmp(device_name, other_device_name) == 0) return;
  fail(Status::InvalidArgument, "%s is on device %s, but %s is on %s: expected the same device", name, device_name,
       other_name, other_device_name);
}

}  // namespace heed
