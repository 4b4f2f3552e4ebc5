// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/activation.h"

#include "ops/activate.h"
#include "ops/tensor_operand.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/pooled_call.h"

namespace heed {

void activate(const Tensor& tensor, Activation activation, const Tensor& result) {
  check_float_function({ARGUMENT("tensor"), tensor}, {"result", result});
  if (result.num_elements() == 0) return;

  ActivateProblem problem;
  problem.activation = activation;
  // Backends split the problem into rows along the last axis, so that short rows take longer than one long row.
  const bool is_one_row = tensor.is_row_major() && result.is_row_major();
  const Tensor input = is_one_row ? tensor.reshape({tensor.num_elements()}) : tensor;
  const Tensor output = is_one_row ? result.reshape({result.num_elements()}) : result;
  int32_t axes[kElementwiseRank];
  for (int32_t axis = 0; axis < kElementwiseRank; ++axis) {
    axes[axis] = axis - kElementwiseRank + input.rank();
    if (axes[axis] >= 0) problem.sizes[axis] = input.dim(axes[axis]);
  }
  set_operand(problem.input, input, axes);
  set_operand(problem.output, output, axes);
  PooledCall(context_of(result), "heed_activation", "activation", problem.op).run();
}

}  // namespace heed
