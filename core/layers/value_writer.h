// SPDX-License-Identifier: Apache-2.0
// Makes the value of a parameter, and its packed form, from a source, on the context's threads: piece by piece, each of
// which is read, converted, turned and packed while it is in a core's caches. So memory sees each element once in the
// source, once in the value and once in the packed form.
#pragma once

#include <memory>

#include "backends/context.h"
#include "base/fresh_memory.h"
#include "layers/element_source.h"
#include "layers/parameter.h"

namespace heed {

// For contexts whose memory is the host's. `fresh`: of the whole call that values are made for. Besides the result,
// takes the memory of a piece for each thread at most, and only where elements are converted or turned. `subject` as
// for row_major_strides. Throws OutOfMemory, what the source throws, and what the host's executor fails with.
ParameterValue write_value(const std::shared_ptr<const Context>& context, FreshMemory& fresh,
                           const Parameter& parameter, const ElementSource& source, DType dtype, const Shape& shape,
                           const char* subject = "dims is");

}  // namespace heed
