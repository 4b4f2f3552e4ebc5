// SPDX-License-Identifier: Apache-2.0
// Looks at, and spoils, what is asked of malloc and its relatives, and of mmap as memory, by the whole program,
// libraries included. The file that implements it replaces these functions in the program that links it.
#pragma once

#include <cstdint>

namespace heed {

// Blocks that are allocated and not freed, of all threads.
int64_t num_live_blocks();

// The most bytes, of all threads, that were allocated at once since `since_now()`, beyond those that were then.
class PeakOfBytes {
 public:
  static PeakOfBytes since_now();
  int64_t bytes() const;

 private:
  explicit PeakOfBytes(int64_t before) : before_(before) {}
  int64_t before_;
};

// Allocations by this thread, and by all threads, since the program began, failed ones included.
int64_t num_allocations();
int64_t num_allocations_of_all();

// Makes allocations of this thread fail: the `first`th from now on (from 1) and, where `later_too`, all after it.
class FailAllocations {
 public:
  FailAllocations(int64_t first, bool later_too);
  FailAllocations(const FailAllocations&) = delete;
  FailAllocations& operator=(const FailAllocations&) = delete;
  ~FailAllocations();

  // Whether one has failed.
  bool happened() const;
};

}  // namespace heed
