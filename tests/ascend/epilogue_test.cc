// SPDX-License-Identifier: Apache-2.0
// Products whose sums are changed before they are stored, in the NPU's memory: which operations do it, and each rounding.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "ascend/support/problem.h"
#include "base/half.h"
#include "ops/linear.h"

namespace heed {
namespace {

// Rows of two inputs and a weight of one output, so that the sums are 2 and 5, or the same with the sign of the weight.
class Product {
 public:
  Product(const std::shared_ptr<Context>& context, DType dtype, float sign = 1.0f)
      : input_(tensor_of(context, dtype, {2, 2}, {1, 2, 3, 4})),
        weight_(tensor_of(context, dtype, {1, 2}, {sign, 0.5f * sign})),
        output(Tensor::zeros(context, dtype, {2, 1})),
        context_(context) {
    problem.batch = 1;
    problem.rows = problem.input_size = 2;
    set(problem.input, input_, 2);
    part().output_size = part().head_size = 1;
    set(part().weight, weight_, 2);
    set(part().output, output, 1);
  }

  LinearPart& part() { return problem.parts[0]; }
  // Computes the problem as the plan says.
  std::vector<float> run() { return heed::run(context_, problem.op, output); }
  Plan plan() const { return context_->plan(problem.op); }

 private:
  Tensor input_;
  Tensor weight_;

 public:
  Tensor output;
  LinearProblem problem;

