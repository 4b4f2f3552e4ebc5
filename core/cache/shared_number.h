// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace heed {

// A number that other threads may read while a call changes it: they get the number before or after.
class SharedNumber {
 public:
  SharedNumber(int64_t value = 0) noexcept : value_(value) {}  // NOLINT(*-explicit-*): it is used as a number
  SharedNumber(const SharedNumber& other) noexcept : value_(other) {}
  SharedNumber& operator=(const SharedNumber& other) noexcept { return *this = static_cast<int64_t>(other); }
  SharedNumber& operator=(int64_t value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator int64_t() const noexcept { return value_.load(std::memory_order_relaxed); }  // NOLINT(*-explicit-*)

 private:
  std::atomic<int64_t> value_;
};

}  // namespace heed
