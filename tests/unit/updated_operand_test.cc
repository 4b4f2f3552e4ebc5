// SPDX-License-Identifier: Apache-2.0
// An operand that is read and written, on a device with memory of its own that leaves the operation to the host.
#include <gtest/gtest.h>

#include <memory>

#include "backend_without_operations.h"
#include "backends/context.h"
#include "ops/weight_gradient.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

TEST(UpdatedOperand, OfADeviceGoesOnFromWhatItHolds) {
  const Backend backend = backend_without_operations();
  const auto device = Context::open({}, backend);
  float gradient[] = {1, 2, 0, 0};
  float input[] = {3, 4, 0, 0};
  float weight[] = {100, -1, 200, -1};  // two rows, 2 apart
  WeightGradientProblem problem;
  problem.batch = problem.rows = problem.input_size = 1;
  problem.output_size = problem.head_size = 2;
  const auto give = [](Operand& operand, float* data, int64_t row, int64_t element) {
    operand.data = data;
    operand.strides[2] = row;
    operand.strides[3] = element;
    operand.given = 1;
  };
  give(problem.output_gradient, gradient, 2, 1);
  give(problem.input, input, 2, 1);
  give(problem.weight_gradient, weight, 2, 1);
  const auto run = [&] {
    const Plan plan = device->plan(problem.op);
    device->run(problem.op, plan, nullptr);
  };
  problem.accumulates_weight = 1;
  run();
  EXPECT_EQ(weight[0], 103);
  EXPECT_EQ(weight[2], 206);
  problem.accumulates_weight = 0;
  run();
  EXPECT_EQ(weight[0], 3);
  EXPECT_EQ(weight[2], 6);
  EXPECT_EQ(weight[1], -1);
}

}  // namespace
}  // namespace heed
