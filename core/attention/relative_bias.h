// SPDX-License-Identifier: Apache-2.0
// Relative bias in buckets of distances (Raffel et al., "Exploring the Limits of Transfer Learning with a Unified
// Text-to-Text Transformer", 2020, section 2.1): the options, and the bucket of each distance.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json_writer.h"

namespace heed {

// The numbers are those of HEED_RELATIVE_BIAS_; capi/src asserts it.
enum class RelativeBias : int32_t { None = 0, BothWays = 1, OneWay = 2 };

struct RelativeBiasOptions {
  RelativeBias kind = RelativeBias::None;
  int64_t num_buckets = 0;
  int64_t max_distance = 0;
};

// Fills in the defaults. Throws InvalidArgument that names the member of `options`.
RelativeBiasOptions with_defaults(const RelativeBiasOptions& given);

// The buckets of the distances -max_distance .. max_distance from a query to a key after it; beyond, the first and the
// last one apply. Half of the buckets, of each direction if there are two, are for one distance each; the others grow by a
// constant ratio up to max_distance.
std::vector<int32_t> relative_buckets(const RelativeBiasOptions& options);

// Adds each option to the JSON object by its name in heed.h.
void write_options(const RelativeBiasOptions& options, JsonWriter& json);

}  // namespace heed
