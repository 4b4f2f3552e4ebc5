// SPDX-License-Identifier: Apache-2.0
// The processors that a thread may run on.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace heed {

// The processors that the calling thread may run on, by their numbers.
std::vector<int> allowed_processors();
// Binds the calling thread to one of them. False on failure.
bool stay_on_processor(int processor);

// The processor's features that the system supports, by the system's names; empty if it does not report them.
std::set<std::string> processor_flags();

}  // namespace heed