 private:
  std::shared_ptr<Context> context_;
};

// Rounds as the dtype does.
float rounded(DType dtype, double value) {
  const auto number = static_cast<float>(value);
  return dtype == DType::F16 ? widen(narrow_to_half(number)) : widen(narrow_to_bfloat16(number));
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::None: break;
    case Activation::Relu: return x < 0 ? 0 : x;
    case Activation::Gelu: return x * 0.5 * std::erfc(-x * std::sqrt(0.5));
    case Activation::GeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
    case Activation::GeluQuick: return x / (1 + std::exp(-1.702 * x));
    case Activation::Silu: return x / (1 + std::exp(-x));
  }
  return x;
}

constexpr DType kDTypes[] = {DType::F16, DType::BF16};

TEST(Epilogue, EachActivationIsAnOperationOfATB) {
  const auto context = Context::open(simulated_npu());
  for (const DType dtype : kDTypes) {
    for (const ActivationRow& listed : kActivations) {
      const Activation activation = listed.activation;
      for (const float sign : {1.0f, -1.0f}) {
        Product product(context, dtype, sign);
        product.part().activation = activation;
        EXPECT_EQ(product.plan().on_host, 0);
        EXPECT_STREQ(product.plan().kernel, "ATB Linear and Activation");
        const std::vector<float> found = product.run();
        // One rounding. GELU is the product with a sum that cancels where x is negative.
        const double roundoff = dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
        for (const auto& [index, sum] : {std::pair{0, 2.0}, std::pair{1, 5.0}}) {
          const double expected = activated(activation, sum * sign);
          EXPECT_NEAR(found[static_cast<size_t>(index)], expected, std::fabs(expected) * roundoff + sum * 0x1p-22)
              << "activation " << static_cast<int>(activation) << " in " << name_of(dtype);
        }
      }
    }
  }
}

// output = activation(sum * scale) * factor + addend, with a rounding after each.
TEST(Epilogue, StepsComeInTheirOrder) {
  const auto context = Context::open(simulated_npu());
  for (const DType dtype : kDTypes) {
    Product product(context, dtype, -1.0f);
    const Tensor factor = tensor_of(context, dtype, {2, 1}, {3, -7});
    const Tensor addend = tensor_of(context, dtype, {2, 1}, {100, 1000});
    product.part().scale = 0.25f;
    product.part().activation = Activation::Silu;
    set(product.part().factor, factor, 1);
    set(product.part().addend, addend, 1);
    EXPECT_STREQ(product.plan().kernel, "ATB Linear, Activation and Elewise");
    const auto expected = [&](double sum, double times, double plus) {
      const double silu = rounded(dtype, activated(Activation::Silu, rounded(dtype, sum * 0.25)));
      return rounded(dtype, rounded(dtype, silu * times) + plus);
    };
    EXPECT_EQ(product.run(), (std::vector<float>{expected(-2, 3, 100), expected(-5, -7, 1000)}));
  }
}

TEST(Epilogue, FactorAndAddendMayBeTheOutput) {
  const auto context = Context::open(simulated_npu());
  for (const bool with_activation : {false, true}) {
    Product product(context, DType::F16);
    product.output = tensor_of(context, DType::F16, {2, 1}, {10, 20});
    set(product.part().output, product.output, 1);
    product.part().factor = product.part().output;
    if (with_activation) product.part().activation = Activation::Relu;
    EXPECT_EQ(product.run(), (std::vector<float>{20, 100}));
    product.part().factor = {};
    product.part().addend = product.part().output;
    EXPECT_EQ(product.run(), (std::vector<float>{22, 105}));
  }
}

// A factor and an addend of other strides and dtypes than the output.
TEST(Epilogue, OperandsMayBeStridedAndOfOtherDTypes) {
  const auto context = Context::open(simulated_npu());
  Product product(context, DType::F16);
  const Tensor wide = tensor_of(context, DType::F32, {2, 3}, {10, 0, 0, 20, 0, 0});
  const Tensor output = Tensor::zeros(context, DType::F32, {2, 1});
  set(product.part().output, output, 1);
  set(product.part().addend, wide, 3);
  product.output = output;
  EXPECT_EQ(product.run(), (std::vector<float>{12, 25}));
}

TEST(Epilogue, RowsThatAreNoQueriesAreZeroWithTheAddend) {
  const auto context = Context::open(simulated_npu());
  Product product(context, DType::F16);
  const Tensor addend = tensor_of(context, DType::F16, {2, 1}, {10, 20});
  set(product.part().addend, addend, 1);
  product.problem.limits = unlimited(2, 2);
  product.problem.limits.sequence.query_count = 1;
  product.part().wanted_rows = WantedRows::Queries;
  product.part().zeroes_unwanted = 1;
  EXPECT_EQ(product.run(), (std::vector<float>{12, 0}));
}

TEST(Epilogue, ThatATBCannotComputeIsComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  for (const bool caps : {false, true}) {
    Product product(context, DType::BF16);
    product.part().scale = caps ? 1.0f : 0.003f;
    product.part().soft_cap = caps ? 4.0f : 0.0f;
    const Plan plan = product.plan();
    EXPECT_EQ(plan.on_host, 1);
    EXPECT_STREQ(plan.not_fastest[0], caps ? "the device has no soft cap of a product"
                                           : "ATB's Elewise cannot tell factors below 1/256 apart");
    const auto expected = [&](double sum) {
      return rounded(DType::BF16, caps ? 4 * std::tanh(sum / 4) : 0.003f * sum);
    };
    EXPECT_EQ(product.run(), (std::vector<float>{expected(2), expected(5)}));
  }
}

TEST(Epilogue, WhoseSumsAreStoredIsComputedOnTheHost) {
  const auto context = Context::open(simulated_npu());
  Product product(context, DType::BF16);
  const Tensor sums = Tensor::zeros(context, DType::F32, {2, 1});
  product.part().scale = 2;
  set(product.part().sum, sums, 1);
  const Plan plan = product.plan();
  EXPECT_EQ(plan.on_host, 1);
  EXPECT_STREQ(plan.not_fastest[0], "ATB's epilogues do not keep the sums before them");
  EXPECT_EQ(product.run(), (std::vector<float>{4, 10}));
  EXPECT_EQ(numbers_of(sums), (std::vector<float>{2, 5}));
}

}  // namespace
}  // namespace heed
