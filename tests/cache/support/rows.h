// SPDX-License-Identifier: Apache-2.0
// Rows of input by their numbers. The elements of a row follow from its number, so that a list of numbers says what a
// sequence holds.
#pragma once

#include <cstdint>
#include <vector>

namespace heed::cache_test {

// Rows whose elements are not finite.
inline constexpr int64_t kNaNRow = -1;
inline constexpr int64_t kInfiniteRow = -2;

// Numbers between -2 and 2; another seed gives others.
std::vector<double> elements_of(int64_t row, int64_t size, uint64_t seed);

// first, first + 1, ...
std::vector<int64_t> counting_from(int64_t first, int64_t count);

// A list cut into pieces of these sizes, which add up to its length.
std::vector<std::vector<int64_t>> cut(const std::vector<int64_t>& list, const std::vector<int64_t>& sizes);

}  // namespace heed::cache_test
