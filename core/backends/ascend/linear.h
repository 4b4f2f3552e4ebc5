// SPDX-License-Identifier: Apache-2.0
// Linear operations on an NPU, by ATB's LinearOperation.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/linear.h"

namespace heed::ascend {

// With on_host and the reasons where ATB cannot do it.
Plan plan_linear(const LinearProblem& problem);

// `dtype`: what is computed in, F16 or BF16.
void run_linear(Npu& npu, const LinearProblem& problem, aclDataType dtype);

// A weight in F32 is kept once more as BF16, in which F32 inputs are computed; others are read as they are.
size_t packed_bytes(const LinearPart& part, int64_t input_size);
void pack(Npu& npu, const LinearPart& part, int64_t input_size, void* packed);

}  // namespace heed::ascend
