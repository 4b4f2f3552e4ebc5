// SPDX-License-Identifier: Apache-2.0
// Tensors of one call must be on one device.
#pragma once

namespace heed {

// Throws InvalidArgument with both names unless the devices are the same. `name` and `other_name` are the names of the
// objects on them for the message, such as "inputs->keys" and "the layer".
void check_same_device(const char* name, const char* device_name, const char* other_name,
                       const char* other_device_name);

}  // namespace heed
