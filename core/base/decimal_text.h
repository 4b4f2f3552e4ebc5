// SPDX-License-Identifier: Apache-2.0
// A number as decimal text for error messages, the same in every locale. printf's %g writes a decimal comma if the host
// program has set a locale that uses one, so a structure test forbids %g and similar formats in core and capi.
#pragma once

#include <charconv>

namespace heed {

// The text of printf's "%.<num_digits>g" in the "C" locale. Allocates nothing.
class DecimalText {
 public:
  explicit DecimalText(double value, int num_digits = 6) {
    *std::to_chars(text_, text_ + sizeof text_ - 1, value, std::chars_format::general, num_digits).ptr = '\0';
  }

  const char* c_str() const { return text_; }

 private:
  // Sign, 17 digits, point, exponent of a double.
  char text_[32];
};

}  // namespace heed
