// SPDX-License-Identifier: Apache-2.0
// Where queries are among their keys, and what depends on the distance alone.
#pragma once

#include <cstdint>

#include "reference/attention.h"

namespace heed::reference {

// How many queries and keys batch element b has.
int64_t num_queries(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b);
int64_t num_keys(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b);

// The position of query q of batch element b. If none is given, the last query is at the last key.
int64_t query_position(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b, int64_t q);
int64_t key_position(const AttentionSizes& sizes, const AttentionLimits& limits, int64_t b, int64_t k);

// The bucket of the distance from a query to a key, which is negative for earlier keys.
int64_t relative_bucket(const RelativeBias& bias, int64_t distance);

// The slope of head h of num_heads in the paper on ALiBi.
double alibi_slope(int64_t h, int64_t num_heads);

}  // namespace heed::reference
