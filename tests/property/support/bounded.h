// SPDX-License-Identifier: Apache-2.0
// What a function of arrays computes, for integers and floats of every dtype, and the bound of its error.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>

#include "property/support/array_dtypes.h"
#include "property/support/host_tensor.h"
#include "reference/error_bound.h"
#include "support/numbers.h"

namespace heed::property {

// A result in f64, and the largest error of the computation, before it is rounded to its dtype.
struct Bounded {
  double value;
  double error;
};

// Whether `actual`, of that dtype, is within the error and the rounding to the dtype.
inline testing::AssertionResult is_within(double actual, const Bounded& expected, heed_dtype dtype) {
  bool accepted = false;
  if (std::isnan(expected.value) || std::isinf(expected.value)) {
    accepted = std::isnan(expected.value) ? std::isnan(actual) : actual == expected.value;
  } else if (dtype == HEED_F32 || is_narrow(dtype)) {
    accepted = reference::accepts(format_of(dtype), expected.value, expected.error, actual);
  } else {
    accepted = std::abs(actual - expected.value) <= expected.error + std::abs(expected.value) * 0x1p-53;
  }
  if (accepted) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "is " << actual << ", expected " << expected.value << " within "
                                     << expected.error;
}

}  // namespace heed::property
