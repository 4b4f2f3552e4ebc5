// SPDX-License-Identifier: Apache-2.0
// RmsNorm takes F16 and BF16 only. LayerNorm takes F32 too, and computes in it wherever an operand or the epsilon is not
// one of the 16-bit computation:
//
// - an operand of another dtype keeps its digits, so that a layer norm never needs reduced precision;
// - rows are multiplied by a power of two, which is exact in F32, if the epsilon is below 1e-6. Then the epsilon is
//   multiplied by its square, and is large enough to be told from others.
#include "backends/ascend/norm.h"

#include <cmath>

#include "backends/ascend/arrange.h"
#include "backends/ascend/operations.h"
#include "backends/ascend/zeros.h"

namespace heed::ascend {
namespace {

// An epsilon that is scaled becomes at least this, so that another one within 1e-6 of it hardly matters.
constexpr float kScaledEpsilon = 0x1p-10f;
// The smallest epsilon that is scaled, by 2^32: then the squares of F16 numbers do not overflow in rows of 2^30 elements.
constexpr float kMinScaledEpsilon = 0x1p-42f;

int64_t row_size(const NormProblem& problem) { return problem.sizes[kElementwiseRank - 1]; }

StridedArray row_of(const NormProblem& problem, const Operand& parameter) {
  return strided(parameter, {1, 1, 1, row_size(problem)});
}

bool is_all(const NormProblem& problem, DType dtype) {
  const auto is_of_it = [dtype](const auto& operand) { return operand.given == 0 || operand.dtype == dtype; };
  return is_of_it(problem.input) && is_of_it(problem.addend) && is_of_it(problem.output) && is_of_it(problem.weight) &&
         is_of_it(problem.bias);
}

// The dtype in which the problem is computed.
aclDataType computed_in(const NormProblem& problem, DType dtype) {
  if (problem.kind == NormKind::Rms) return acl_dtype(dtype);
  return is_all(problem, dtype) && problem.epsilon >= kMinEpsilon ? acl_dtype(dtype) : ACL_FLOAT;
}

// The exponent of the power of two that rows are multiplied by.
int scaling_of(const NormProblem& problem) {
  if (problem.kind == NormKind::Rms || problem.epsilon >= kMinEpsilon) return 0;
  return (std::ilogb(kScaledEpsilon) - std::ilogb(problem.epsilon) + 1) / 2;
}

void normalize(Npu& npu, const NormProblem& problem, const DeviceArray& rows, const DeviceArray& result) {
  const int64_t size = row_size(problem);
  const aclDataType dtype = rows.dtype;
  Temporary kept_weight;
  const DeviceArray weight = load(npu, row_of(problem, problem.weight), dtype, kept_weight);
  if (problem.kind == NormKind::Rms) {
    rms_norm(npu, rows, weight, problem.epsilon, result);
    return;
  }
  Temporary kept_bias;
  const DeviceArray bias = problem.bias.given != 0 ? load(npu, row_of(problem, problem.bias), dtype, kept_bias)
                                                   : zeros_of(npu, dtype, dims_of({size}), kept_bias);
  const int scaling = scaling_of(problem);
  if (scaling == 0) {
    layer_norm(npu, rows, weight, bias, problem.epsilon, result);
    return;
  }
  const Temporary scaled(npu, dtype, rows.shape);
  multiply(npu, rows, std::ldexp(1.0f, scaling), scaled.array());
  layer_norm(npu, scaled.array(), weight, bias, std::ldexp(problem.epsilon, 2 * scaling), result);
}

}  // namespace

Plan plan_norm(const NormProblem& problem, DType dtype, bool allows_reduced_precision) {
  Plan plan;
  const bool is_rms = problem.kind == NormKind::Rms;
  plan.kernel = is_rms ? "ATB RmsNorm" : "ATB LayerNorm";
  if (!is_rms && problem.epsilon < kMinScaledEpsilon)
    plan.add_reason("ATB's LayerNorm cannot tell epsilons below 2.3e-13 apart");
  if (is_rms) {
    if (row_size(problem) % kNormUnit != 0)
      plan.add_reason("ATB's RmsNorm takes only rows whose size is a multiple of 16");
    if (problem.epsilon < kMinEpsilon) plan.add_reason(kTooSmallEpsilon);
    if (!allows_reduced_precision && !is_all(problem, dtype))
      plan.add_reason("ATB's RmsNorm takes " DTYPE("F16") " and " DTYPE(
          "BF16") ", and the context does not allow to round other numbers to them");
  }
  const Sizes<kOperandRank> parameter_sizes = {1, 1, 1, row_size(problem)};
  if (!can_arrange(problem.input, problem.sizes) || !can_arrange(problem.addend, problem.sizes) ||
      !can_arrange(problem.output, problem.sizes) || !can_arrange(problem.weight, parameter_sizes) ||
      !can_arrange(problem.bias, parameter_sizes))
    plan.add_reason(kOutOfReach);
  return plan;
}

void run_norm(Npu& npu, const NormProblem& problem, DType dtype) {
  const aclDataType compute = computed_in(problem, dtype);
  const Target target(npu, strided(problem.output, problem.sizes), compute);
  if (target.array().num_elements() == 0) return;
  const int64_t size = row_size(problem);
  const int64_t num_rows = target.array().num_elements() / size;
  Temporary kept;
  const DeviceArray rows = reshaped(load(npu, strided(problem.input, problem.sizes), compute, kept), {num_rows, size});
  const DeviceArray result = reshaped(target.array(), {num_rows, size});
  if (problem.addend.given == 0 && rows.data != result.data) {
    normalize(npu, problem, rows, result);
  } else {
    // A norm cannot write to what it reads, and the addend may be the output too.
    const Temporary normalized(npu, compute, result.shape);
    normalize(npu, problem, rows, normalized.array());
    if (problem.addend.given != 0) {
      const DeviceArray addend = load(npu, strided(problem.addend, problem.sizes), compute, kept);
      add(npu, normalized.array(), reshaped(addend, {num_rows, size}), result);
    } else {
      npu.copy(result.data, normalized.data(), result.num_bytes());
    }
  }
  if (problem.has_limits != 0) {
    const int64_t rows_of_element = problem.sizes[kElementwiseRank - 2];
    zero_unwanted(npu, problem.limits, WantedRows::Queries, num_rows / rows_of_element, rows_of_element, result);
  }
  target.store();
}

}  // namespace heed::ascend
