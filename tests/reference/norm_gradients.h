// SPDX-License-Identifier: Apache-2.0
// The gradients of norms in f64, with the error of an f32 engine. With y = (x - m) / n the row before its weight w,
// n = sqrt(variance + epsilon), and t = dy * w:
//
//     dx = (t - mean(t) - y mean(t y)) / n        without a mean that is subtracted: dx = (t - y mean(t y)) / n
//     dw = sum over rows of dy * y                db = sum over rows of dy
//
// A row whose gradient is all 0 takes no part, whatever it holds.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/head_norm.h"
#include "reference/norm.h"

namespace heed::reference {

struct NormGradients {
  Bounded rows;    // as the rows that are normalized
  Bounded weight;  // as the norm's weight
  Bounded bias;    // as the norm's bias
};

NormGradients norm_gradients(const Norm& norm, const std::vector<double>& rows, const std::vector<double>& of_output);

// Of (B, heads, S, D); there is no bias.
NormGradients head_norm_gradients(const HeadNorm& norm, int64_t num_heads, int64_t rows_of_head, int64_t head_size,
                                  const std::vector<double>& heads, const std::vector<double>& of_output);

}  // namespace heed::reference
