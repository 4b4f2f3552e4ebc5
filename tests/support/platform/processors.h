// SPDX-License-Identifier: Apache-2.0
// The processors that a thread may run on.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace heed {

// Those of the calling thread, by their numbers.
std::vector<int> allowed_processors();
// Keeps the calling thread on one of them; false where that fails.
bool stay_on_processor(int processor);

// The features of the processor by the system's own names, as far as the system supports them; empty where it does not
// report them.
std::set<std::string> processor_flags();

}  // namespace heed
