// SPDX-License-Identifier: Apache-2.0
// The pages that a call uses of a cache in a device's memory, as tiles in host memory, so that the CPU can compute the call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory.h"
#include "ops/attention.h"
#include "ops/cached_keys.h"
#include "tensor/tensor.h"

namespace heed {

// The same cache as tiles, without memory: for plans.
void set_tiles(const AttentionProblem& problem, CachedKeys& cached);

class HostCachedKeys {
 public:
  // Copies the pages of the problem's sequences, whose cache is in `memory`, and makes the problem use the copies. Both
  // must outlive this object.
  HostCachedKeys(const std::shared_ptr<const Memory>& memory, AttentionProblem& problem);

  // Writes the pages to the cache that the call has appended rows to.
  void commit() const;

 private:
  const Memory& memory_;
  const AttentionProblem& problem_;
  const CachedKeys on_device_;
  std::vector<int32_t> pages_;                      // of the cache; page i of the copy is pages_[i]
  std::vector<std::vector<int32_t>> copied_pages_;  // of each batch element, as pages of the copy
  std::vector<CachedElement> elements_;
  std::optional<Tensor> tiles_;
};

}  // namespace heed
