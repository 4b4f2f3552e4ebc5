// SPDX-License-Identifier: Apache-2.0
#include "reference/rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "reference/error_bound.h"

namespace heed::reference {
namespace {

// The unit round-off of f64. The constants that are multiplied by it are derived in docs/semantics.md, section "Norms
// and rotations".
constexpr double kF64Roundoff = 0x1p-53;
constexpr double kDigitRoundoffs = 40.0;

// What YaRN changes: 0 keeps the frequency of a pair, 1 divides it by the factor.
struct Ramp {
  double value = 0;
  double error = 0;
};

Ramp yarn_ramp(const RotaryOptions& options, size_t pair) {
  const auto size = static_cast<double>(options.size);
  const double log_base = std::log(options.base);
  const auto pair_with = [&](double turns) {
    return size * std::log(options.original_length / (2.0 * std::numbers::pi * turns)) / (2.0 * log_base);
  };
  double low = pair_with(options.beta_fast);
  double high = pair_with(options.beta_slow);
  const double magnitude = std::fabs(low) + std::fabs(high) + size / (2.0 * std::fabs(log_base));
  double error = 8.0 * kF64Roundoff * magnitude * (1.0 + 1.0 / std::fabs(log_base));
  if (options.rounds_range) {
    low = std::floor(low);
    high = std::ceil(high);
    error = 0.0;
  }
  low = std::max(low, 0.0);
  high = std::min(high, size - 1.0);
  if (low == high) high += 0.001;
  const double width = std::fabs(high - low);
  const double place = (static_cast<double>(pair) - low) / (high - low);
  return {std::clamp(place, 0.0, 1.0), 4.0 * error / width + 4.0 * kF64Roundoff * (1.0 + magnitude / width)};
}

// The mean of a frequency and its quotient by the factor, with `ramp` for the weight of the quotient.
Frequency between(const RotaryOptions& options, const Frequency& frequency, const Ramp& ramp) {
  const double stretched = frequency.value / options.factor;
  const double value = stretched * ramp.value + frequency.value * (1.0 - ramp.value);
  const double smallest = std::min(stretched, frequency.value);
  return {value, frequency.error + 4.0 * kF64Roundoff + ramp.error * std::fabs(frequency.value - stretched) / smallest};
}

Frequency llama3(const RotaryOptions& options, const Frequency& frequency) {
  const double turns = options.original_length * frequency.value / (2.0 * std::numbers::pi);
  const double low = options.low_frequency_factor;
  const double high = options.high_frequency_factor;
  const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
  const double error = frequency.error + 8.0 * kF64Roundoff;
  return between(options, frequency, {1.0 - kept, error * (1.0 + high / (high - low))});
}

}  // namespace

std::vector<Frequency> rotary_frequencies(const RotaryOptions& options) {
  const auto size = static_cast<double>(options.size);
  double log_base = std::log(options.base);
  double base_error = 0.0;
  if (options.scaling == RotaryScaling::Ntk) {
    const double exponent = size / (size - 2.0);
    log_base += exponent * std::log(options.factor);
    base_error = kF64Roundoff * (4.0 + 2.0 * exponent * std::fabs(std::log(options.factor)));
  }
  std::vector<Frequency> frequencies(static_cast<size_t>(options.size / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / size;
    Frequency frequency = {std::exp(-exponent * log_base),
                           kF64Roundoff * (6.0 + 3.0 * std::fabs(exponent * log_base)) + base_error};
    switch (options.scaling) {
      case RotaryScaling::None:
      case RotaryScaling::Ntk: break;
      case RotaryScaling::Linear:
        frequency.value /= options.factor;
        frequency.error += kF64Roundoff;
        break;
      case RotaryScaling::Yarn: frequency = between(options, frequency, yarn_ramp(options, i)); break;
      case RotaryScaling::Llama3: frequency = llama3(options, frequency); break;
      case RotaryScaling::Factors:
        frequency.value /= options.factors[i];
        frequency.error += kF64Roundoff;
        break;
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

double attention_factor(const RotaryOptions& options) {
  if (options.attention_factor != 0.0) return options.attention_factor;
  if (options.scaling == RotaryScaling::Yarn && options.factor > 1.0) return 1.0 + 0.1 * std::log(options.factor);
  if (options.scaling == RotaryScaling::Factors && options.factor > 1.0)
    return std::sqrt(1.0 + std::log(options.factor) / std::log(options.original_length));
  return 1.0;
}

void rotate(const RotaryOptions& options, const std::vector<Frequency>& frequencies, int64_t position,
            std::optional<Format> compute_format, double* values, double* errors) {
  const int64_t num_pairs = options.size / 2;
  const double factor = attention_factor(options);
  // A default factor is itself rounded to f32.
  const double of_factor = options.attention_factor == 0.0 && factor != 1.0 ? kUnitRoundoff : 0.0;
  for (int64_t i = 0; i < num_pairs; ++i) {
    const bool is_half = options.pairing == Pairing::Half;
    const int64_t first = options.offset + (is_half ? i : 2 * i);
    const int64_t second = is_half ? first + num_pairs : first + 1;
    const Frequency& frequency = frequencies[static_cast<size_t>(i)];
    const double angle = static_cast<double>(position) * frequency.value;
    const double of_angle = std::fabs(angle) * (frequency.error + 2.0 * kF64Roundoff) + kDigitRoundoffs * kF64Roundoff;
    const double cosine = factor * std::cos(angle);
    const double sine = factor * std::sin(angle);
    const auto error_of = [&](double number) {
      double error = factor * of_angle + of_factor * std::fabs(number);
      error += kUnitRoundoff * (std::fabs(number) + error) + underflow_error();
      return error_after_rounding(compute_format, number, error);
    };
    const double cosine_error = error_of(cosine);
    const double sine_error = error_of(sine);
    // x * cosine + y * sine, with the error of each number.
    const auto combine = [&](double x, double x_error, double y, double y_error, double sign) {
      const double value = x * cosine + sign * y * sine;
      const double inherited = x_error * (std::fabs(cosine) + cosine_error) + std::fabs(x) * cosine_error +
                               y_error * (std::fabs(sine) + sine_error) + std::fabs(y) * sine_error;
      const double magnitude = std::fabs(x * cosine) + std::fabs(y * sine) + inherited;
      const double error = inherited + kSecondOrder * 2.0 * kUnitRoundoff * magnitude + 2.0 * underflow_error();
      if (std::isnan(value)) return std::pair{value, 0.0};
      if (!(magnitude <= kLargestCovered)) return std::pair{0.0, kInfinity};
      return std::pair{value, error_after_rounding(compute_format, value, error)};
    };
    const double a = values[first], da = errors[first], b = values[second], db = errors[second];
    std::tie(values[first], errors[first]) = combine(a, da, b, db, -1.0);
    std::tie(values[second], errors[second]) = combine(b, db, a, da, 1.0);
  }
}

}  // namespace heed::reference
