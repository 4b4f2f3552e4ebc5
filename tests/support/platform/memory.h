// SPDX-License-Identifier: Apache-2.0
// The process's pages.
#pragma once

#include <cstddef>

namespace heed {

// The resident memory of the process (resident set size); 0 where the system does not report it.
size_t resident_bytes();

// Why resident_bytes says nothing here of freed memory; null where it does.
const char* why_residency_is_unknown();

// Whether there is a page at this address.
bool is_page_mapped(const void* address);

// So many bytes in front of memory that cannot be read.
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
