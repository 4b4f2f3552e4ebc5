// SPDX-License-Identifier: Apache-2.0
// The CPU as a backend.
#pragma once

#include "backends/backend.h"

namespace heed {

const Backend& cpu_backend();

}  // namespace heed
