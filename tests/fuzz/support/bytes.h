// SPDX-License-Identifier: Apache-2.0
// A fuzzer's input as a sequence of choices. After its end every choice is the first one, so that every input is a
// complete program, and a shorter input a simpler program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

namespace heed::fuzz {

// Sizes so large that a call with one of them must fail without requesting gigabytes, and negative numbers.
inline constexpr int64_t kStrange[] = {
    -1, -2, INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, int64_t{1} << 62, int64_t{1} << 61, int64_t{1} << 48,
};

class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool is_empty() const { return bytes_.empty(); }

  uint8_t next() {
    if (bytes_.empty()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

  // A number from 0 to count - 1, with count at most 256.
  int64_t below(int64_t count) { return next() % count; }

  bool flag() { return next() % 2 == 1; }

  // For choices that make nearly every call fail.
  bool rarely() { return next() >= 0xF8; }

  // A number from 0 to largest, rarely a strange one.
  int64_t size(int64_t largest = 5) {
    const uint8_t byte = next();
    if (byte < 0xF0) return byte % (largest + 1);
    return kStrange[static_cast<size_t>(byte - 0xF0) % std::size(kStrange)];
  }

  // An enumerator from 0 to last, rarely another number.
  int32_t enumerator(int32_t last) {
    const uint8_t byte = next();
    if (byte < 0xF8) return byte % (last + 1);
    return static_cast<int32_t>(kStrange[byte - 0xF8]);
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace heed::fuzz
