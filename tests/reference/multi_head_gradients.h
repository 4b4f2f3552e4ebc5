// SPDX-License-Identifier: Apache-2.0
// The gradients of multi-head attention in f64, and of the additive layer and that of the general score, which the same problem
// describes.
#pragma once

#include <vector>

#include "reference/moved_steps.h"
#include "reference/multi_head_attention.h"

namespace heed::reference {

// By name: "queries", "keys" and "values" as in the problem (where one tensor is several of them, its gradient is their sum); those of
// the parameters, "W_q.weight" and so on, "w_v.weight", "q_norm.weight", "k_norm.weight", "sinks", "relative_bias.weight", "bias_k",
// "bias_v"; "alibi_slopes"; "bias" of each pair, (B, H, Q, K); and "head_gate", (B, H), of a factor of 1 on each head's output. What
// the problem lacks is not there. Rows beyond the queries of a batch element take no part, whatever `of_output` has there.
NamedRows multi_head_gradients(const MultiHeadProblem& problem, const std::vector<double>& of_output,
                               const AfterStep& after_step);

}  // namespace heed::reference
