// SPDX-License-Identifier: Apache-2.0
#include "ops/visible_keys.h"

#include <algorithm>

#include "ops/lengths.h"

namespace heed {
namespace {

// Holds the product of any two sizes. The pairs of a narrow band are the difference of two such products.
__extension__ using Int128 = __int128;

// Consecutive queries of a batch element with the same valid length. The band counts from index + shift.
struct Queries {
  int64_t first;
  int64_t count;
  int64_t length;
  int64_t shift;
};

bool has_positions(const KeyLimits& limits) { return limits.positions.data != nullptr; }

bool has_lengths(const KeyLimits& limits) { return limits.valid_lens.data != nullptr; }

// Where the band of query q begins to count.
int64_t band_origin(const KeyLimits& limits, int64_t b, int64_t q) {
  return limits.positions.given != 0 ? position_of_query(limits, b, q) : q;
}

int64_t length_of_query(const KeyLimits& limits, int64_t b, int64_t q) {
  const int64_t key_count = sequence_of(limits, b).key_count;
  return has_lengths(limits) ? std::min(key_count, length_of(limits.valid_lens, b, q)) : key_count;
}

bool has_length_of_each_query(const KeyLimits& limits) {
  return has_lengths(limits) && limits.valid_lens.strides[2] != 0;
}

// Calls visit(queries) for all queries of a batch element, once for each run of queries with the same length and the same
// distance from index to position.
template <typename Visit>
void visit_queries(const KeyLimits& limits, int64_t b, const Visit& visit) {
  const int64_t count = sequence_of(limits, b).query_count;
  if (!has_positions(limits) && !has_length_of_each_query(limits)) {
    if (count > 0) visit(Queries{0, count, length_of_query(limits, b, 0), band_origin(limits, b, 0)});
    return;
  }
  for (int64_t q = 0; q < count; ++q)
    visit(Queries{q, 1, length_of_query(limits, b, q), band_origin(limits, b, q) - q});
}

// The range of queries that see at least one key.
KeyRange seeing_queries(const Sequence& sequence, const Queries& queries) {
  if (queries.length <= 0 || sequence.band_last < sequence.band_first) return {};
  const int64_t first = std::max(queries.first, -sequence.band_last - queries.shift);
  const int64_t end = std::min(queries.first + queries.count, queries.length - sequence.band_first - queries.shift);
  return first < end ? KeyRange{first, end} : KeyRange{};
}

// The keys below `length` in the band that counts from `origin`.
KeyRange keys_in_band(const Sequence& sequence, int64_t origin, int64_t length) {
  const int64_t first = std::max<int64_t>(0, origin + sequence.band_first);
  return {first, std::max(first, std::min(length, origin + sequence.band_last + 1))};
}

// The number of pairs with key <= query + last and key < length. In closed form, since explain may get shapes that are
// too large to run.
Int128 pairs_up_to(Int128 last, const Queries& queries) {
  // Row i has clamp(i + grown, 0, length) keys.
  const Int128 grown = Int128{queries.first} + queries.shift + last + 1;
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

int64_t position_of_query(const KeyLimits& limits, int64_t b, int64_t q) {
  const Sequence& sequence = sequence_of(limits, b);
  if (!has_positions(limits)) return sequence.query_position + q;
  return length_of(limits.positions, b, sequence.query_begin + q);
}

bool differ_by_element(const KeyLimits& limits) {
  return (limits.has_table != 0 && limits.table != nullptr) ||
         (has_lengths(limits) && limits.valid_lens.strides[0] != 0) ||
         (has_positions(limits) && limits.positions.strides[0] != 0);
}

KeyRange keys_of_query(const KeyLimits& limits, int64_t b, int64_t q) {
  return keys_in_band(sequence_of(limits, b), band_origin(limits, b, q), length_of_query(limits, b, q));
}

void find_keys_of_queries(const KeyLimits& limits, int64_t b, int64_t first_query, int64_t count, KeyRange* ranges) {
  const Sequence& sequence = sequence_of(limits, b);
  if (has_positions(limits) || has_length_of_each_query(limits)) {
    for (int64_t i = 0; i < count; ++i) ranges[i] = keys_of_query(limits, b, first_query + i);
    return;
  }
  const int64_t length = length_of_query(limits, b, 0);
  for (int64_t i = 0; i < count; ++i) ranges[i] = keys_in_band(sequence, first_query + i, length);
}

int64_t longest_length(const KeyLimits& limits, int64_t b) {
  int64_t longest = 0;
  visit_queries(limits, b, [&](const Queries& queries) { longest = std::max(longest, queries.length); });
  return longest;
}

KeyRange keys_of_element(const KeyLimits& limits, int64_t b) {
  const Sequence& sequence = sequence_of(limits, b);
  KeyRange result;
  visit_queries(limits, b, [&](const Queries& queries) {
    const KeyRange seeing = seeing_queries(sequence, queries);
    if (seeing.size() == 0) return;
    // The band advances by one key per query.
    const int64_t first = std::max<int64_t>(0, seeing.first + queries.shift + sequence.band_first);
    const int64_t end = std::min(queries.length, seeing.end + queries.shift + sequence.band_last);
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
  if (wanted == WantedRows::Queries) return {0, sequence_of(limits, b).query_count};
  const bool all =
      wanted == WantedRows::All || (wanted == WantedRows::VisibleOrMean && has_query_without_key(limits, b));
  return all ? KeyRange{0, sequence_of(limits, b).key_count} : keys_of_element(limits, b);
}

double num_wanted_rows(const KeyLimits& limits, WantedRows wanted, int64_t batch) {
  if (batch == 0) return 0;
  if (!differ_by_element(limits))
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
