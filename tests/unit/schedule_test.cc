// SPDX-License-Identifier: Apache-2.0
#include "layers/schedule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"
#include "ops/linear.h"

namespace heed {
namespace {

// y = x * 2 and z = y * 3, where y is an array in the workspace.
TEST(Schedule, RunsInAWorkspaceOfAnyAlignmentAndStaysInside) {
  const auto context = Context::open({});
  const float x[] = {1, 2};
  const float two = 2;
  const float three = 3;
  for (size_t shift = 0; shift < 64; ++shift) {
    float z[2] = {};
    CallArena arena(*context);
    Schedule schedule(arena);
    Intermediate& y = schedule.reserve(DType::F32, {2});
    const auto set = [](LinearProblem& linear, const float* weight) {
      linear.batch = 1;
      linear.rows = 2;
      LinearPart& part = linear.parts[0];
      linear.input_size = part.output_size = part.head_size = 1;
      part.weight.data = const_cast<float*>(weight);
      linear.input.strides[2] = part.output.strides[2] = 1;
    };
    LinearProblem& first = schedule.add<LinearProblem>("first");
    set(first, &two);
    first.input.data = const_cast<float*>(x);
    schedule.set_operand(first.parts[0].output, y, {-1, -1, 0, -1});
    LinearProblem& second = schedule.add<LinearProblem>("second");
    set(second, &three);
    schedule.set_operand(second.input, y, {-1, -1, 0, -1});
    second.parts[0].output.data = z;
    schedule.plan(*context);

    const size_t needed = schedule.workspace_bytes();
    constexpr std::byte kGuard{0xa5};
    std::vector<std::byte> memory(needed + 128, kGuard);
    schedule.run(*context, memory.data() + shift);
    EXPECT_EQ(z[0], 6);
    EXPECT_EQ(z[1], 12);
    for (size_t i = 0; i < memory.size(); ++i) {
      if (i >= shift && i < shift + needed) continue;
      ASSERT_EQ(memory[i], kGuard) << "byte " << i << " at shift " << shift;
    }
  }
}

// y[i][j] = x[i][j] * 2, one run for each i, with x transposed in memory.
TEST(Schedule, RunsALinearProblemForEachIndexOfItsOuterAxes) {
  const auto context = Context::open({});
  const float x[] = {1, 3, 5, 2, 4, 6};
  const float two = 2;
  float y[6] = {};
  CallArena arena(*context);
  Schedule schedule(arena);
  CommonAxes outer_axes;
  outer_axes.append({3, 1, 2});
  LinearProblem& linear = schedule.add_linear("linear", outer_axes);
  linear.batch = 1;
  linear.rows = 2;
  LinearPart& part = linear.parts[0];
  linear.input_size = part.output_size = part.head_size = 1;
  const auto operand = [](const float* data, int64_t stride) {
    Operand result;
    result.data = const_cast<float*>(data);
    result.given = 1;
    result.strides[2] = stride;
    return result;
  };
  part.weight = operand(&two, 0);
  linear.input = operand(x, 3);
  part.output = operand(y, 1);
  schedule.plan(*context);
  std::vector<std::byte> memory(schedule.workspace_bytes());
  schedule.run(*context, memory.data());
  EXPECT_EQ(std::vector<float>(y, y + 6), (std::vector<float>{2, 4, 6, 8, 10, 12}));

  const Cost cost = (*schedule.begin()).cost();
  EXPECT_EQ(cost.flops, 12);
  EXPECT_EQ(cost.bytes, (6 + 1 + 6) * sizeof(float));
  EXPECT_EQ((*schedule.begin()).num_runs(), 3);
}

TEST(Schedule, CountsAnInputThatOuterAxesRepeatOnce) {
  CommonAxes outer_axes;
  outer_axes.append({3, 0, 8});
  outer_axes.append({5, 2, 40});
  const auto context = Context::open({});
  CallArena arena(*context);
  Schedule schedule(arena);
  LinearProblem& linear = schedule.add_linear("project", outer_axes);
  linear.batch = 1;
  linear.rows = 2;
  linear.input_size = linear.parts[0].output_size = linear.parts[0].head_size = 1;
  for (Operand* operand : {&linear.input, &linear.parts[0].output}) {
    operand->given = 1;
    operand->strides[2] = 1;
  }
  // Two rows for each of 15 runs, which read 5 different inputs.
  EXPECT_EQ((*schedule.begin()).cost().flops, 2 * 30);
  EXPECT_EQ((*schedule.begin()).cost().bytes, (2 * 5 + 2 * 15) * sizeof(float));
}

// A chain of 200 steps, each x * 1 + 1: more than the arena's inline memory holds.
TEST(Schedule, HasAnyNumberOfSteps) {
  constexpr int kSteps = 200;
  const auto context = Context::open({});
  const float one = 1;
  const float x = 0;
  float result = 0;
  CallArena arena(*context);
  Schedule schedule(arena);
  Value before;
  for (int i = 0; i < kSteps; ++i) {
    LinearProblem& linear = schedule.add<LinearProblem>("step");
    linear.batch = linear.rows = linear.input_size = 1;
    LinearPart& part = linear.parts[0];
    part.output_size = part.head_size = 1;
    part.weight.data = part.bias.data = const_cast<float*>(&one);
    part.weight.given = part.bias.given = 1;
    if (i == 0) {
      linear.input.data = const_cast<float*>(&x);
      linear.input.given = 1;
    } else {
      schedule.set_operand(linear.input, before, {-1, -1, 0, -1});
    }
    if (i == kSteps - 1) {
      part.output.data = &result;
      part.output.given = 1;
    } else {
      before = schedule.reserve(DType::F32, {1});
      schedule.set_operand(part.output, before, {-1, -1, 0, -1});
    }
  }
  schedule.plan(*context);
  int num_steps = 0;
  for (const Step& step : schedule) {
    EXPECT_STREQ(step.operation, "step");
    ++num_steps;
  }
  EXPECT_EQ(num_steps, kSteps);
  std::vector<std::byte> memory(schedule.workspace_bytes());
  schedule.run(*context, memory.data());
  EXPECT_EQ(result, kSteps);
}

TEST(Schedule, RefusesArraysWhoseSizesOverflow) {
  const auto context = Context::open({});
  CallArena arena(*context);
  Schedule schedule(arena);
  try {
    schedule.reserve(DType::F32, {std::numeric_limits<int64_t>::max() / 2});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::InvalidArgument);
  }
}

}  // namespace
}  // namespace heed
