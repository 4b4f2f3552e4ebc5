// SPDX-License-Identifier: Apache-2.0
// Bytes of 0 on the device, by copies of a block that is uploaded once. aclrtMemsetAsync is no kernel on these chips: each
// call takes as much of the host's memory from the driver, up to 64 MiB, sets it, and copies it to the device.
#pragma once

#include "backends/ascend/npu.h"

namespace heed::ascend {

// Sets these bytes to 0, after all that was asked before. At any address it returns before the device is done.
void write_zeros(Npu& npu, void* memory, size_t num_bytes);

// An array of zeros, to be read only. It is part of the block that all calls share, or, where that is too small, in `kept`.
DeviceArray zeros_of(Npu& npu, aclDataType dtype, const atb::Dims& shape, Temporary& kept);

}  // namespace heed::ascend
