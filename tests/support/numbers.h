// SPDX-License-Identifier: Apache-2.0
// Short names for infinity and NaN.
#pragma once

#include <limits>

namespace heed {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace heed
