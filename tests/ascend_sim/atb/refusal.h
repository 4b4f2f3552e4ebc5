// SPDX-License-Identifier: Apache-2.0
// How ATB refuses. The vendor's library returns a code and writes the reason to a log. Here the log is stderr, if the
// environment has ASCEND_SIM_LOG=1.
#pragma once

#include <string>

#include "atb/types.h"

namespace ascend_sim::atb_library {

// Logs "`who` answers `code`: `reason`" and returns the code.
atb::Status refuse(atb::Status code, const std::string& who, const std::string& reason);

// Reports what hardware does not notice, or answers with undefined behaviour, for ascend_sim_violations.
void violation(const std::string& sentence);

}  // namespace ascend_sim::atb_library
