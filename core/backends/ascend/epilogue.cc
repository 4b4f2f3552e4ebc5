// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/epilogue.h"

#include <cmath>
#include <utility>

#include "backends/ascend/activation.h"
#include "backends/ascend/arrange.h"
#include "backends/ascend/operations.h"

namespace heed::ascend {
namespace {

int num_steps(const LinearPart& part) {
  int steps = part.scale != 1 ? 1 : 0;
  if (part.activation != Activation::None) ++steps;
  return steps + part.factor.given + part.addend.given;
}

}  // namespace

StridedArray rows_of(const LinearProblem& problem, const LinearPart& part, const Operand& operand) {
  const StridedArray heads =
      strided(operand, {part.output_size / part.head_size, problem.batch, problem.rows, part.head_size});
  StridedArray rows = heads;
  for (const auto& [to, from] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 0}}) {
    rows.sizes[to] = heads.sizes[from];
    rows.strides[to] = heads.strides[from];
  }
  return rows;
}

bool has_epilogue(const LinearPart& part) { return num_steps(part) != 0 || part.soft_cap > 0; }

void add_epilogue_reasons(Plan& plan, const LinearProblem& problem, const LinearPart& part) {
  if (part.soft_cap > 0) plan.add_reason("the device has no soft cap of a product");
  if (std::fabs(part.scale) < kMinFactor) plan.add_reason(kTooSmallFactor);
  if (part.sum.given != 0) plan.add_reason("ATB's epilogues do not keep the sums before them");
  for (const Operand* operand : {&part.factor, &part.addend}) {
    if (operand->given != 0 && !can_arrange(rows_of(problem, part, *operand))) plan.add_reason(kOutOfReach);
  }
}

const char* kernel_with_epilogue(const LinearPart& part) {
  if (part.activation == Activation::None) return "ATB Linear and Elewise";
  return num_steps(part) == 1 ? "ATB Linear and Activation" : "ATB Linear, Activation and Elewise";
}

void run_epilogue(Npu& npu, const LinearProblem& problem, const LinearPart& part, Temporary& sums,
                  const DeviceArray& result) {
  DeviceArray current = reshaped(sums.array(), {result.num_elements()});
  const DeviceArray last = reshaped(result, {result.num_elements()});
  int left = num_steps(part);
  // The last step writes the result; each step before it writes a new array in place of the sums.
  const auto step = [&](const auto& write) {
    if (--left == 0) {
      write(last);
    } else {
      current = renewed(npu, current.dtype, current.shape, sums, write);
    }
  };
  if (part.scale != 1) step([&](const DeviceArray& to) { multiply(npu, current, part.scale, to); });
  if (part.activation != Activation::None)
    step([&](const DeviceArray& to) { activate_array(npu, part.activation, current, to); });
  Temporary kept;
  if (part.factor.given != 0) {
    const DeviceArray factor = load(npu, rows_of(problem, part, part.factor), current.dtype, kept);
    step([&](const DeviceArray& to) { multiply(npu, current, factor, to); });
  }
  if (part.addend.given == 0) return;
  const DeviceArray addend = load(npu, rows_of(problem, part, part.addend), current.dtype, kept);
  step([&](const DeviceArray& to) { add(npu, current, addend, to); });
}

}  // namespace heed::ascend
