// SPDX-License-Identifier: Apache-2.0
// Where intermediates lie in the workspace. Arrays that are never in use at the same time share their memory.
#pragma once

#include <cstdint>

#include "layers/value.h"

namespace heed {

// What all intermediates take; INT64_MAX where that overflows.
struct WorkspaceBytes {
  int64_t whole = 0;
  int64_t held = 0;  // in this call
};

// Places an array and those linked behind it, which are in the order of their first use: sets `slot` and `offset`. A slot
// is a stretch of the workspace as large as the largest of its arrays. An array takes the first slot whose latest array
// was last used before its own first use; two arrays that one phase uses never share a slot. Only lifetimes decide, so
// that larger arrays never lead to a smaller workspace.
WorkspaceBytes place_intermediates(Intermediate* first);

}  // namespace heed
