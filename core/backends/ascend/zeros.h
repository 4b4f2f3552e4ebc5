// SPDX-License-Identifier: Apache-2.0
// Zeros on the device, by copies of a block of zeros that is uploaded once. aclrtMemsetAsync is no kernel on these
// chips: each call allocates as many bytes of host memory in the driver, up to 64 MiB, sets them and copies them to the
// device.
#pragma once

#include "backends/ascend/npu.h"
#include "ops/sequence.h"

namespace heed::ascend {

// Sets num_bytes bytes to 0, after all earlier work on the stream. Returns before the device is done, whatever the
// address.
void write_zeros(Npu& npu, void* memory, size_t num_bytes);

// An array of zeros, which must not be written. It is part of a block that all calls share, or, if that is too small,
// of `kept`.
DeviceArray zeros_of(Npu& npu, aclDataType dtype, const atb::Dims& shape, Temporary& kept);

// Sets the rows of a dense result (batch, rows, size) that are not wanted to 0.
void zero_unwanted(Npu& npu, const KeyLimits& limits, WantedRows wanted, int64_t batch, int64_t rows,
                   const DeviceArray& result);

}  // namespace heed::ascend
