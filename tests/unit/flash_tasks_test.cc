// SPDX-License-Identifier: Apache-2.0
// How flash attention is split into tasks, and the order in which they are handed out. A kernel that only records its
// arguments shows both.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "available_isas.h"
#include "backends/cpu/operations.h"
#include "base/rounding.h"
#include "ops/attention.h"
#include "turns.h"

namespace heed::cpu {
namespace {

std::vector<AttentionTask> handed_out;

void write_down(const AttentionArguments*, const AttentionTask* task, void*) { handed_out.push_back(*task); }

class FlashTasks : public testing::TestWithParam<Isa> {
 protected:
  FlashTasks() : kernels_(*GetParam().kernels) { kernels_.flash_attention = write_down; }

  int64_t panel_rows() const { return kernels_.flash_tile_rows; }

  // The tasks in the order in which they are handed out.
  std::vector<AttentionTask> run(const AttentionProblem& problem, int32_t num_workers) const {
    Turns turns(num_workers);
    Failure failure;
    const Workers workers(turns, &failure);
    const Plan plan = plan_problem(kernels_, problem, num_workers);
    std::vector<std::max_align_t> scratch(plan.scratch_bytes / sizeof(std::max_align_t) + 1);
    handed_out.clear();
    run_problem(kernels_, problem, plan, workers, scratch.data());
    // Turns runs the last task first, a single worker the first task first.
    if (num_workers > 1) std::ranges::reverse(handed_out);
    return handed_out;
  }

