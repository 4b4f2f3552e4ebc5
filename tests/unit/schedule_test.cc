// SPDX-License-Identifier: Apache-2.0
#include "layers/schedule.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "base/error.h"

namespace heed {
namespace {

// y = x * 2, z = y * 3, by way of an array in the workspace.
TEST(Schedule, RunsInAWorkspaceOfAnyAlignmentAndStaysInside) {
  const auto context = Context::open({});
  const float x[] = {1, 2};
  const float two = 2;
  const float three = 3;
  for (size_t shift = 0; shift < 64; ++shift) {
    float z[2] = {};
    Schedule schedule;
    const Intermediate y = schedule.reserve(2);
    const auto set = [](LinearProblem& linear, const float* weight) {
      linear.batch = 1;
      linear.rows = 2;
      linear.input_size = linear.output_size = 1;
      linear.weight.data = const_cast<float*>(weight);
      linear.input.strides[2] = linear.output.strides[2] = 1;
    };
    LinearProblem& first = schedule.add_linear("first");
    set(first, &two);
    first.input.data = const_cast<float*>(x);
    schedule.place(first.output, y);
    LinearProblem& second = schedule.add_linear("second");
    set(second, &three);
    schedule.place(second.input, y);
    second.output.data = z;
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

TEST(Schedule, RefusesArraysWhoseSizesOverflow) {
  Schedule schedule;
  try {
    schedule.reserve(std::numeric_limits<int64_t>::max() / 2);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status, Status::InvalidArgument);
  }
}

}  // namespace
}  // namespace heed
