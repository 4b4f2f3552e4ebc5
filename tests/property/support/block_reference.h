// SPDX-License-Identifier: Apache-2.0
// Calls of layers that are made of others, by the reference.
#pragma once

#include <cstdint>
#include <string>

#include "reference/feed_forward.h"
#include "reference/norm.h"
#include "reference/transformer.h"
#include "support/call.h"

namespace heed::property {

// The call's layer `index` by itself, with the rows that the call gives to its first layer.
Call layer_of_stack(const Call& call, int64_t index);

// The parts of a layer from the call's parameters, whose names begin with `prefix`.
reference::Norm row_norm_of(const Call& call, const heed_layer_norm_options& options, const std::string& prefix);
reference::FeedForward feed_forward_of(const Call& call, const heed_feed_forward_options& options,
                                       const std::string& prefix);

// What solve_block() solves, of a packed call in its padded form. A layer by itself is a stack of one.
reference::TransformerStack stack_of(const Call& call);

// The output alone, in the shape of result_dims.
reference::AttentionResult solve_block(const Call& call);

}  // namespace heed::property
