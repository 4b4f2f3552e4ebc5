// SPDX-License-Identifier: Apache-2.0
// Drafts that continue a sequence in several ways, as a tree: each follows an earlier one, or the last row before them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "property/support/host_tensor.h"
#include "property/support/random.h"

namespace heed::cache_test {

class DraftTree {
 public:
  // Of each draft, the one that it follows; -1: the last row before them.
  explicit DraftTree(std::vector<int64_t> parents) : parents_(std::move(parents)) {}
  DraftTree(int64_t count, property::Random& random);

  int64_t size() const { return static_cast<int64_t>(parents_.size()); }
  // Siblings have one position. `first`: that of a draft which follows the row before.
  std::vector<int64_t> positions(int64_t first) const;
  // Whether a draft is another one, or follows it through any number of others.
  bool sees(int64_t draft, int64_t other) const;
  // (size, num_before + size): whether a draft sees another one. All see the rows before.
  property::Input mask(int64_t num_before = 0) const;
  // The drafts from the first one up to this.
  std::vector<int64_t> path_to(int64_t draft) const;

 private:
  std::vector<int64_t> parents_;
};

}  // namespace heed::cache_test
