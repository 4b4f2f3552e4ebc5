// SPDX-License-Identifier: Apache-2.0
// The caches of a call while it runs: they get room for its rows, and are as before if it fails.
#pragma once

#include <vector>

#include "cache/overwritten_rows.h"
#include "layers/cache_call.h"

namespace heed {

class CacheChanges {
 public:
  // `caches`: of the call, null for none; the caller holds their locks.
  explicit CacheChanges(const CacheCall* caches) : caches_(caches) {}
  CacheChanges(const CacheChanges&) = delete;
  CacheChanges& operator=(const CacheChanges&) = delete;
  // Undoes everything unless it is committed.
  ~CacheChanges();

  // Makes room. `may_be_stopped`: whether the call may end with rows written that are not committed, without a failure of the
  // device; then rings keep what they overwrite. Throws as Cache::prepare, OutOfMemory.
  void prepare(bool may_be_stopped);
  // Counts the rows in, after they have been written.
  void commit() noexcept;

 private:
  template <typename Visit>
  void visit_caches(const Visit& visit) const {
    for (const CacheCall* cache = caches_; cache != nullptr; cache = cache->next) visit(*cache);
  }

  const CacheCall* caches_;
  std::vector<OverwrittenRows> overwritten_;
  bool has_all_rows_ = false;  // whether all rows that are overwritten can be restored
};

}  // namespace heed
