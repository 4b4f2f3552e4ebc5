// SPDX-License-Identifier: Apache-2.0
// A cache whose sequences share pages, and one operation on it, which a test lets run out of memory or repeats.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cache/support/caches.h"
#include "cache/support/step.h"
#include "capi/support/files.h"

namespace heed::cache_test {

enum class OperationKind {
  Create,
  Forward,
  ForwardPacked,
  ReadingForward,
  Fill,
  Reserve,
  Rewind,
  Fork,
  Reorder,
  Accept,
  Discard,
  ReadRows,
  SaveFile,
  SaveMemory,
  LoadFile,
  LoadMemory,
};

inline const std::vector<OperationKind> kOperationKinds = {
    OperationKind::Create,   OperationKind::Forward,    OperationKind::ForwardPacked, OperationKind::ReadingForward,
    OperationKind::Fill,     OperationKind::Reserve,    OperationKind::Rewind,        OperationKind::Fork,
    OperationKind::Reorder,  OperationKind::Accept,     OperationKind::Discard,       OperationKind::ReadRows,
    OperationKind::SaveFile, OperationKind::SaveMemory, OperationKind::LoadFile,      OperationKind::LoadMemory,
};

const char* name_of(OperationKind kind);

class CacheOperation {
 public:
  // All objects are in this context. Sequence 0 has 40 rows, 1 is a fork of its first 35, 2 has 5, and 3 has none.
  CacheOperation(property::Context context, OperationKind kind);

  // May be repeated after a failure.
  heed_status run();

  CacheState state() const { return state_of(cache_.get(), kNumSequences); }

 private:
  static constexpr int64_t kNumSequences = 4;

  heed_status create() const;

  OperationKind kind_;
  CachedLayer layer_;
  heed_cache_options options_;
  Cache cache_;
  capi_test::TemporaryFolder folder_;
  std::vector<uint8_t> bytes_;  // of sequence 0
  std::unique_ptr<Step> step_;
  std::unique_ptr<property::HostTensor> keys_;
};

}  // namespace heed::cache_test
