// SPDX-License-Identifier: Apache-2.0
// Positions of self-attention that fall from one row to a later one (rule 6 of docs/semantics.md): texts in one row of the
// batch, each from position 0, of which one would see another.
#pragma once

#include <cstdint>

#include "attention/validate.h"
#include "layers/schedule.h"

namespace heed {

// The rows of a batch element in a call.
struct PositionedRows {
  int64_t element = 0;
  int64_t first_row = 0;  // of a packed batch
  int64_t count = 0;
  const int32_t* positions = nullptr;  // [count]
  bool is_packed = false;
  // In a cache: the rows of the sequence before them.
  int64_t num_held = 0;
};

class FallingPositions {
 public:
  // `visibility`: that of the call.
  FallingPositions(Schedule& schedule, const Visibility& visibility);

  // Throws InvalidArgument if positions fall among rows that are keys, unless a mask or bias may separate texts.
  void check(const PositionedRows& rows);

 private:
  // Whether a row is no key of any query.
  bool hides(const PositionedRows& rows, int64_t row);

  Schedule& schedule_;
  // A mask or bias has an element for each query and key.
  bool may_separate_;
  // Null if they are none, or not the same for all queries.
  const Tensor* valid_lens_ = nullptr;
  const Tensor* mask_ = nullptr;
};

}  // namespace heed
