// SPDX-License-Identifier: Apache-2.0
// Packed batches, whose elements lie one after another along one axis of rows, and the padded form of the same batch.
#pragma once

#include <cstdint>
#include <vector>

#include "support/call.h"

namespace heed::property {

inline bool is_packed(const Call& call) { return call.query_offsets.has_value(); }

// Offsets of batch elements with these numbers of rows.
Input make_offsets(const std::vector<int64_t>& counts, heed_dtype dtype = HEED_I64);

// The number of rows of each batch element.
std::vector<int64_t> counts_of(const Input& offsets);
int64_t largest_of(const std::vector<int64_t>& counts);

// The offsets of a packed call's keys.
const Input& key_offsets_of(const Call& call);

// From rows along `axis` to a first axis of batch elements with num_rows rows each; missing rows become `fill`.
Array pad(const Array& packed, size_t axis, const Input& offsets, int64_t num_rows, double fill);
// Back to the rows of all batch elements along `axis`.
Array pack(const Array& padded, size_t axis, const Input& offsets);

// The same batch with query_lens, and valid_lens if it has keys. Padding holds `fill`.
Call padded_form(const Call& packed, double fill);

// The results of a padded form as those of the packed call. Without weights.
reference::AttentionResult packed_results(const Call& packed, const reference::AttentionResult& padded);
Results packed_results(const Call& packed, const Results& padded);

}  // namespace heed::property
