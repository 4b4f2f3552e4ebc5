// SPDX-License-Identifier: Apache-2.0
// A bucket begins at x = first * (last / first)^(part / num_parts). Let p / q be part / num_parts in lowest terms, g the
// greatest common divisor of first and last, a = last / g and b = first / g.
//
// If x is rational, (a / b)^p is the q-th power of a fraction. Then a and b are q-th powers, u^q and v^q: for each prime, q
// divides p times its exponent in a or b, and so the exponent itself. So x is a whole number, g * u^p * v^(q - p). Since
// 2 <= a <= 2^20, this only happens for q up to 20.
//
// Otherwise x is irrational and lies between two whole numbers. A whole number d is below x if and only if
// d^q < last^p * first^(q - p), and both sides always differ.
#include "attention/bucket_start.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace heed {
namespace {

constexpr int kDigitBits = 32;
constexpr size_t kFirstNumDigits = 5;
// Far above the relative error of x in f64.
constexpr double kMargin = 0x1p-40;

enum class Rounding { Down, Up };

// A natural number in base 2^32, or its leading digits: digits * 2^(32 * exponent).
struct Digits {
  std::vector<uint32_t> digits;  // the lowest one first; the last one is not 0
  int64_t exponent = 0;

  // How many digits the whole number has.
  int64_t length() const { return static_cast<int64_t>(digits.size()) + exponent; }
  // The digit at this place from the front.
  uint32_t leading(size_t place) const { return place < digits.size() ? digits[digits.size() - 1 - place] : 0; }
};

bool operator<(const Digits& a, const Digits& b) {
  if (a.length() != b.length()) return a.length() < b.length();
  for (size_t place = 0; place < std::max(a.digits.size(), b.digits.size()); ++place) {
    if (a.leading(place) != b.leading(place)) return a.leading(place) < b.leading(place);
  }
  return false;
}

void add_one(std::vector<uint32_t>& digits) {
  for (uint32_t& digit : digits) {
    if (++digit != 0) return;
  }
  digits.push_back(1);
}

// The product, rounded to at most `most` digits, or to one more where rounding up carries.
Digits product(const Digits& a, const Digits& b, size_t most, Rounding rounding) {
  Digits result{std::vector<uint32_t>(a.digits.size() + b.digits.size()), a.exponent + b.exponent};
  std::vector<uint32_t>& digits = result.digits;
  for (size_t i = 0; i < a.digits.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.digits.size(); ++j) {
      carry += digits[i + j] + uint64_t{a.digits[i]} * b.digits[j];
      digits[i + j] = static_cast<uint32_t>(carry);
      carry >>= kDigitBits;
    }
    digits[i + b.digits.size()] = static_cast<uint32_t>(carry);
  }
  if (digits.back() == 0) digits.pop_back();
  if (digits.size() <= most) return result;
  const auto end_of_cut = digits.begin() + static_cast<std::ptrdiff_t>(digits.size() - most);
  const bool is_exact = std::all_of(digits.begin(), end_of_cut, [](uint32_t digit) { return digit == 0; });
  result.exponent += end_of_cut - digits.begin();
  digits.erase(digits.begin(), end_of_cut);
  if (rounding == Rounding::Up && !is_exact) add_one(digits);
  return result;
}

Digits power(int64_t base, int64_t exponent, size_t most, Rounding rounding) {
  Digits result{{1}};
  Digits square{{static_cast<uint32_t>(base)}};
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = product(result, square, most, rounding);
    if (exponent > 1) square = product(square, square, most, rounding);
  }
  return result;
}

// x, whose exponent is in lowest terms.
struct Start {
  int64_t first;
  int64_t last;
  int64_t p;
  int64_t q;
};

// Whether a whole number is below an irrational x. The powers may have millions of digits, so the leading ones are compared,
// rounded both ways, and more of them until they decide.
bool is_below(int64_t number, const Start& x) {
  for (size_t most = kFirstNumDigits;; most *= 2) {
    const auto of_number = [&](Rounding rounding) { return power(number, x.q, most, rounding); };
    const auto of_start = [&](Rounding rounding) {
      return product(power(x.last, x.p, most, rounding), power(x.first, x.q - x.p, most, rounding), most, rounding);
    };
    if (of_number(Rounding::Up) < of_start(Rounding::Down)) return true;
    if (of_start(Rounding::Up) < of_number(Rounding::Down)) return false;
  }
}

int64_t whole_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

// The whole number whose q-th power this is, if there is one.
std::optional<int64_t> whole_root(int64_t number, int64_t q) {
  const int64_t root = std::llround(std::pow(static_cast<double>(number), 1.0 / static_cast<double>(q)));
  if (whole_power(root, q) != number) return std::nullopt;
  return root;
}

// x, if it is rational.
std::optional<int64_t> whole_start(const Start& x) {
  constexpr int64_t kMostRoot = 20;
  if (x.q > kMostRoot) return std::nullopt;
  const int64_t common = std::gcd(x.first, x.last);
  const std::optional<int64_t> u = whole_root(x.last / common, x.q);
  const std::optional<int64_t> v = whole_root(x.first / common, x.q);
  if (!u || !v) return std::nullopt;
  return common * whole_power(*u, x.p) * whole_power(*v, x.q - x.p);
}

}  // namespace

int64_t bucket_start(int64_t first, int64_t last, int64_t part, int64_t num_parts) {
  const int64_t divisor = std::gcd(part, num_parts);
  const Start x = {first, last, part / divisor, num_parts / divisor};
  if (const std::optional<int64_t> whole = whole_start(x)) return *whole;
  const double ratio = static_cast<double>(last) / static_cast<double>(first);
  const double about =
      static_cast<double>(first) * std::pow(ratio, static_cast<double>(part) / static_cast<double>(num_parts));
  const int64_t nearest = std::llround(about);
  const double distance = about - static_cast<double>(nearest);
  const bool is_nearest_below = std::fabs(distance) > about * kMargin ? distance > 0 : is_below(nearest, x);
  return is_nearest_below ? nearest + 1 : nearest;
}

}  // namespace heed
