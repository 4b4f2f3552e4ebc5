// SPDX-License-Identifier: Apache-2.0
// The gradients of attention in f64, one pair of query and key after the other, with the error of an f32 engine that keeps nothing
// of a row but its output and log_sum_exp.
//
// A row has the gradient dO of its output O, weights P and factors of dropout m. With D = dO . O and dP_j = dO . v_j the score of
// key j has the gradient
//
//     dZ_j = P_j (m_j dP_j - D)
//
// which is that of everything that is added to it; before the soft cap c it is dZ_j (1 - tanh(scale r_j / c)^2), r_j the dot product
// or the weighted sum of tanh. A value has the gradient m_j P_j dO of each row that sees it.
//
// - A hidden pair takes no part, so whatever its query, key, value and dO are reaches nothing. A dropped one takes part with m = 0.
// - A row whose dO is all 0 takes no part, whatever it holds, and neither does one beyond the queries of its batch element.
// - An empty row has no gradients; with the mean, all values of the batch element have m_j dO / K.
// - A row that is NaN makes the gradients of its query and of all keys and values that it sees NaN.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

struct AttentionGradients {
  Bounded queries;          // (B, H, Q, D)
  Bounded keys;             // (B, Hkv, K, D), the sums over the rows of the group's heads
  Bounded values;           // (B, Hkv, K, Dv)
  Bounded constant_keys;    // (Hkv, count, D), summed over the batch too
  Bounded constant_values;  // (Hkv, count, Dv)
  Bounded score_weights;    // (H, D), with additive scoring
  Bounded scores;           // dZ of each pair, (B, H, Q, K): the gradient of a bias that repeats nothing
  Bounded alibi_slopes;     // (H), if there are slopes
  Bounded relative_bias;    // (buckets, H), if there is a table
  Bounded sinks;            // (H), if there are sinks
  Bounded products;  // D of each row, (B, H, Q): summed over a head's rows, the gradient of a factor on its output
};

// `of_output`: dO, (B, H, Q, Dv). Inputs are read as exact, whatever errors the problem states, and in f32. `output_format`: that of the
// output from which D is computed.
AttentionGradients attention_gradients(const AttentionProblem& problem, const std::vector<double>& of_output,
                                       Format output_format = Format::F32);

// An array of the shape `dims` summed over each axis that is 1 in `sums` and more in `dims`: from the gradients of all pairs that of
// a bias which repeats these axes.
Bounded sum_over_repeated(const Bounded& array, const std::array<int64_t, 4>& dims, const std::array<int64_t, 4>& sums);

}  // namespace heed::reference
