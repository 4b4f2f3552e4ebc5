// SPDX-License-Identifier: Apache-2.0
// Limits that the system enforces for a process.
#pragma once

#include <cstdint>

namespace heed {

// In its scope no file of this process can grow beyond a size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t num_bytes);
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit();

  bool is_set() const { return is_set_; }

 private:
  uint64_t before_ = 0;
  bool is_set_ = false;
};

// From now on this process can create no threads. False if the system does not allow this.
bool forbid_threads();

}  // namespace heed
