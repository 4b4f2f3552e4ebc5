// SPDX-License-Identifier: Apache-2.0
// Environment variables.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace heed {

void set_environment(const char* name, const char* value);
void unset_environment(const char* name);

// A variable that a test may change; the destructor restores its former value.
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

  void set(const char* value) const { set_environment(name_, value); }
  void unset() const { unset_environment(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace heed
