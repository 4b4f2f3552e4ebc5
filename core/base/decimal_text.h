// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as decimal text, the same in every locale. printf's %g writes a decimal comma if the host
// program has set a locale that uses one, so a structure test forbids %g and similar formats in core and capi.
// std::to_chars brings tables of 130 KB into the library, so the digits are computed here, with integers only.
#pragma once

namespace heed {

// The text of printf's "%.<num_digits>g" in the "C" locale, for error messages. Allocates nothing.
class DecimalText {
 public:
  // num_digits is from 1 to 17.
  explicit DecimalText(double value, int num_digits = 6);

  const char* c_str() const { return text_; }

 private:
  // Sign, 17 digits, point, exponent of a double.
  char text_[32];
};

// A finite number in the fewest digits that read back as the same float, in the shorter of the forms 1000 and 1e+03, as
// std::to_chars writes it. Allocates nothing.
class ShortestText {
 public:
  explicit ShortestText(float value);

  const char* c_str() const { return text_; }

 private:
  // Sign, 9 digits, point, exponent of a float, with room to spare.
  char text_[32];
};

}  // namespace heed
