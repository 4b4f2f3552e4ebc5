// SPDX-License-Identifier: Apache-2.0
// Random problems of attention for the f64 reference, small enough to take them apart element by element.
#pragma once

#include <cstdint>
#include <vector>

#include "property/support/random.h"
#include "reference/attention.h"

namespace heed::property {

struct LargestSizes {
  int64_t queries = 4;
  int64_t keys = 6;
  int64_t head_size = 3;
};

// With each option given or not, whatever the others are.
reference::AttentionProblem random_attention_problem(Random& random, const LargestSizes& largest = {});

// As many as the output has.
std::vector<double> numbers_of_output(Random& random, const reference::AttentionProblem& problem);

}  // namespace heed::property