 private:
  KernelTable kernels_;
};

INSTANTIATE_TEST_SUITE_P(Isas, FlashTasks, testing::ValuesIn(available_isas()), name_of_isa);

// Large enough for all workers; every query sees every key.
AttentionProblem problem_of(int64_t batch, int64_t num_heads, int64_t num_kv_heads, int64_t num_queries) {
  AttentionProblem problem;
  problem.batch = batch;
  problem.num_heads = num_heads;
  problem.num_kv_heads = num_kv_heads;
  problem.limits = unlimited(num_queries, 1000);
  problem.head_size = problem.value_head_size = 64;
  for (Operand* operand : {&problem.queries, &problem.keys, &problem.values, &problem.output}) operand->given = 1;
  return problem;
}

// One length for each batch element.
void set_lengths(AttentionProblem& problem, const int64_t* lengths) {
  problem.limits.valid_lens.given = 1;
  problem.limits.valid_lens.data = const_cast<int64_t*>(lengths);
  problem.limits.valid_lens.dtype = DType::I64;
  problem.limits.valid_lens.strides[0] = 1;
}

// In memory order.
std::vector<AttentionTask> sorted(std::vector<AttentionTask> tasks) {
  std::ranges::sort(
      tasks, {}, [](const AttentionTask& task) { return std::tuple(task.batch_index, task.kv_head, task.first_row); });
  return tasks;
}

int64_t rows_of(const AttentionTask& task) { return task.end_row - task.first_row; }

bool is_same(const AttentionTask& a, const AttentionTask& b) {
  return a.batch_index == b.batch_index && a.kv_head == b.kv_head && a.first_row == b.first_row;
}

// Splits the tasks, in memory order, into one range of neighbours for each worker, and takes one task of each range in
// turn. The remainder comes last.
std::vector<AttentionTask> spread_over(int32_t num_workers, const std::vector<AttentionTask>& tasks) {
  const size_t workers = static_cast<size_t>(num_workers);
  const size_t share = tasks.size() / workers;
  std::vector<AttentionTask> spread;
  for (size_t i = 0; i < share; ++i) {
    for (size_t worker = 0; worker < workers; ++worker) spread.push_back(tasks[worker * share + i]);
  }
  spread.insert(spread.end(), tasks.begin() + static_cast<std::ptrdiff_t>(share * workers), tasks.end());
  return spread;
}

TEST_P(FlashTasks, HoldEveryRowOnceAndAreEnoughForTheWorkers) {
  constexpr int64_t kMaxRows = 256;
  for (const int64_t num_queries : {17, 100, 256, 257, 1500}) {
    for (const int64_t num_kv_heads : {1, 2, 6}) {
      for (const int32_t num_workers : {1, 2, 3, 16}) {
        SCOPED_TRACE(testing::Message() << num_queries << " queries, " << num_kv_heads << " heads of keys, "
                                        << num_workers << " workers");
        const int64_t num_rows = 2 * num_queries;
        const AttentionProblem problem = problem_of(3, 2 * num_kv_heads, num_kv_heads, num_queries);
        const std::vector<AttentionTask> tasks = sorted(run(problem, num_workers));
        size_t i = 0;
        for (int64_t b = 0; b < 3; ++b) {
          for (int64_t head = 0; head < num_kv_heads; ++head) {
            for (int64_t row = 0; row < num_rows; row = tasks[i++].end_row) {
              ASSERT_LT(i, tasks.size());
              EXPECT_TRUE(is_same(tasks[i], {b, head, row, 0, nullptr, nullptr}));
              EXPECT_LE(rows_of(tasks[i]), kMaxRows);
              if (tasks[i].end_row != num_rows) {
                EXPECT_EQ(rows_of(tasks[i]) % panel_rows(), 0);
              }
            }
          }
        }
        EXPECT_EQ(i, tasks.size());

        const int64_t num_heads = 3 * num_kv_heads;
        const auto count = static_cast<int64_t>(tasks.size());
        const int64_t fewest = num_heads * divide_up(num_rows, kMaxRows);
        // With one worker there is no load to balance, so tasks have their largest size.
        if (num_workers == 1) {
          EXPECT_EQ(count, fewest);
          continue;
        }
        const int64_t enough = int64_t{4} * num_workers;
        EXPECT_GE(count, std::min(enough, num_heads * divide_up(num_rows, panel_rows())));
        // Tasks are no smaller than necessary: with twice the rows there would be too few.
        if (count > fewest) {
          EXPECT_LT(num_heads * divide_up(num_rows, 2 * rows_of(tasks[0])), enough);
        }
      }
    }
  }
}

TEST_P(FlashTasks, OfOneCostGoToAWorkerAsNeighbours) {
  // Each head is a whole task, and the workers do not divide the number of tasks.
  for (const auto& [batch, num_workers] : std::vector<std::pair<int64_t, int32_t>>{{5, 2}, {5, 3}, {7, 4}, {23, 3}}) {
    const std::vector<AttentionTask> tasks = run(problem_of(batch, 2, 2, 256), num_workers);
    EXPECT_TRUE(std::ranges::equal(tasks, spread_over(num_workers, sorted(tasks)), is_same))
        << "batch " << batch << ", " << num_workers << " workers";
  }
}

TEST_P(FlashTasks, OfMostKeysComeFirst) {
  constexpr int64_t kNumQueries = 512;
  const int64_t lengths[] = {10, 1000, 0, 333, 700};
  // No limits, a causal mask, and a causal mask with a window.
  for (const auto& [band_first, band_last] : {std::pair{-kNumQueries, int64_t{1000}}, {-kNumQueries, 0}, {-200, 0}}) {
    for (const bool has_lengths : {false, true}) {
      AttentionProblem problem = problem_of(5, 2, 2, kNumQueries);
      problem.limits.sequence.band_first = band_first;
      problem.limits.sequence.band_last = band_last;
      if (has_lengths) set_lengths(problem, lengths);
      const auto cost = [&, first = band_first, last = band_last](const AttentionTask& task) {
        const auto keys = [&](int64_t row) {
          const int64_t length = has_lengths ? lengths[task.batch_index] : problem.limits.num_keys;
          int64_t count = 0;
          for (int64_t k = 0; k < length; ++k) count += k >= row + first && k <= row + last;
          return count;
        };
        return (keys(task.first_row) + keys(task.end_row - 1)) * rows_of(task);
      };
      const std::vector<AttentionTask> tasks = run(problem, 3);
      // Tasks of equal cost stay in the order of spread_over.
      std::vector<AttentionTask> expected = spread_over(3, sorted(tasks));
      std::ranges::stable_sort(expected, std::greater<>(), cost);
      EXPECT_TRUE(std::ranges::equal(tasks, expected, is_same))
          << "band from " << band_first << " to " << band_last << (has_lengths ? ", with lengths" : "");
    }
  }
}

// Up to this number of tasks they are sorted by cost.
TEST_P(FlashTasks, AreOrderedUpTo2048) {
  for (const int64_t batch : {2048, 2049}) {
    std::vector<int64_t> lengths(static_cast<size_t>(batch));
    for (size_t b = 0; b < lengths.size(); ++b) lengths[b] = static_cast<int64_t>(b % 1000);
    AttentionProblem problem = problem_of(batch, 1, 1, 17);
    set_lengths(problem, lengths.data());
    const std::vector<AttentionTask> tasks = run(problem, 2);
    ASSERT_EQ(static_cast<int64_t>(tasks.size()), batch);
    const std::vector<AttentionTask> spread = spread_over(2, sorted(tasks));
    EXPECT_EQ(std::ranges::equal(tasks, spread, is_same), batch > 2048);
    const auto length = [&](const AttentionTask& task) { return lengths[static_cast<size_t>(task.batch_index)]; };
    EXPECT_EQ(std::ranges::is_sorted(tasks, std::greater<>(), length), batch <= 2048);
  }
}

}  // namespace
}  // namespace heed::cpu
