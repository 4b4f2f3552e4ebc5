// SPDX-License-Identifier: Apache-2.0
#include "layers/cache_changes.h"

namespace heed {

CacheChanges::~CacheChanges() {
  for (const OverwrittenRows& rows : overwritten_) rows.restore();
  visit_caches([this](const CacheCall& cache) { cache.undo(has_all_rows_); });
}

void CacheChanges::prepare(bool may_be_stopped) {
  visit_caches([](const CacheCall& cache) { cache.remember(); });
  visit_caches([](const CacheCall& cache) { cache.prepare(); });
  if (!may_be_stopped) return;
  visit_caches([this](const CacheCall& call) {
    if (call.cache->geometry(call.layer).ring_rows > 0)
      overwritten_.emplace_back(*call.cache, call.layer, call.new_rows());
  });
  has_all_rows_ = true;
}

void CacheChanges::commit() noexcept {
  visit_caches([](const CacheCall& cache) { cache.commit(); });
  caches_ = nullptr;
  overwritten_.clear();
}

}  // namespace heed
