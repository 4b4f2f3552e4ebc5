// SPDX-License-Identifier: Apache-2.0
// Limits that the system sets to a process.
#pragma once

#include <cstdint>

namespace heed {

// In its scope no file of this process may become larger.
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

// For the rest of this process's life, it can make no further threads. False where the system does not allow that.
bool forbid_threads();

}  // namespace heed
