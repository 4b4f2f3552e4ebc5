// SPDX-License-Identifier: Apache-2.0
// Counts calls of malloc and its relatives, and of mmap for memory, in the whole program including libraries, and makes
// them fail on request. The file that implements it replaces these functions in the program that links it.
#pragma once

#include <cstdint>

namespace heed {

// Blocks that are allocated and not freed, over all threads.
int64_t num_live_blocks();

// The largest number of bytes that were allocated at the same time since `since_now()`, minus those that were allocated
// then; over all threads.
class PeakOfBytes {
 public:
  static PeakOfBytes since_now();
  int64_t bytes() const;

 private:
  explicit PeakOfBytes(int64_t before) : before_(before) {}
  int64_t before_;
};

// The number of allocations by this thread, or by all threads, since the program began, including failed ones.
int64_t num_allocations();
int64_t num_allocations_of_all();

// In its scope, allocation number `first` of this thread fails, counted from 1; with later_too all later ones fail too.
class FailAllocations {
 public:
  FailAllocations(int64_t first, bool later_too);
  FailAllocations(const FailAllocations&) = delete;
  FailAllocations& operator=(const FailAllocations&) = delete;
  ~FailAllocations();

  // Whether an allocation has failed.
  bool happened() const;
};

}  // namespace heed
