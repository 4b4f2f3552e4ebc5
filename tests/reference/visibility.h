// SPDX-License-Identifier: Apache-2.0
// Who sees whom: rules 4, 5 and 6, combined by AND.
#pragma once

#include "reference/attention.h"

namespace heed::reference {

bool is_visible(const AttentionProblem& problem, int64_t b, int64_t h, int64_t q, int64_t k);

}  // namespace heed::reference
