// SPDX-License-Identifier: Apache-2.0
// The cache of launches. What was computed for a launch is used again for the next of the same operation that is equal; and
// in the factors that are floats two launches are equal that differ by no more than kFactorTolerance. The second is then
// made with the factor of the first. Assumed: the order of Setups is that of the launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "atb/types.h"

namespace ascend_sim::atb_library {

constexpr double kFactorTolerance = 1e-6;

// All that must be the same for one launch to serve for another, but its factor: types and shapes, to which the operation
// adds its parameters.
using TilingKey = std::vector<int64_t>;
TilingKey tiling_key(const atb::VariantPack& pack);

// The factor that a launch is made with. A thread has one launch for each name, which all operations of the name share.
float shared_factor(const std::string& operation, const TilingKey& key, float factor);

}  // namespace ascend_sim::atb_library
