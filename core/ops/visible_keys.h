// SPDX-License-Identifier: Apache-2.0
// Computes which keys the queries of an attention see by lengths, causal mask and window (rules 4 and 6 of
// docs/semantics.md). Masks and biases are not read; they can only hide more keys. Lengths without data count as all
// keys.
#pragma once

#include <cstdint>

#include "ops/sequence.h"

namespace heed {

// Whether different batch elements may see different keys.
bool differ_by_element(const KeyLimits& limits);

// The keys that query q of batch element b may see.
KeyRange keys_of_query(const KeyLimits& limits, int64_t b, int64_t q);

// Writes to ranges[0 .. count - 1] the keys that queries first_query .. first_query + count - 1 of batch element b may
// see.
void find_keys_of_queries(const KeyLimits& limits, int64_t b, int64_t first_query, int64_t count, KeyRange* ranges);

// The largest valid length of a query of batch element b: the number of its keys without valid lengths.
int64_t longest_length(const KeyLimits& limits, int64_t b);

// From the first to the last key that some query of the batch element sees.
KeyRange keys_of_element(const KeyLimits& limits, int64_t b);

// The number of visible pairs of the whole batch. A double, since explain may get shapes that are too large to run.
double visible_pairs(const KeyLimits& limits, int64_t batch);

// The wanted rows of one batch element, out of its key_count rows.
KeyRange wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t b);

// The number of wanted rows in the whole batch.
double num_wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t batch);

// The smallest range of rows that contains the wanted rows of every batch element.
KeyRange wanted_rows_of_batch(const KeyLimits& limits, WantedRows wanted, int64_t batch);

}  // namespace heed
