// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/activation.h"

#include "backends/ascend/arrange.h"
#include "backends/ascend/operations.h"

namespace heed::ascend {

namespace {

// Whether ATB computes the activation of F32.
bool takes_f32(Activation activation) {
  switch (activation) {
    case Activation::None:
    case Activation::Relu:
    case Activation::Gelu:
    case Activation::GeluTanh: return true;
    case Activation::GeluQuick:
    case Activation::Silu: break;
  }
  return false;
}

}  // namespace

// ATB has no Relu of F16. F32 holds all of its numbers.
void activate_array(Npu& npu, Activation activation, const DeviceArray& input, const DeviceArray& output) {
  if (activation != Activation::Relu || input.dtype != ACL_FLOAT16) {
    activate(npu, activation, input, output);
    return;
  }
  Temporary kept;
  const DeviceArray wide = converted(npu, input, ACL_FLOAT, kept);
  const Temporary activated(npu, ACL_FLOAT, wide.shape);
  activate(npu, activation, wide, activated.array());
  cast(npu, activated.array(), output);
}

Plan plan_activate(const ActivateProblem& problem, bool allows_reduced_precision) {
  Plan plan;
  plan.kernel = "ATB Activation";
  if (problem.input.dtype == DType::F32 && !takes_f32(problem.activation) && !allows_reduced_precision)
    plan.add_reason("ATB's SWISH takes " DTYPE("F16") " and " DTYPE(
        "BF16") ", and the context does not allow to round other numbers to them");
  if (problem.input.dtype == DType::F64) plan.add_reason(kNoF64);
  if (!can_arrange(problem.input, problem.sizes) || !can_arrange(problem.output, problem.sizes))
    plan.add_reason(kOutOfReach);
  return plan;
}

// In F32 where an array is F32, if ATB can.
void run_activate(Npu& npu, const ActivateProblem& problem, DType dtype) {
  const bool has_f32 = problem.input.dtype == DType::F32 || problem.output.dtype == DType::F32;
  const aclDataType compute = has_f32 && takes_f32(problem.activation) ? ACL_FLOAT : acl_dtype(dtype);
  const Target target(npu, strided(problem.output, problem.sizes), compute);
  if (target.array().num_elements() == 0) return;
  Temporary kept;
  activate_array(npu, problem.activation, load(npu, strided(problem.input, problem.sizes), compute, kept),
                 target.array());
  target.store();
}

}  // namespace heed::ascend
