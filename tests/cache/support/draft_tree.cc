// SPDX-License-Identifier: Apache-2.0
#include "cache/support/draft_tree.h"

#include <cstddef>

namespace heed::cache_test {

DraftTree::DraftTree(int64_t count, property::Random& random) {
  for (int64_t i = 0; i < count; ++i) parents_.push_back(random.below(i + 1) - 1);
}

std::vector<int64_t> DraftTree::positions(int64_t first) const {
  std::vector<int64_t> positions;
  for (const int64_t parent : parents_)
    positions.push_back(parent < 0 ? first : positions[static_cast<size_t>(parent)] + 1);
  return positions;
}

bool DraftTree::sees(int64_t draft, int64_t other) const {
  while (draft > other) draft = parents_[static_cast<size_t>(draft)];
  return draft == other;
}

property::Input DraftTree::mask(int64_t num_before) const {
  property::Array mask = property::filled({size(), num_before + size()}, 1.0);
  property::for_each_index(mask.dims, [&](const property::Dims& index, size_t place) {
    const int64_t other = index[1] - num_before;
    if (other >= 0 && !sees(index[0], other)) mask.values[place] = 0.0;
  });
  return property::make_input(mask, HEED_BOOL);
}

std::vector<int64_t> DraftTree::path_to(int64_t draft) const {
  std::vector<int64_t> path;
  for (; draft >= 0; draft = parents_[static_cast<size_t>(draft)]) path.insert(path.begin(), draft);
  return path;
}

}  // namespace heed::cache_test
