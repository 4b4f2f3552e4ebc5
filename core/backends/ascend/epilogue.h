// SPDX-License-Identifier: Apache-2.0
// What happens to the sums of a product before they are stored: LinearPart's scale, activation, factor and addend, each
// by an operation of its own, with its result rounded to the dtype.
#pragma once

#include "backends/ascend/arrange.h"
#include "backends/ascend/npu.h"
#include "backends/plan.h"
#include "ops/linear.h"

namespace heed::ascend {

bool has_epilogue(const LinearPart& part);

// Adds the reasons why ATB cannot do it, if any.
void add_epilogue_reasons(Plan& plan, const LinearProblem& problem, const LinearPart& part);

// The kernel of a product with such a part; static.
const char* kernel_with_epilogue(const LinearPart& part);

// Computes the elements of `result` from `sums`, in the order (s, r, h, d) and of one dtype. `sums` is used up. The result
// may be the memory of the part's factor or addend.
void run_epilogue(Npu& npu, const LinearProblem& problem, const LinearPart& part, Temporary& sums,
                  const DeviceArray& result);

// The elements of an operand (h, s, r, d) of a part in ATB's order: (s, r, h, d).
StridedArray rows_of(const LinearProblem& problem, const LinearPart& part, const Operand& operand);

}  // namespace heed::ascend
