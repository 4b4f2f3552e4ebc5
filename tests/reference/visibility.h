// SPDX-License-Identifier: Apache-2.0
// Which keys a query sees: it sees a key that rules 4, 5 and 6 all allow.
#pragma once

#include "reference/attention.h"

namespace heed::reference {

bool is_visible(const AttentionProblem& problem, int64_t b, int64_t h, int64_t q, int64_t k);

}  // namespace heed::reference
