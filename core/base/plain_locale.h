// SPDX-License-Identifier: Apache-2.0
// Numbers and messages of the system as in C programs, whatever language the host has set.
#pragma once

#include <clocale>

namespace heed {

// In its scope this thread, and no other, is in the "C" locale: its decimal point is a point, its messages are ASCII.
// That locale is static, so no memory is asked for.
class PlainLocale {
 public:
  PlainLocale() noexcept : plain_(::newlocale(LC_ALL_MASK, "C", nullptr)), before_(::uselocale(plain_)) {}
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;
  ~PlainLocale() {
    ::uselocale(before_);
    if (plain_ != nullptr) ::freelocale(plain_);
  }

  // Null where the system has none after all; the scope is then as it was.
  locale_t get() const { return plain_; }

 private:
  locale_t plain_;
  locale_t before_;
};

}  // namespace heed
