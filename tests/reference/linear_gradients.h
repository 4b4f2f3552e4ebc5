// SPDX-License-Identifier: Apache-2.0
// The gradients of projections and embeddings in f64, with the error of an f32 engine. A sum of n products is off by n
// roundings in any order. A row whose gradient is all 0 takes no part, whatever it holds.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/multi_head_attention.h"

namespace heed::reference {

struct ProjectionGradients {
  Bounded input;   // (rows, input size)
  Bounded weight;  // (output size, input size)
  Bounded bias;    // (output size), or empty
};

// `of_output`: (rows, output size).
ProjectionGradients projection_gradients(const Projection& projection, const std::vector<double>& input,
                                         const std::vector<double>& of_output);

// That of a table (num_rows, size), from those of the rows scale * table[ids[i]]. The row `padding_index` gets none; negative: there
// is no such row. Learned positions are a table too, whose ids are positions.
Bounded embedding_gradient(const std::vector<int64_t>& ids, int64_t num_rows, int64_t size, double scale,
                           int64_t padding_index, const std::vector<double>& of_output);

// One more sum, as of a table that embeds and projects.
Bounded plus(const Bounded& a, const Bounded& b);

}  // namespace heed::reference
