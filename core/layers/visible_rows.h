// SPDX-License-Identifier: Apache-2.0
// The rows of a batch that a tokenizer's mask shows: attention_mask of heed_layer_inputs, (B, S) of 0 and 1.
#pragma once

#include <cstdint>
#include <optional>

#include "layers/inputs.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "tensor/tensor.h"

namespace heed {

// Rows of one array of a call. Everything is in the call's arena.
struct VisibleRows {
  const Tensor* mask = nullptr;  // null: there is none, and all rows are visible
  const char* name = nullptr;
  int64_t batch = 0;
  int64_t num_rows = 0;
  // Whether a visible row may follow a hidden one.
  bool has_holes = false;
  // Null if the mask is not read. [batch]: how many rows are visible.
  const int64_t* counts = nullptr;
  // [batch][num_rows], if there are holes: the visible rows in order, and behind them any.
  const int32_t* rows = nullptr;
  // [batch][num_rows], likewise: where each row is among the visible ones; for a hidden one num_rows - 1, which is then
  // behind them.
  const int32_t* places = nullptr;

  bool is_given() const { return mask != nullptr; }
  bool is_read() const { return counts != nullptr; }
  // With holes: whether a row is visible.
  bool shows(int64_t b, int64_t row) const {
    const int32_t place = places[b * num_rows + row];
    return place < counts[b];
  }
};

// What a call takes from a mask.
struct MaskReading {
  bool reads = true;  // its elements; if not, only its shape
  // Replaces has_holes of the elements, where other masks of this shape are planned for.
  std::optional<bool> may_have_holes;
};

// Reads a mask. Throws InvalidArgument for another dtype or shape, or for an element that is neither 0 nor 1.
VisibleRows read_visible_rows(Schedule& schedule, const Tensor* mask, const char* name, int64_t batch, int64_t num_rows,
                              const MaskReading& reading);

// Adds copies of rows: to[b, h, i] = from[b, h, rows[b][i]] for arrays (B, S, ...) or (B, H, S, ...), whose rows are along
// `row_axis`; what follows is a row. `rows`: [batch][rows of `to`], or null if they are only planned. With has_gaps -1 in place of
// a row gives zeros.
void add_copies_of_rows(Schedule& schedule, const char* operation, const Value& from, const Value& to, int32_t row_axis,
                        const int32_t* rows, bool has_gaps = false);

// The same for (B, Q, K) or (B, H, Q, K) along the last two axes: to[b, h, i, j] = from[b, h, rows[b][i], columns[b][j]].
// Null: all in their order. Columns beyond num_columns keep their places.
void add_copies_of_pairs(Schedule& schedule, const char* operation, const Value& from, const Value& to,
                         const VisibleRows* rows, const VisibleRows* columns);

}  // namespace heed
