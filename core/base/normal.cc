// SPDX-License-Identifier: Apache-2.0
#include "base/normal.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "base/philox.h"

namespace heed {
namespace {

template <size_t count>
double polynomial(const double (&coefficients)[count], double x) {
  double sum = coefficients[count - 1];
  for (size_t i = count - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// Natural logarithm of a normal positive number. log(m * 2^e) = e * log(2) + 2 * atanh((m - 1) / (m + 1)) with m in
// [sqrt(1/2), sqrt(2)); |(m - 1) / (m + 1)| < 0.172, so that 11 terms of the series of atanh have an error below 2^-55.
double portable_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1023} << 52);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  double series = 0;
  for (int term = 21; term >= 1; term -= 2) series = series * square + 1.0 / term;
  return exponent * 0.69314718055994530942 + 2 * ratio * series;
}

}  // namespace

// Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988), routine
// PPND16: rational approximations in the middle and in the tails. Its third range, for tails beyond exp(-25), cannot
// be reached from 32-bit uniform numbers and is left out.
double normal_quantile(double probability) {
  constexpr double kMiddleTop[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                   1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                   3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double kMiddleBottom[] = {1.0,
                                      4.2313330701600911252e1,
                                      6.8718700749205790830e2,
                                      5.3941960214247511077e3,
                                      2.1213794301586595867e4,
                                      3.9307895800092710610e4,
                                      2.8729085735721942674e4,
                                      5.2264952788528545610e3};
  constexpr double kTailTop[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                 3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                 2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kTailBottom[] = {1.0,
                                    2.05319162663775882187e0,
                                    1.67638483018380384940e0,
                                    6.89767334985100004550e-1,
                                    1.48103976427480074590e-1,
                                    1.51986665636165571966e-2,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
  const double centred = probability - 0.5;
  if (std::abs(centred) <= 0.425) {
    const double x = 0.180625 - centred * centred;
    return centred * polynomial(kMiddleTop, x) / polynomial(kMiddleBottom, x);
  }
  const double tail = centred < 0 ? probability : 1 - probability;
  const double x = std::sqrt(-portable_log(tail)) - 1.6;
  const double magnitude = polynomial(kTailTop, x) / polynomial(kTailBottom, x);
  return centred < 0 ? -magnitude : magnitude;
}

double normal_number(uint64_t seed, uint32_t stream, uint64_t index) {
  const uint64_t block = index / 4;
  const PhiloxCounter words =
      philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), stream, kInitializeUse}, seed);
  return normal_of(words[index % 4]);
}

}  // namespace heed
