// SPDX-License-Identifier: Apache-2.0
// Makes the rotation of queries visible from outside of a layer.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <vector>

namespace heed::golden {

// Rows of queries, (positions, num_heads * head_size) in row-major order.
struct Rows {
  int64_t num_heads = 1;
  int64_t head_size = 0;
  std::vector<float> elements;
  std::vector<int64_t> positions;
};

// The rows as a layer with these rotary positions compares them with keys: each batch element has one key, a unit vector at
// position 0, and with one key log_sum_exp is its score. So rotated elements are multiplied by the attention factor twice,
// that of the key included. All projections are identities: besides the rotation's numbers, only the product with the key's
// factor is rounded, and log_sum_exp.
std::vector<double> rotated(heed_context* context, const heed_rope_options& rope, const Rows& rows);

// An angle and a factor as one pair of elements shows them.
struct Turn {
  double angle;   // of one position, between -pi and pi
  double factor;  // the attention factor
};

// Pair `pair` of heads of head_size elements, rotated as HEED_ROPE_HALF at this position.
Turn turn_of(heed_context* context, const heed_rope_options& rope, int64_t head_size, int64_t pair, int64_t position);

}  // namespace heed::golden
