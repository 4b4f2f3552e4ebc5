// SPDX-License-Identifier: Apache-2.0
// The caches of launches. A launch uses what was computed for an earlier, equal launch of the same operation. Float
// factors count as equal if they differ by less than kFactorTolerance; the later launch then uses the factor of the
// earlier one. Assumed: launches are in the order of the Setups.
//
// Each operation has a cache, and each thread has one for all operations of one name. An operation looks in its own
// cache first and then in the thread's. A launch that is in neither is added to both and replaces the oldest. The
// environment variables ATB_OPSRUNNER_KERNEL_CACHE_LOCAL_COUNT (operation) and ATB_OPSRUNNER_KERNEL_CACHE_GLOABL_COUNT
// (thread; spelt so) give the capacities, 1 to 1024, and are read at the first use. Without them each is 1; ATB's
// set_env.sh sets 1 and 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "atb/types.h"

namespace ascend_sim::atb_library {

constexpr double kFactorTolerance = 1e-6;

// Everything except the factor that must be the same in two launches: types and shapes, to which each operation adds
// its parameters.
using TilingKey = std::vector<int64_t>;
TilingKey tiling_key(const atb::VariantPack& pack);

class LaunchCache {
 public:
  // `capacity` launches are kept.
  explicit LaunchCache(size_t capacity) : capacity_(capacity) {}

  // The factor of an equal launch; null if there is none. The search begins at the launch that was found last.
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

// The launches of one operation.
class OperationLaunches {
 public:
  OperationLaunches();
  // The factor that the launch uses.
  float shared_factor(const std::string& operation, const TilingKey& key, float factor);

 private:
  LaunchCache own_;
};

}  // namespace ascend_sim::atb_library
