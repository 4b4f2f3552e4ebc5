// SPDX-License-Identifier: Apache-2.0
#include "cache/support/rows.h"

#include <numeric>
#include <stdexcept>

#include "property/support/random.h"
#include "support/numbers.h"

namespace heed::cache_test {

std::vector<double> elements_of(int64_t row, int64_t size, uint64_t seed) {
  std::vector<double> elements(static_cast<size_t>(size));
  property::Random random(seed * 0x9E3779B97F4A7C15 ^ static_cast<uint64_t>(row) * 0xD1B54A32D192ED03);
  for (double& element : elements) element = random.uniform(-2.0, 2.0);
  if (row == kNaNRow) elements.assign(elements.size(), kNaN);
  if (row == kInfiniteRow) elements.assign(elements.size(), kInfinity);
  return elements;
}

std::vector<int64_t> counting_from(int64_t first, int64_t count) {
  std::vector<int64_t> list(static_cast<size_t>(count));
  std::iota(list.begin(), list.end(), first);
  return list;
}

std::vector<std::vector<int64_t>> cut(const std::vector<int64_t>& list, const std::vector<int64_t>& sizes) {
  std::vector<std::vector<int64_t>> pieces;
  auto first = list.begin();
  for (const int64_t size : sizes) {
    if (size > list.end() - first) throw std::logic_error("the pieces are longer than the list");
    pieces.emplace_back(first, first + size);
    first += size;
  }
  if (first != list.end()) throw std::logic_error("the pieces are shorter than the list");
  return pieces;
}

}  // namespace heed::cache_test
