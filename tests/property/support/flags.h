// SPDX-License-Identifier: Apache-2.0
// What a call can have more than queries, keys and values, one by one: for tests that go through shapes.
#pragma once

#include "support/call.h"
#include "support/random.h"

namespace heed::property {

// The first is nothing more.
inline constexpr int kNumFlags = 13;

// The dot-product call with one thing more, or with all that go together.
void set_flag(Call& call, int flag, Random& random);

}  // namespace heed::property
