// SPDX-License-Identifier: Apache-2.0
// Random calls of encoders, decoders and Transformers.
#pragma once

#include <cstdint>

#include "support/model_call.h"

namespace heed::property {

// Everything depends on the seed.
ModelCall make_model_call(uint64_t seed);

}  // namespace heed::property
