// SPDX-License-Identifier: Apache-2.0
#include "layers/placement.h"

#include <algorithm>

#include "base/checked.h"

namespace heed {

WorkspaceBytes place_intermediates(Intermediate* first) {
  // The first array of a slot represents the slot: its sizes become those of the slot's largest array, and its last_use
  // that of the slot's latest array. Slots are in the order of their first arrays.
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
