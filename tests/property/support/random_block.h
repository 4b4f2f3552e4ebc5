// SPDX-License-Identifier: Apache-2.0
// Random calls of encoder and decoder layers and of stacks of them.
#pragma once

#include <cstdint>

#include "support/call.h"

namespace heed::property {

// Everything depends on the seed. Outputs are requested in F32 or the dtype of queries. Numbers are moderate.
Call make_block_call(uint64_t seed);

}  // namespace heed::property
