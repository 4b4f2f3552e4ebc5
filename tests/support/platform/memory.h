// SPDX-License-Identifier: Apache-2.0
// The memory of the process.
#pragma once

#include <cstddef>

namespace heed {

// The resident memory of the process (resident set size); 0 if the system does not report it.
size_t resident_bytes();

// The reason why resident_bytes() does not show freed memory here; null if it does.
const char* why_residency_is_unknown();

// Whether this address is mapped.
bool is_page_mapped(const void* address);

// Whether large pages have been requested for this address.
bool is_large_page_requested(const void* address);

// From this call on, freed memory stays in the process instead of returning to the system, so that the next allocation causes no page
// faults. For tests that allocate and free large arrays again and again.
void keep_freed_memory();

// With the address sanitizer, heed's code that accesses these bytes ends the program until unpoison() is called. Nothing
// without it.
void poison(const void* memory, size_t num_bytes);
void unpoison(const void* memory, size_t num_bytes);
// Whether there is the address sanitizer.
bool can_poison();

// A block of this size, directly before memory that cannot be read.
class BytesBeforeAWall {
 public:
  explicit BytesBeforeAWall(size_t num_bytes);
  BytesBeforeAWall(const BytesBeforeAWall&) = delete;
  BytesBeforeAWall& operator=(const BytesBeforeAWall&) = delete;
  ~BytesBeforeAWall();

  void* get() const { return bytes_; }

 private:
  void* mapped_ = nullptr;
  size_t num_mapped_ = 0;
  void* bytes_ = nullptr;
};

}  // namespace heed
