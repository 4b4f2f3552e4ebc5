// SPDX-License-Identifier: Apache-2.0
// What happens to each head of a projection before it is stored: a norm, then rotary positions.
#pragma once

#include <cstdint>

#include "ops/norm.h"
#include "ops/operand.h"

namespace heed {

// Which elements of a rotated slice make a pair. The numbers are those of HEED_ROPE_; capi/src asserts it.
enum class RotaryLayout : int32_t {
  None = 0,
  Half = 1,         // (i, i + rotary_size / 2)
  Interleaved = 2,  // (2 i, 2 i + 1)
};

struct HeadTransform {
  NormKind norm = NormKind::None;  // of each head, without bias
  float epsilon = 0;
  Operand norm_weight;  // axes (h, -, -, d); F32, F16, BF16; given iff there is a norm

  // With another layout than None the pairs (a, b) of elements rotary_offset .. rotary_offset + rotary_size - 1 become
  // (a cos - b sin, b cos + a sin). Unless keeps_order is 1, the first elements of all pairs are stored first, then the
  // second ones, in both layouts: a product of queries and keys that are both stored so is the same, and has the same bits
  // for a weight whose rows are permuted from one layout to the other.
  RotaryLayout layout = RotaryLayout::None;
  int32_t keeps_order = 0;  // 1: each element stays in its place, as additive scores and a bias key need it
  int64_t rotary_size = 0;  // even
  int64_t rotary_offset = 0;
  Operand rotations;  // axes (-, s, r, d); F32: the cosines of all pairs of a row, then their sines; contiguous in d

  bool is_given() const { return norm != NormKind::None || layout != RotaryLayout::None; }
};

}  // namespace heed
