// SPDX-License-Identifier: Apache-2.0
// Numbers of a model's configuration beside those of a layer's options.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "base/decimal_text.h"

namespace heed {

// Whether two numbers are equal but for roundings: options are floats, and callers round them in different ways.
inline bool is_close(double a, double b) { return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b)); }

// The number in a sentence.
inline std::string number_text(double value) { return DecimalText(value, 9).c_str(); }

}  // namespace heed
