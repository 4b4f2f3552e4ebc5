// SPDX-License-Identifier: Apache-2.0
// The caches of launches. What was computed for a launch is used again for a later one of the same operation that is equal;
// and in the factors that are floats two launches are equal that differ by less than kFactorTolerance. The later one is then
// made with the factor of the earlier one. Assumed: the order of Setups is that of the launches.
//
// An operation has a cache of its own, and looks there first; then in that of its thread, which all operations of its name
// share. A launch that is in neither is put into both, in the place of the oldest. How many launches each keeps, the
// environment says when the process first asks: ATB_OPSRUNNER_KERNEL_CACHE_LOCAL_COUNT and
// ATB_OPSRUNNER_KERNEL_CACHE_GLOABL_COUNT (spelt so), 1 without them, 1 to 1024; ATB's set_env.sh sets 1 and 5.
#pragma once

#include <cstddef>
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

class LaunchCache {
 public:
  // Of so many launches.
  explicit LaunchCache(size_t capacity) : capacity_(capacity) {}

  // The factor of an equal launch, from the last that was found on; null where there is none.
  const float* find(const TilingKey& key, float factor);
  void add(const TilingKey& key, float factor);

 private:
  struct Launch {
    TilingKey key;
    float factor;
  };

  size_t capacity_;
  std::vector<Launch> launches_;
  size_t oldest_ = 0;
  size_t last_found_ = 0;
};

// One operation's launches.
class OperationLaunches {
 public:
  OperationLaunches();
  // The factor that a launch is made with.
  float shared_factor(const std::string& operation, const TilingKey& key, float factor);

 private:
  LaunchCache own_;
};

}  // namespace ascend_sim::atb_library
