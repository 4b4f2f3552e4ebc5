// SPDX-License-Identifier: Apache-2.0
#include "ops/visible_keys.h"

#include <algorithm>

namespace heed {
namespace {

// Holds the product of any two sizes: the pairs of a narrow band are the difference of two numbers that large.
__extension__ using Int128 = __int128;

// Consecutive queries of a batch element that have the same length.
struct Queries {
  int64_t first;
  int64_t count;
  int64_t length;
};

bool has_lengths(const KeyLimits& limits) { return limits.valid_lens.data != nullptr; }

// Calls visit(queries) for all queries of an element: once for those that share a length.
template <typename Visit>
void visit_queries(const KeyLimits& limits, int64_t b, const Visit& visit) {
  if (!has_lengths(limits)) {
    visit(Queries{0, limits.num_queries, limits.num_keys});
  } else if (limits.valid_lens.strides[2] == 0) {
    visit(Queries{0, limits.num_queries, length_of(limits.valid_lens, b, 0)});
  } else {
    for (int64_t q = 0; q < limits.num_queries; ++q) visit(Queries{q, 1, length_of(limits.valid_lens, b, q)});
  }
}

// Those of the queries that see a key: from the first to before the second, or none.
KeyRange seeing_queries(const KeyLimits& limits, const Queries& queries) {
  if (queries.length <= 0 || limits.band_last < limits.band_first) return {};
  const int64_t first = std::max(queries.first, -limits.band_last);
  const int64_t end = std::min(queries.first + queries.count, queries.length - limits.band_first);
  return first < end ? KeyRange{first, end} : KeyRange{};
}

// Pairs with key <= query + last and key < length. In closed form, since explain may be asked about shapes that nobody
// could run.
Int128 pairs_up_to(Int128 last, const Queries& queries) {
  // Row i of these has clamp(i + grown, 0, length) keys.
  const Int128 grown = queries.first + last + 1;
  const Int128 empty = std::clamp<Int128>(-grown, 0, queries.count);
  const Int128 rising_end = std::clamp<Int128>(queries.length - grown, empty, queries.count);
  const Int128 rising = rising_end - empty;
  const Int128 least = empty + grown;
  return rising * least + rising * (rising - 1) / 2 + (queries.count - rising_end) * queries.length;
}

bool has_query_without_key(const KeyLimits& limits, int64_t b) {
  bool found = false;
  visit_queries(limits, b,
                [&](const Queries& queries) { found |= seeing_queries(limits, queries).size() < queries.count; });
  return found;
}

// Smallest range that has both.
KeyRange joined(KeyRange a, KeyRange b) {
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  return {std::min(a.first, b.first), std::max(a.end, b.end)};
}

}  // namespace

bool differ_by_element(const KeyLimits& limits) { return has_lengths(limits) && limits.valid_lens.strides[0] != 0; }

KeyRange keys_of_query(const KeyLimits& limits, int64_t b, int64_t q) {
  const int64_t length = has_lengths(limits) ? length_of(limits.valid_lens, b, q) : limits.num_keys;
  const int64_t first = std::max<int64_t>(0, q + limits.band_first);
  return {first, std::max(first, std::min(length, q + limits.band_last + 1))};
}

KeyRange keys_of_element(const KeyLimits& limits, int64_t b) {
  KeyRange result;
  visit_queries(limits, b, [&](const Queries& queries) {
    const KeyRange seeing = seeing_queries(limits, queries);
    if (seeing.size() == 0) return;
    // The band moves on by one key from query to query.
    const int64_t first = std::max<int64_t>(0, seeing.first + limits.band_first);
    const int64_t end = std::min(queries.length, seeing.end + limits.band_last);
    result = joined(result, {first, end});
  });
  return result;
}

double visible_pairs(const KeyLimits& limits, int64_t batch) {
  if (limits.band_last < limits.band_first) return 0;
  const auto pairs_of_element = [&](int64_t b) {
    double pairs = 0;
    visit_queries(limits, b, [&](const Queries& queries) {
      pairs += static_cast<double>(pairs_up_to(limits.band_last, queries) -
                                   pairs_up_to(Int128{limits.band_first} - 1, queries));
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
  return all ? KeyRange{0, limits.num_keys} : keys_of_element(limits, b);
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
