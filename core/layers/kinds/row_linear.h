// SPDX-License-Identifier: Apache-2.0
// Linear operations over the last axis of arrays of any rank.
#pragma once

#include "layers/kinds/projection.h"
#include "layers/layer_call.h"
#include "layers/schedule.h"
#include "layers/value.h"
#include "ops/linear.h"

namespace heed {

// Adds y = x W^T + b over the last axis of `input`, of any rank. `output` has the input's other axes.
LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output);

// The same plus the addend, for arrays (B, S, E) or (S, E). With row_limits only rows of queries are computed, and the
// others become 0.
LinearPart& add_row_linear(Schedule& schedule, const char* operation, const ProjectionParameters& parameters,
                           const Value& input, const Value& output, const Value& addend, const KeyLimits* row_limits);

}  // namespace heed
