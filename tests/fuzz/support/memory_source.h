// SPDX-License-Identifier: Apache-2.0
// A file that lies in memory, and notices a reader that steps outside.
#pragma once

#include <cstring>
#include <span>
#include <string>

#include "base/file.h"
#include "fuzz/support/require.h"

namespace heed::fuzz {

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  const std::string& name() const override { return name_; }
  uint64_t num_bytes() const override { return bytes_.size(); }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override {
    require(offset <= bytes_.size() && num_bytes <= bytes_.size() - offset, "a range was read that the file lacks");
    if (num_bytes > 0) std::memcpy(destination, bytes_.data() + offset, num_bytes);
  }

 private:
  std::span<const uint8_t> bytes_;
  std::string name_ = "fuzzed";
};

}  // namespace heed::fuzz
