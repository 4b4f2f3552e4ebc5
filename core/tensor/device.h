// SPDX-License-Identifier: Apache-2.0
// What is used together lies on one device.
#pragma once

namespace heed {

// Throws InvalidArgument naming both unless the devices are the same. `name` and `other_name` are what messages call
// those that are on them, as "inputs->keys" and "the layer".
void check_same_device(const char* name, const char* device_name, const char* other_name,
                       const char* other_device_name);

}  // namespace heed
