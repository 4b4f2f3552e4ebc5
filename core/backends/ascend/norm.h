// SPDX-License-Identifier: Apache-2.0
// Norms of rows on an NPU, by ATB's LayerNorm and RmsNorm.
#pragma once

#include "backends/ascend/npu.h"
#include "backends/backend.h"
#include "ops/norm.h"

namespace heed::ascend {

// ATB uses the launch of an earlier call of the same sizes if their epsilons differ by less than 1e-6. For epsilons below
// it, that difference could change a result by any factor.
inline constexpr float kMinEpsilon = 1e-6f;
inline constexpr const char* kTooSmallEpsilon = "ATB's RmsNorm cannot tell epsilons below 1e-6 apart";

// RmsNorm takes rows of a multiple of this many elements.
inline constexpr int64_t kNormUnit = 16;

// `dtype`: the 16-bit dtype of the computation. `allows_reduced_precision`: numbers of other dtypes may be rounded to it.
// The plan has the reasons why ATB cannot compute the problem, if there are any.
Plan plan_norm(const NormProblem& problem, DType dtype, bool allows_reduced_precision);

void run_norm(Npu& npu, const NormProblem& problem, DType dtype);

}  // namespace heed::ascend
