// SPDX-License-Identifier: Apache-2.0
// Reads the structs that say how a call loads and what it reports.
#pragma once

#include <heed/heed.h>

#include "base/call_progress.h"
#include "loading/load_options.h"

namespace heed::capi {

// `name`: the argument in messages.
Progress read_progress(const heed_progress& progress, const char* name);

// `name` and `progress_name`: the arguments in messages; static. NULL: the macro's values. Texts stay the caller's.
LoadOptions read_load_options(const heed_load_options* options, const char* name, const char* progress_name);

}  // namespace heed::capi
