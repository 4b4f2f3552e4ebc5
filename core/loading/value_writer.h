// SPDX-License-Identifier: Apache-2.0
// Makes the value of a parameter from a source, on the context's threads: row-major, or for a projection's weight packed.
// Each task reads, converts, transposes and packs one piece while the piece is in the core's caches. So each element crosses
// the memory bus once in the source and once in the value.
#pragma once

#include <memory>

#include "backends/context.h"
#include "base/fresh_memory.h"
#include "layers/parameter.h"
#include "loading/element_source.h"

namespace heed {

// For contexts in host memory. `fresh`: shared by all values of one call. Besides the result it allocates at most two
// pieces per thread: one that is read, if its dtype differs, and one from which elements are packed or transposed.
// `subject`: see row_major_strides. Throws OutOfMemory and the errors of the source and of the host's executor.
ParameterValue write_value(const std::shared_ptr<const Context>& context, FreshMemory& fresh,
                           const Parameter& parameter, const ElementSource& source, DType dtype, const Shape& shape,
                           const char* subject = ARGUMENT("dims") " is");

}  // namespace heed
