// SPDX-License-Identifier: Apache-2.0
// Assigns offsets in the workspace to intermediates. Arrays that are never in use at the same time share memory.
#pragma once

#include <cstdint>

#include "layers/value.h"

namespace heed {

// The bytes of all intermediates; INT64_MAX on overflow.
struct WorkspaceBytes {
  int64_t whole = 0;
  int64_t held = 0;  // only the parts that this call holds
};

// Assigns `slot` and `offset` to a list of arrays of one layer in the order of their first use. A slot is a part of the workspace,
// as large as its largest array. An array takes the first slot that is free: whose latest array was last used before
// this one's first use. Two arrays that one phase uses never share a slot. Sizes do not influence the choice, so larger
// arrays never lead to a smaller workspace.
WorkspaceBytes place_intermediates(Intermediate* first);

}  // namespace heed
