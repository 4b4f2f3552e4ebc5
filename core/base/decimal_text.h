// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers as decimal text, the same in every locale. printf's %g writes a decimal comma if the host
// program has set a locale that uses one, so a structure test forbids %g and similar formats in core and capi.
// std::to_chars brings tables of 130 KB into the library, so the digits are computed here, with integers only.
#pragma once

namespace heed {

// The text of printf's "%.<num_digits>g" in the "C" locale, for error messages: nan and inf are terms (base/terms.h).
// Allocates nothing.
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

// How much of a number its digits say.
struct DigitLimits {
  static constexpr int kNone = 2000;  // more than any number has

  int max_digits = kNone;
  // After the decimal point. The first digit must be among them or before the point.
  int max_fraction = kNone;
  // Fewer only if the others are 0.
  int min_digits = 1;
};

// A format of floating-point numbers, of which double has all: the bits of a significand, and the exponent of its last
// bit in the smallest numbers.
struct FloatFormat {
  int significand_bits;
  int least_power;
};

// The fewest digits of a number that identify it among all numbers of its format, as many as the limits allow, rounded
// to the nearest, in the middle to the even digit; computed exactly. Allocates nothing.
class DecimalDigits {
 public:
  // `value` is a finite number of the format; its sign does not matter.
  DecimalDigits(double value, const FloatFormat& format, const DigitLimits& limits);

  // The first is 0 only if the number is. Zeros may be at the end.
  const char* digits() const { return digits_; }
  int num_digits() const { return num_digits_; }
  // The power of ten of the first digit.
  int exponent() const { return exponent_; }

 private:
  // Those of a double, with room to spare.
  char digits_[24] = "0";
  int num_digits_ = 1;
  int exponent_ = 0;
};

}  // namespace heed
