// SPDX-License-Identifier: Apache-2.0
// Linear operations in which not all rows are wanted, on every ISA: wanted rows have the same bits as if all rows were
// computed, other rows are not written, and the work is split by the wanted rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "available_isas.h"
#include "backends/cpu/linear.h"
#include "backends/cpu/operations.h"
#include "base/memory.h"
#include "ops/linear.h"
#include "ops/sequence.h"
#include "ops/visible_keys.h"
#include "support/guarded_memory.h"
#include "turns.h"

namespace heed::cpu {
namespace {

struct Sizes {
  int64_t batch = 1;
  int64_t rows = 1;
  int64_t input_size = 1;
  int64_t num_queries = 1;
};

// Three parts of one f32 input, as in self-attention; the rows of each head are contiguous.
struct Projections {
  Projections(const KernelTable& table, const Sizes& sizes, uint32_t seed, bool packs) : kernels(table) {
    problem.batch = sizes.batch;
    problem.rows = sizes.rows;
    problem.input_size = sizes.input_size;
    problem.num_parts = 3;
    problem.limits = unlimited(sizes.num_queries, sizes.rows);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](std::vector<float>& array, int64_t size) {
      array.resize(static_cast<size_t>(size));
      for (float& element : array) element = uniform(random);
    };
    fill(input, sizes.batch * sizes.rows * sizes.input_size);
    place(problem.input, input.data(), {0, sizes.rows * sizes.input_size, sizes.input_size, 1});
    constexpr int64_t kHeads[] = {3, 2, 1};
    constexpr int64_t kHeadSizes[] = {9, 16, 40};
    for (size_t i = 0; i < 3; ++i) {
      LinearPart& part = problem.parts[i];
      part.head_size = kHeadSizes[i];
      part.output_size = kHeads[i] * kHeadSizes[i];
      fill(weights[i], part.output_size * sizes.input_size);
      place(part.weight, weights[i].data(), {0, 0, sizes.input_size, 1});
      fill(biases[i], part.output_size);
      place(part.bias, biases[i].data(), {0, 0, 0, 1});
      outputs[i].assign(static_cast<size_t>(sizes.batch * sizes.rows * part.output_size), kUntouched);
      place(part.output, outputs[i].data(),
            {sizes.rows * part.head_size, sizes.rows * part.output_size, part.head_size, 1});
      if (!packs) continue;
      packed[i].resize(packed_linear_bytes(kernels, part, sizes.input_size) / sizeof(float));
      pack_linear(kernels, part, sizes.input_size, {0, part.output_size, 0, sizes.input_size}, packed[i].data());
      part.packed = packed[i].data();
      part.is_packed = 1;
    }
  }
  Projections(const Projections&) = delete;
  Projections& operator=(const Projections&) = delete;

  void set_lengths(const std::vector<int64_t>& given, bool of_queries) {
    lens = given;
    Operand& operand = problem.limits.valid_lens;
    operand.data = lens.data();
    operand.dtype = DType::I64;
    operand.given = 1;
    operand.strides[0] = of_queries ? problem.limits.num_queries : 1;
    operand.strides[2] = of_queries ? 1 : 0;
  }

  void run(int32_t num_workers) {
    Turns turns(num_workers);
    Failure failure;
    const Plan plan = plan_problem(kernels, problem, num_workers);
    GuardedMemory scratch(plan.scratch_bytes);
    run_problem(kernels, problem, plan, Workers(turns, &failure), scratch.data());
    EXPECT_TRUE(scratch.is_intact());
  }

  static void place(Operand& operand, float* data, const std::array<int64_t, kOperandRank>& strides) {
    operand.data = data;
    operand.given = 1;
    std::ranges::copy(strides, operand.strides);
  }

  static constexpr float kUntouched = 12345.0f;

