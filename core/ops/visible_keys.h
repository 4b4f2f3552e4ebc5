// SPDX-License-Identifier: Apache-2.0
// Which keys the queries of an attention see, as far as lengths, causal mask and window tell (rules 4 and 6 of
// docs/semantics.md). A mask or a bias is not looked into: it can only hide more. Lengths without data count as all
// keys.
#pragma once

#include <cstdint>

#include "ops/sequence.h"

namespace heed {

// Whether the elements of the batch may see different keys.
bool differ_by_element(const KeyLimits& limits);

// The keys that query q of batch element b sees.
KeyRange keys_of_query(const KeyLimits& limits, int64_t b, int64_t q);

// The keys that each of the queries first_query .. first_query + count - 1 of batch element b sees, into ranges[0] and
// what follows.
void find_keys_of_queries(const KeyLimits& limits, int64_t b, int64_t first_query, int64_t count, KeyRange* ranges);

// From the first to the last key that some query of the element sees.
KeyRange keys_of_element(const KeyLimits& limits, int64_t b);

// Pairs of query and key that are visible, over all elements. In a double, since explain may be asked about shapes that
// nobody could run.
double visible_pairs(const KeyLimits& limits, int64_t batch);

// The rows of one batch element that are wanted, of its key_count.
KeyRange wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t b);

// How many these are, over all elements.
double num_wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t batch);

// From the first to the last row that some element wants.
KeyRange wanted_rows_of_batch(const KeyLimits& limits, WantedRows wanted, int64_t batch);

}  // namespace heed
