// SPDX-License-Identifier: Apache-2.0
// What a call overwrites in a ring: rows that the ring drops for those that are appended. A call that may be stopped keeps
// them, so that the ring can have them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/host_allocator.h"
#include "cache/cache.h"

namespace heed {

class OverwrittenRows {
 public:
  // After Cache::prepare, and before the rows are written; empty if the cache is no ring. Throws OutOfMemory.
  OverwrittenRows(const Cache& cache, int64_t layer, std::span<const Cache::NewRows> rows);

  // Writes them back.
  void restore() const noexcept;

 private:
  // Calls visit(bytes of the cache, number of bytes) for each part of each tile that the call writes to, and that holds
  // rows.
  template <typename Visit>
  void visit_tiles(const Visit& visit) const;

  const Cache* cache_;
  int64_t layer_;
  std::span<const Cache::NewRows> rows_;
  HostVector<std::byte> copy_;
};

}  // namespace heed
