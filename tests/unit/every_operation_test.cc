// SPDX-License-Identifier: Apache-2.0
// What each operation of ops/registry.h has without a line of its own anywhere else: a number, a cost, a step of a schedule, a plan and a
// run on the CPU, and both for a device that does not compute it.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "backend_without_operations.h"
#include "backends/call_arena.h"
#include "backends/context.h"
#include "backends/cpu/cpu_backend.h"
#include "layers/schedule.h"
#include "ops/registry.h"

namespace heed {
namespace {

// A problem without elements, so that it can be run without data. Sizes that divide others are 1.
template <typename Problem>
Problem empty_problem() {
  Problem problem;
  if constexpr (requires { problem.sizes; }) {
    for (int64_t& size : problem.sizes) size = 0;
  }
  if constexpr (std::is_same_v<Problem, LinearProblem>) problem.parts[0].output_size = problem.parts[0].head_size = 1;
  if constexpr (std::is_same_v<Problem, ReduceProblem>) problem.num_reduced = 1;
  if constexpr (std::is_same_v<Problem, AttentionProblem>) problem.num_heads = problem.num_kv_heads = 1;
  if constexpr (std::is_same_v<Problem, AttentionBackwardProblem>)
    problem.forward.num_heads = problem.forward.num_kv_heads = 1;
  return problem;
}

void expect_named(const Plan& plan) {
  // What explain tells.
  EXPECT_STRNE(plan.kernel, "");
  EXPECT_STRNE(plan.isa, "");
}

template <typename Problem>
void expect_everything() {
  Problem problem = empty_problem<Problem>();
  const Problem& constant = problem;

  const void* visited = nullptr;
  visit_problem(problem.op, [&](auto& found) {
    EXPECT_TRUE((std::is_same_v<decltype(found), Problem&>));
    visited = &found;
  });
  EXPECT_EQ(visited, &problem);
  visit_problem(constant.op, [&](auto& found) { EXPECT_TRUE((std::is_same_v<decltype(found), const Problem&>)); });

  int num_operands = 0;
  visit_operands(problem, [&](auto& operand, const auto&, Access) {
    ++num_operands;
    operand.given = 1;
  });
  EXPECT_GT(num_operands, 0);
  int num_given = 0;
  visit_operands(constant, [&](const auto& operand, const auto&, Access) { num_given += operand.given; });
  EXPECT_EQ(num_given, num_operands);
  problem = empty_problem<Problem>();
  EXPECT_EQ(cost_of(problem.op).flops, cost_of(problem).flops);
  EXPECT_EQ(cost_of(problem.op).bytes, 0);

  const auto context = Context::open({});
  EXPECT_TRUE(context->backend().operations & bit_of(problem.op.kind));
  const Plan plan = context->plan(problem.op);
  expect_named(plan);
  EXPECT_EQ(plan.on_host, 0);
  const Context::PooledScratch scratch(*context, plan.scratch_bytes);
  EXPECT_NO_THROW(context->run(problem.op, plan, scratch.data()));

  const Backend backend = backend_without_operations();
  const auto device = Context::open({}, backend);
  const Plan on_host = device->plan(problem.op);
  expect_named(on_host);
  EXPECT_EQ(on_host.on_host, 1);
  EXPECT_STREQ(on_host.not_fastest[0], "the device does not have this operation");
  EXPECT_NO_THROW(device->run(problem.op, on_host, nullptr));

  CallArena arena(*context);
  Schedule schedule(arena);
  Problem& made = schedule.add<Problem>("made");
  schedule.add("given", problem);
  made.op = problem.op;
  std::string names;
  for (const Step& step : schedule) {
    EXPECT_EQ(step.op->kind, problem.op.kind);
    names += std::string(step.operation) + (step.op == &problem.op ? " the problem, " : " another, ");
  }
  EXPECT_EQ(names, "made another, given the problem, ");
}

#define HEED_TEST(name) \
  TEST(EveryOperation, name) { expect_everything<name##Problem>(); }
HEED_OPERATIONS(HEED_TEST)
#undef HEED_TEST

#define HEED_KIND(name) OpKind::name,
constexpr OpKind kKinds[] = {HEED_OPERATIONS(HEED_KIND)};
#undef HEED_KIND

TEST(Operations, HaveABitEach) {
  EXPECT_EQ(std::popcount(kAllOperations), static_cast<int>(std::size(kKinds)));
  EXPECT_EQ(cpu_backend().operations, kAllOperations);
}

// A plugin that was built before an operation was added knows the others by these numbers.
constexpr std::pair<OpKind, uint64_t> kBits[] = {
    {OpKind::Linear, 1u << 0},
    {OpKind::Attention, 1u << 1},
    {OpKind::Softmax, 1u << 2},
    {OpKind::Dropout, 1u << 3},
    {OpKind::Merge, 1u << 4},
    {OpKind::Rotations, 1u << 5},
    {OpKind::Positions, 1u << 6},
    {OpKind::Norm, 1u << 7},
    {OpKind::Embedding, 1u << 8},
    {OpKind::Activate, 1u << 9},
    {OpKind::Elementwise, 1u << 10},
    {OpKind::Reduce, 1u << 11},
    {OpKind::CumulativeSum, 1u << 12},
    {OpKind::Sort, 1u << 13},
    {OpKind::Gather, 1u << 14},
    {OpKind::Matmul, 1u << 15},
    {OpKind::Rotate, 1u << 16},
    {OpKind::WeightGradient, 1u << 17},
    {OpKind::AttentionBackward, 1u << 18},
    {OpKind::NormBackward, 1u << 19},
    {OpKind::ActivateBackward, 1u << 20},
    {OpKind::EmbeddingBackward, 1u << 21},
    {OpKind::HeadTransformBackward, 1u << 22},
    {OpKind::CrossEntropy, 1u << 23},
};
static_assert(std::size(kBits) == std::size(kKinds), "each operation has its number here");

TEST(Operations, KeepTheirNumbers) {
  for (const auto& [kind, bit] : kBits) EXPECT_EQ(bit_of(kind), bit);
}

}  // namespace
}  // namespace heed
