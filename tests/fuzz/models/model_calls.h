// SPDX-License-Identifier: Apache-2.0
// What can be asked of a whole model, and small calls of it.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz/calls/row_mask.h"
#include "fuzz/support/bytes.h"

namespace heed::fuzz {

// The status of a call; fails if small files make it run out of memory.
bool succeeded_in_little_memory(heed_status status);

// The sizes of the calls.
struct CallChoices {
  explicit CallChoices(Bytes& bytes);

  int64_t batch;
  int64_t num_rows;
  int64_t num_keys;  // of a Transformer's encoder
  uint8_t seed;      // of the ids
  bool has_lens;
  bool is_tapped;
  bool is_saved;
  // Masks of the ids that the model reads, and of those that a Transformer's encoder reads.
  std::optional<RowMask> rows_mask;
  std::optional<RowMask> keys_mask;
};

// Asks the model for its children and parameters, and runs it: its parts too, and with caches. `is_unchanged`: no file of the
// model was edited, so that no call may be refused.
void use_model(heed_context* context, heed_layer* model, const CallChoices& choices, size_t num_file_bytes,
               bool is_unchanged);

}  // namespace heed::fuzz
