// SPDX-License-Identifier: Apache-2.0
// Linear operations on an NPU, computed by ATB's LinearOperation.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/linear.h"

namespace heed::ascend {

// The plan has the reasons why ATB cannot compute the problem, if there are any. `computed` and `dtype`: the dtype of the
// computation, F16 or BF16.
Plan plan_linear(const LinearProblem& problem, DType computed);
void run_linear(Npu& npu, const LinearProblem& problem, aclDataType dtype);

// A weight in F32 is stored a second time in BF16, the dtype in which F32 inputs are computed. Other weights are read
// as they are.
size_t packed_bytes(const LinearPart& part, int64_t input_size);
void pack(Npu& npu, const LinearPart& part, int64_t input_size, void* packed);

}  // namespace heed::ascend
