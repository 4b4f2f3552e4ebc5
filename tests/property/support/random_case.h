// SPDX-License-Identifier: Apache-2.0
// Random calls that together reach every pair of option values.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/call.h"
#include "support/options.h"

namespace heed::property {

// Draws choices, and prefers those with pairs of values that have not occurred yet.
class ChoiceSampler {
 public:
  // Never draws an excluded value.
  explicit ChoiceSampler(uint64_t seed, std::vector<OptionValue> excluded = {})
      : random_(seed), excluded_(std::move(excluded)), coverage_(excluded_) {}

  Choice next();

  const PairCoverage& coverage() const { return coverage_; }

 private:
  Choice draw(const std::vector<PairCoverage::Pair>& missing);

  Random random_;
  std::vector<OptionValue> excluded_;
  PairCoverage coverage_;
};

// The option values that Ascend leaves to the CPU.
const std::vector<OptionValue>& left_to_the_cpu();

// The call for a choice and a seed. The choice has the options and the classes of sizes; the seed determines the sizes
// and the contents.
Call make_call(const Choice& choice, uint64_t seed);

}  // namespace heed::property
