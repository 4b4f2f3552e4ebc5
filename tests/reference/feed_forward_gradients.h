// SPDX-License-Identifier: Apache-2.0
// The gradients of activations, dropout and feed-forward networks in f64, with the error of an f32 engine.
#pragma once

#include <vector>

#include "reference/feed_forward.h"
#include "reference/moved_steps.h"

namespace heed::reference {

// The slope of an activation. That of ReLU is 0 at 0; at NaN it is 1, which is what PyTorch has there, and stated as unknown.
BoundedNumber activation_slope(Activation activation, double x);

// `of_output` times the slopes at x, element by element. Elements are rows of `size`, of which those that are all 0 stay 0.
Bounded activation_gradient(Activation activation, const std::vector<double>& x, const std::vector<double>& of_output,
                            int64_t size);

// 0 where an element is dropped, whatever arrives there.
Bounded dropout_gradient(const Dropout& dropout, const std::vector<double>& of_output);

// By name: "queries" for the rows, "W_1.weight", "W_1.bias", "W_gate.weight" and so on.
NamedRows feed_forward_gradients(const FeedForward& network, const std::vector<double>& rows,
                                 const std::vector<double>& of_output, const AfterStep& after_step);

}  // namespace heed::reference
