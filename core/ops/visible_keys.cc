// SPDX-License-Identifier: Apache-2.0
#include "ops/visible_keys.h"

#include <algorithm>

#include "ops/lengths.h"

namespace heed {
namespace {

// Holds the product of any two sizes. The pairs of a narrow band are the difference of two such products.
__extension__ using Int128 = __int128;

// Consecutive queries of a batch element with the same valid length.
struct Queries {
  int64_t first;
  int64_t count;
  int64_t length;
};

bool has_lengths(const KeyLimits& limits) { return limits.valid_lens.data != nullptr; }

// Calls visit(queries) for all queries of a batch element, once for each run of queries with the same length.
template <typename Visit>
void visit_queries(const KeyLimits& limits, int64_t b, const Visit& visit) {
  const Sequence& sequence = sequence_of(limits, b);
  if (!has_lengths(limits)) {
    visit(Queries{0, sequence.query_count, sequence.key_count});
  } else if (limits.valid_lens.strides[2] == 0) {
    visit(Queries{0, sequence.query_count, length_of(limits.valid_lens, b, 0)});
  } else {
    for (int64_t q = 0; q < sequence.query_count; ++q) visit(Queries{q, 1, length_of(limits.valid_lens, b, q)});
  }
}

// The range of queries that see at least one key.
KeyRange seeing_queries(const Sequence& sequence, const Queries& queries) {
  if (queries.length <= 0 || sequence.band_last < sequence.band_first) return {};
  const int64_t first = std::max(queries.first, -sequence.band_last);
  const int64_t end = std::min(queries.first + queries.count, queries.length - sequence.band_first);
  return first < end ? KeyRange{first, end} : KeyRange{};
}

// The keys below `length` in the band of query q.
KeyRange keys_in_band(const Sequence& sequence, int64_t q, int64_t length) {
  const int64_t first = std::max<int64_t>(0, q + sequence.band_first);
  return {first, std::max(first, std::min(length, q + sequence.band_last + 1))};
}

// The number of pairs with key <= query + last and key < length. In closed form, since explain may get shapes that are
// too large to run.
Int128 pairs_up_to(Int128 last, const Queries& queries) {
  // Row i has clamp(i + grown, 0, length) keys.
  const Int128 grown = queries.first + last + 1;
  const Int128 empty = std::clamp<Int128>(-grown, 0, queries.count);
  const Int128 rising_end = std::clamp<Int128>(queries.length - grown, empty, queries.count);
  const Int128 rising = rising_end - empty;
  const Int128 least = empty + grown;
  return rising * least + rising * (rising - 1) / 2 + (queries.count - rising_end) * queries.length;
}

bool has_query_without_key(const KeyLimits& limits, int64_t b) {
  const Sequence& sequence = sequence_of(limits, b);
  bool found = false;
  visit_queries(limits, b,
                [&](const Queries& queries) { found |= seeing_queries(sequence, queries).size() < queries.count; });
  return found;
}

// The smallest range that contains both.
KeyRange joined(KeyRange a, KeyRange b) {
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  return {std::min(a.first, b.first), std::max(a.end, b.end)};
}

}  // namespace

bool differ_by_element(const KeyLimits& limits) {
  return limits.has_table != 0 || (has_lengths(limits) && limits.valid_lens.strides[0] != 0);
}

KeyRange keys_of_query(const KeyLimits& limits, int64_t b, int64_t q) {
  const Sequence& sequence = sequence_of(limits, b);
  return keys_in_band(sequence, q, has_lengths(limits) ? length_of(limits.valid_lens, b, q) : sequence.key_count);
}

void find_keys_of_queries(const KeyLimits& limits, int64_t b, int64_t first_query, int64_t count, KeyRange* ranges) {
  const Sequence& sequence = sequence_of(limits, b);
  if (has_lengths(limits) && limits.valid_lens.strides[2] != 0) {
    for (int64_t i = 0; i < count; ++i)
      ranges[i] = keys_in_band(sequence, first_query + i, length_of(limits.valid_lens, b, first_query + i));
    return;
  }
  const int64_t length = has_lengths(limits) ? length_of(limits.valid_lens, b, 0) : sequence.key_count;
  for (int64_t i = 0; i < count; ++i) ranges[i] = keys_in_band(sequence, first_query + i, length);
}

KeyRange keys_of_element(const KeyLimits& limits, int64_t b) {
  const Sequence& sequence = sequence_of(limits, b);
  KeyRange result;
  visit_queries(limits, b, [&](const Queries& queries) {
    const KeyRange seeing = seeing_queries(sequence, queries);
    if (seeing.size() == 0) return;
    // The band advances by one key per query.
    const int64_t first = std::max<int64_t>(0, seeing.first + sequence.band_first);
    const int64_t end = std::min(queries.length, seeing.end + sequence.band_last);
    result = joined(result, {first, end});
  });
  return result;
}

double visible_pairs(const KeyLimits& limits, int64_t batch) {
  const auto pairs_of_element = [&](int64_t b) {
    const Sequence& sequence = sequence_of(limits, b);
    double pairs = 0;
    if (sequence.band_last < sequence.band_first) return pairs;
    visit_queries(limits, b, [&](const Queries& queries) {
      pairs += static_cast<double>(pairs_up_to(sequence.band_last, queries) -
                                   pairs_up_to(Int128{sequence.band_first} - 1, queries));
    });
    return pairs;
  };
  if (!differ_by_element(limits)) return batch == 0 ? 0 : static_cast<double>(batch) * pairs_of_element(0);
  double pairs = 0;
  for (int64_t b = 0; b < batch; ++b) pairs += pairs_of_element(b);
  return pairs;
}

KeyRange wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t b) {
  const bool all =
      wanted == WantedRows::All || (wanted == WantedRows::VisibleOrMean && has_query_without_key(limits, b));
  return all ? KeyRange{0, sequence_of(limits, b).key_count} : keys_of_element(limits, b);
}

double num_wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t batch) {
  if (batch == 0) return 0;
  if (wanted == WantedRows::All || !differ_by_element(limits))
    return static_cast<double>(batch) * static_cast<double>(wanted_rows(limits, wanted, 0).size());
  double rows = 0;
  for (int64_t b = 0; b < batch; ++b) rows += static_cast<double>(wanted_rows(limits, wanted, b).size());
  return rows;
}

KeyRange wanted_rows_of_batch(const KeyLimits& limits, WantedRows wanted, int64_t batch) {
  KeyRange rows;
  const int64_t num_different = differ_by_element(limits) ? batch : std::min<int64_t>(batch, 1);
  for (int64_t b = 0; b < num_different; ++b) rows = joined(rows, wanted_rows(limits, wanted, b));
  return rows;
}

}  // namespace heed
