// SPDX-License-Identifier: Apache-2.0
// Sums of gradients, each an operation of its own.
#pragma once

#include "layers/backward/gradients_of_call.h"
#include "layers/schedule.h"
#include "layers/value.h"

namespace heed {

// Adds sum = a + b, of arrays of one shape. The sum may be one of them.
void add_sum(Schedule& schedule, const char* operation, const Value& a, const Value& b, const Value& sum);

// For an operation that only writes: the array of the gradient or, if something is added to it, a temporary one of `shape`.
Value written_gradient(Schedule& schedule, const InputGradient& gradient, const Shape& shape);
// Behind the operation: adds what is added.
void add_addend(Schedule& schedule, const Value& written, const InputGradient& gradient);

}  // namespace heed
