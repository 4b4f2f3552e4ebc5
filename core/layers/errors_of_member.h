// SPDX-License-Identifier: Apache-2.0
// Errors of the options of a layer's children.
#pragma once

#include <string>

#include "base/error.h"

namespace heed {

// In errors that a child's constructor throws, "options->" becomes "options-><member>->".
class ErrorsOfMember {
 public:
  explicit ErrorsOfMember(const char* member) : member_(member) {}

  // Returns make().
  template <typename Make>
  auto of(const Make& make) const {
    try {
      return make();
    } catch (const Error& error) {
      rethrow(error);
    }
  }

 private:
  [[noreturn]] void rethrow(const Error& error) const;

  const char* member_;
};

}  // namespace heed
