// SPDX-License-Identifier: Apache-2.0
// The features that a call can have beyond queries, keys and values, one by one: for tests that go through many shapes.
#pragma once

#include "support/call.h"
#include "support/random.h"

namespace heed::property {

// Flag 0 is no feature.
inline constexpr int kNumFlags = 19;

// Sets one feature of a dot-product call; flag 9 sets all that can be combined.
void set_flag(Call& call, int flag, Random& random);

}  // namespace heed::property
