// SPDX-License-Identifier: Apache-2.0
#include "layers/placement.h"

#include <algorithm>

#include "base/checked.h"

namespace heed {

WorkspaceBytes place_intermediates(Intermediate* first) {
  // The first array of each slot stands for it: from then on its sizes are those of the slot's largest array, and
  // last_use is that of the latest. The slots are in the order of the arrays that they begin with.
  for (Intermediate* array = first; array != nullptr; array = array->next) {
    Intermediate* slot = first;
    while (slot != array && (slot->slot != slot || slot->last_use >= array->first_use)) slot = slot->next;
    array->slot = slot;
    slot->last_use = array->last_use;
    slot->num_bytes = std::max(slot->num_bytes, array->num_bytes);
    slot->num_held_bytes = std::max(slot->num_held_bytes, array->num_held_bytes);
  }
  WorkspaceBytes total;
  for (Intermediate* slot = first; slot != nullptr; slot = slot->next) {
    if (slot->slot != slot) continue;
    slot->offset = static_cast<size_t>(total.held);
    total.whole = saturating_add(total.whole, slot->num_bytes);
    total.held = saturating_add(total.held, slot->num_held_bytes);
  }
  return total;
}

}  // namespace heed