  const KernelTable& kernels;
  LinearProblem problem;
  std::vector<float> input;
  std::array<std::vector<float>, 3> weights;
  std::array<std::vector<float>, 3> biases;
  std::array<std::vector<float>, 3> packed;
  std::array<std::vector<float>, 3> outputs;
  std::vector<int64_t> lens;
};

class WantedRowsOfALinearOperation : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, WantedRowsOfALinearOperation, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(WantedRowsOfALinearOperation, HaveTheBitsThatTheyHaveAmongAllRows) {
  std::mt19937 random(77);
  const auto pick = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  constexpr WantedRows kAnswers[] = {WantedRows::All, WantedRows::Visible, WantedRows::VisibleOrMean};
  for (int i = 0; i < 300; ++i) {
    const Sizes sizes = {.batch = pick(1, 6),
                         .rows = pick(0, 3) == 0 ? pick(1, 3) : pick(1, 40),
                         .input_size = pick(0, 30) == 0 ? 1100 : pick(1, 40),
                         .num_queries = pick(0, 5)};
    Projections wanted(kernels(), sizes, static_cast<uint32_t>(i), pick(0, 1) == 0);
    if (pick(0, 3) == 0) {
      wanted.problem.limits.sequence.band_first = pick(-sizes.num_queries, sizes.rows);
      wanted.problem.limits.sequence.band_last = pick(wanted.problem.limits.sequence.band_first, sizes.rows);
    }
    const bool of_queries = pick(0, 1) == 0;
    if (pick(0, 5) != 0) {
      std::vector<int64_t> lens(static_cast<size_t>(sizes.batch * (of_queries ? sizes.num_queries : 1)));
      for (int64_t& length : lens) length = pick(0, 2) == 0 ? pick(0, 2) % (sizes.rows + 1) : pick(0, sizes.rows);
      wanted.set_lengths(lens, of_queries);
    }
    LinearProblem& problem = wanted.problem;
    wanted.run(static_cast<int32_t>(pick(1, 4)));
    const std::array<std::vector<float>, 3> all = wanted.outputs;
    for (LinearPart& part : problem.parts) part.wanted_rows = kAnswers[pick(0, 2)];
    for (auto& output : wanted.outputs) std::ranges::fill(output, Projections::kUntouched);
    // Rows that no part wants are not read.
    for (int64_t s = 0; s < sizes.batch; ++s) {
      for (int64_t r = 0; r < sizes.rows; ++r) {
        bool is_wanted = false;
        for (const LinearPart& part : problem.parts) {
          const KeyRange rows = wanted_rows(problem.limits, part.wanted_rows, s);
          is_wanted = is_wanted || (r >= rows.first && r < rows.end);
        }
        if (!is_wanted) {
          std::fill_n(wanted.input.data() + (s * sizes.rows + r) * sizes.input_size, sizes.input_size,
                      std::numeric_limits<float>::quiet_NaN());
        }
      }
    }
    wanted.run(static_cast<int32_t>(pick(1, 4)));
    for (size_t p = 0; p < 3; ++p) {
      const LinearPart& part = problem.parts[p];
      for (int64_t place = 0; place < static_cast<int64_t>(all[p].size()); ++place) {
        const int64_t s = place / (sizes.rows * part.output_size);
        const int64_t r = place / part.head_size % sizes.rows;
        const KeyRange rows = wanted_rows(problem.limits, part.wanted_rows, s);
        const float expected =
            r >= rows.first && r < rows.end ? all[p][static_cast<size_t>(place)] : Projections::kUntouched;
        ASSERT_EQ(std::memcmp(&wanted.outputs[p][static_cast<size_t>(place)], &expected, sizeof expected), 0)
            << "case " << i << ", part " << p << ", element " << s << ", row " << r;
      }
    }
  }
}

// One long sequence among short ones is split into tasks for all threads. Short sequences in arrays with a large
// capacity give few tasks.
TEST_P(WantedRowsOfALinearOperation, AreWhatIsCutIntoItems) {
  constexpr int32_t kWorkers = 4;
  const Sizes sizes = {.batch = 32, .rows = 8192, .input_size = 8, .num_queries = 1};
  Projections projections(kernels(), {.batch = 32, .rows = 1, .input_size = 8, .num_queries = 1}, 1, false);
  LinearProblem& problem = projections.problem;
  problem.rows = sizes.rows;
  problem.limits = unlimited(sizes.num_queries, sizes.rows);
  for (LinearPart& part : problem.parts) part.wanted_rows = WantedRows::Visible;
  const auto items_of_batch = [&] { return plan_problem(kernels(), problem, kWorkers).num_tasks; };
  const int64_t of_all = items_of_batch();

  std::vector<int64_t> lens(32, 1);
  projections.set_lengths(lens, false);
  EXPECT_LT(items_of_batch(), of_all / 10);
  lens[7] = sizes.rows;
  projections.set_lengths(lens, false);
  const int64_t of_one = items_of_batch();
  EXPECT_GE(of_one, 4 * kWorkers);
  EXPECT_LT(of_one, of_all / 10);
  projections.set_lengths(std::vector<int64_t>(32, sizes.rows), false);
  EXPECT_EQ(items_of_batch(), of_all);
  projections.set_lengths(std::vector<int64_t>(32, 0), false);
  EXPECT_EQ(items_of_batch(), 0);
}

// As in all plans, lengths affect only the number of tasks and threads. Several parts together take no more scratch
// memory than one of them.
TEST_P(WantedRowsOfALinearOperation, TakeScratchThatDependsOnSizesAlone) {
  Projections projections(kernels(), {.batch = 5, .rows = 30, .input_size = 1100, .num_queries = 2}, 1, true);
  LinearProblem& problem = projections.problem;
  // The largest part wants all rows.
  problem.parts[0].wanted_rows = WantedRows::Visible;
  problem.parts[1].wanted_rows = WantedRows::VisibleOrMean;
  const Plan without = plan_problem(kernels(), problem, 3);
  projections.set_lengths({0, 1, 2, 3, 30}, false);
  EXPECT_EQ(plan_problem(kernels(), problem, 3).scratch_bytes, without.scratch_bytes);
  size_t largest = 0;
  for (const LinearPart& part : problem.parts) {
    LinearProblem alone = problem;
    alone.num_parts = 1;
    alone.parts[0] = part;
    largest = std::max(largest, plan_problem(kernels(), alone, 3).scratch_bytes);
  }
  EXPECT_EQ(without.scratch_bytes, largest);
  size_t last = 0;
  projections.problem.limits.valid_lens.data = nullptr;
  for (problem.batch = 0; problem.batch < 100; ++problem.batch) {
    const size_t bytes = plan_problem(kernels(), problem, 3).scratch_bytes;
    EXPECT_GE(bytes, last);
    last = bytes;
  }
  problem.batch = int64_t{1} << 62;
  EXPECT_GT(plan_problem(kernels(), problem, 3).scratch_bytes, last);
}

}  // namespace
}  // namespace heed::cpu
