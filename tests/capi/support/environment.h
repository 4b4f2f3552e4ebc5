// SPDX-License-Identifier: Apache-2.0
// An environment variable that a test may change; it is as before at the end of the scope.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace heed::capi_test {

class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name); value != nullptr) before_ = value;
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_) {
      set(before_->c_str());
    } else {
      unset();
    }
  }

  void set(const char* value) const { ::setenv(name_, value, 1); }
  void unset() const { ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace heed::capi_test
