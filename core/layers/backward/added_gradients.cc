// SPDX-License-Identifier: Apache-2.0
#include "layers/backward/added_gradients.h"

#include <algorithm>

#include "ops/elementwise.h"

namespace heed {

void add_sum(Schedule& schedule, const char* operation, const Value& a, const Value& b, const Value& sum) {
  auto& problem = schedule.add<ElementwiseProblem>(operation);
  problem.function = ElementFunction::Add;
  std::ranges::copy_n(sum.shape().dims.begin(), sum.rank(), problem.sizes + kElementwiseRank - sum.rank());
  schedule.set_elementwise(problem.inputs[0], a);
  schedule.set_elementwise(problem.inputs[1], b);
  schedule.set_elementwise(problem.output, sum);
}

Value written_gradient(Schedule& schedule, const InputGradient& gradient, const Shape& shape) {
  return gradient.is_wanted() && gradient.addend.is_given() ? Value(schedule.reserve(DType::F32, shape)) : gradient.to;
}

void add_addend(Schedule& schedule, const Value& written, const InputGradient& gradient) {
  if (!gradient.is_wanted() || !gradient.addend.is_given()) return;
  add_sum(schedule, "add gradients", written, gradient.addend, gradient.to);
}

}  // namespace heed
