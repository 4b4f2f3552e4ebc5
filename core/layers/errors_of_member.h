// SPDX-License-Identifier: Apache-2.0
// Errors of the options of a layer's children.
#pragma once

#include "base/error.h"

namespace heed {

// The options that an error of a child names become those of a member: options->num_heads becomes
// options-><member>->num_heads.
class ErrorsOfMember {
 public:
  explicit ErrorsOfMember(const char* member) : member_(member) {}

  // Returns make().
  template <typename Make>
  auto of(const Make& make) const {
    try {
      return make();
    } catch (const Error& error) {
      Error of_child = error;
      of_child.add_to_options(member_);
      throw of_child;
    }
  }

 private:
  const char* member_;
};

}  // namespace heed
