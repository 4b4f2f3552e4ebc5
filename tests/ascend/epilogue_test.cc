// SPDX-License-Identifier: Apache-2.0
// Products whose sums are changed before they are stored, and embeddings, in the NPU's memory: the CPU computes them, and the
// plan says why.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "backends/context.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "tensor/host_image.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

ContextOptions simulated_npu() {
  ContextOptions options;
  options.device = DeviceKind::Ascend;
  options.allow_reduced_precision = true;
  return options;
}

// Dense rows of `size` elements, in the last two axes.
template <int rank>
void set(StridedOperand<rank>& operand, const Tensor& tensor, int64_t size) {
  operand.data = tensor.data();
  operand.given = 1;
  operand.strides[rank - 2] = size;
  operand.strides[rank - 1] = 1;
}

std::vector<float> elements_of(const Tensor& tensor) {
  const Tensor copy = host_copy(tensor);
  const auto* const values = reinterpret_cast<const float*>(copy.data());
  return {values, values + tensor.num_elements()};
}

TEST(Epilogue, ThatTheDeviceDoesNotHaveIsComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  const float inputs[] = {1, 2, 3, 4};
  const float weights[] = {1, 0.5f};
  const Tensor input = Tensor::copy_of(context, DType::F32, {2, 2}, inputs);
  const Tensor weight = Tensor::copy_of(context, DType::F32, {1, 2}, weights);
  const Tensor output = Tensor::zeros(context, DType::F32, {2, 1});
  LinearProblem plain;
  plain.batch = 1;
  plain.rows = plain.input_size = 2;
  set(plain.input, input, 2);
  plain.parts[0].output_size = plain.parts[0].head_size = 1;
  set(plain.parts[0].weight, weight, 2);
  set(plain.parts[0].output, output, 1);
  EXPECT_EQ(context->plan(plain.op).on_host, 0);

  for (const bool caps : {false, true}) {
    LinearProblem problem = plain;
    problem.parts[0].scale = caps ? 1.0f : 3.0f;
    problem.parts[0].soft_cap = caps ? 4.0f : 0.0f;
    const Plan plan = context->plan(problem.op);
    EXPECT_EQ(plan.on_host, 1);
    EXPECT_STREQ(plan.not_fastest[0],
                 "the device only adds a bias to a product, no scale, soft cap, activation, gate or residual");
    context->run(problem.op, plan, nullptr);
    const std::vector<float> found = elements_of(output);
    for (const auto& [index, sum] : {std::pair{0, 2.0f}, std::pair{1, 5.0f}}) {
      const float expected = caps ? 4 * std::tanh(sum / 4) : 3 * sum;
      EXPECT_NEAR(found[static_cast<size_t>(index)], expected, 1e-5f);
    }
  }
}

// The addend is the output.
TEST(Epilogue, OfAnEmbeddingIsComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  const float rows[] = {1, 2, 3, 4, 5, 6};
  const float addends[] = {10, 20, 30, 40};
  const int32_t ids[] = {2, 0};
  const Tensor table = Tensor::copy_of(context, DType::F32, {3, 2}, rows);
  const Tensor output = Tensor::copy_of(context, DType::F32, {2, 2}, addends);
  EmbeddingProblem problem;
  problem.sizes[kElementwiseRank - 2] = problem.sizes[kElementwiseRank - 1] = 2;
  problem.ids = ids;
  problem.num_table_rows = 3;
  problem.scale = 0.5f;
  set(problem.table, table, 2);
  set(problem.output, output, 2);
  problem.addend = problem.output;
  const Plan plan = context->plan(problem.op);
  EXPECT_EQ(plan.on_host, 1);
  context->run(problem.op, plan, nullptr);
  EXPECT_EQ(elements_of(output), (std::vector<float>{12.5f, 23, 30.5f, 41}));
}

}  // namespace
}  // namespace heed
