// SPDX-License-Identifier: Apache-2.0
// The scratch of attention on every ISA: the planned size never decreases when batch, queries or keys grow, so that a
// workspace for the largest call suffices for all others, whichever kernels they use; and no run accesses more than its
// plan states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "available_isas.h"
#include "backends/cpu/operations.h"
#include "base/memory.h"
#include "ops/attention.h"
#include "turns.h"

namespace heed::cpu {
namespace {

struct Sizes {
  int64_t batch = 1;
  int64_t num_queries = 1;
  int64_t num_keys = 1;
};

std::ostream& operator<<(std::ostream& out, const Sizes& sizes) {
  return out << "batch " << sizes.batch << ", " << sizes.num_queries << " queries, " << sizes.num_keys << " keys";
}

// The properties that are the same for all calls with one workspace.
struct Form {
  int64_t group = 1;  // query heads per key head
  Scoring scoring = Scoring::DotProduct;
  int32_t num_workers = 1;
};

constexpr int64_t kNumKvHeads = 2;
constexpr int64_t kHeadSize = 4;
constexpr int64_t kValueHeadSize = 5;

AttentionProblem problem_of(const Form& form, const Sizes& sizes) {
  AttentionProblem problem;
  problem.batch = sizes.batch;
  problem.num_heads = kNumKvHeads * form.group;
  problem.num_kv_heads = kNumKvHeads;
  problem.limits = unlimited(sizes.num_queries, sizes.num_keys);
  problem.head_size = kHeadSize;
  problem.value_head_size = kValueHeadSize;
  problem.scoring = form.scoring;
  for (Operand* operand : {&problem.queries, &problem.keys, &problem.values, &problem.output}) operand->given = 1;
  if (form.scoring == Scoring::Additive) problem.score_weights.given = 1;
  return problem;
}

class AttentionScratch : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }

  Plan plan(const Form& form, const Sizes& sizes) const {
    return plan_problem(kernels(), problem_of(form, sizes), form.num_workers);
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, AttentionScratch, testing::ValuesIn(available_isas()), name_of_isa);

// Groups below and above the number of lanes and the largest number of rows of decode_attention; keys below and above
// its smallest number, a key block, one chunk and the largest number of chunks.
TEST_P(AttentionScratch, NeverDecreases) {
  constexpr int64_t kBatches[] = {0, 1, 3, int64_t{1} << 40};
  constexpr int64_t kNumKeys[] = {0, 1, 31, 32, 33, 1023, 1025, 65536, 65537, 140000};
  constexpr int64_t kNumQueries = 41;
  std::set<std::string> kernel_names;
  for (const int64_t group : {1, 2, 5, 16, 17}) {
    for (const Scoring scoring : {Scoring::DotProduct, Scoring::Additive}) {
      for (const int32_t num_workers : {1, 3}) {
        const Form form = {group, scoring, num_workers};
        // The sizes with the previous batch, and with the previous number of keys.
        size_t of_batch_before[std::size(kNumKeys)][kNumQueries] = {};
        for (const int64_t batch : kBatches) {
          size_t of_keys_before[kNumQueries] = {};
          for (size_t k = 0; k < std::size(kNumKeys); ++k) {
            size_t of_query_before = 0;
            for (int64_t q = 0; q < kNumQueries; ++q) {
              const Sizes sizes = {batch, q, kNumKeys[k]};
              const Plan plan = this->plan(form, sizes);
              ASSERT_GE(plan.scratch_bytes, of_batch_before[k][q]) << sizes;
              ASSERT_GE(plan.scratch_bytes, of_keys_before[q]) << sizes;
              ASSERT_GE(plan.scratch_bytes, of_query_before) << sizes;
              of_batch_before[k][q] = of_keys_before[q] = of_query_before = plan.scratch_bytes;
              kernel_names.insert(plan.kernel);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(kernel_names, (std::set<std::string>{"decode_attention", "flash_attention", "flash_attention_additive"}));
}

// From any sizes, by any growth.
TEST_P(AttentionScratch, NeverDecreasesWithRandomGrowth) {
  std::mt19937_64 random(7301);
  const auto below = [&random](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  for (int i = 0; i < 20000; ++i) {
    constexpr int64_t kGroups[] = {1, 2, 4, 7, 16, 17};
    constexpr int32_t kNumWorkers[] = {1, 2, 16, 100};
    const Form form = {kGroups[below(6)], below(2) == 0 ? Scoring::DotProduct : Scoring::Additive,
                       kNumWorkers[below(4)]};
    // Sizes of all magnitudes.
    const auto size = [&] { return below(int64_t{1} << below(15)); };
    const Sizes sizes = {size(), size(), size()};
    const Sizes larger = {sizes.batch + below(2) * size(), sizes.num_queries + below(2) * size(),
                          sizes.num_keys + below(2) * size()};
    ASSERT_LE(plan(form, sizes).scratch_bytes, plan(form, larger).scratch_bytes)
        << sizes << "; " << larger << "; group " << form.group << ", " << form.num_workers << " workers";
  }
}

// The scratch depends on nothing but sizes.
TEST_P(AttentionScratch, IsTheSameForAnyStridesLengthsAndOutputs) {
  for (const int64_t num_keys : {4, 40, 1100}) {
    for (const int64_t num_queries : {1, 40}) {
      const Form form = {2, Scoring::DotProduct, 16};
      AttentionProblem problem = problem_of(form, {3, num_queries, num_keys});
      const size_t expected = plan_problem(kernels(), problem, 16).scratch_bytes;
      for (Operand* operand : {&problem.queries, &problem.keys, &problem.values, &problem.output}) {
        std::ranges::copy(std::vector<int64_t>{70000, 9000, 1, 1100}, operand->strides);
        EXPECT_EQ(plan_problem(kernels(), problem, 16).scratch_bytes, expected);
      }
      const int64_t lengths[] = {0, 1, num_keys};
      problem.limits.valid_lens = {
          .data = const_cast<int64_t*>(lengths), .strides = {1}, .dtype = DType::I64, .given = 1};
      problem.limits.sequence.band_last = 0;
      problem.weights.given = problem.log_sum_exp.given = problem.mask.given = problem.bias.given = 1;
      EXPECT_EQ(plan_problem(kernels(), problem, 16).scratch_bytes, expected);
      problem.output.given = 0;
      EXPECT_EQ(plan_problem(kernels(), problem, 16).scratch_bytes, expected);
    }
  }
}

TEST_P(AttentionScratch, IsSmallWhereTheProblemIs) {
  for (const int32_t num_workers : {1, 2, 16, 1024}) {
    for (const Scoring scoring : {Scoring::DotProduct, Scoring::Additive}) {
      const Form form = {1, scoring, num_workers};
      EXPECT_LE(plan(form, {2, 4, 4}).scratch_bytes, size_t{16} << 10);
      EXPECT_LE(plan(form, {2, 16, 31}).scratch_bytes, size_t{48} << 10);
    }
  }
}

// A call with all its inputs and outputs.
class Call {
 public:
  // Elements of a head are `step` apart; with a step above 1 the kernels gather them into scratch. With kTransposed a
  // head is stored column by column, so that its rows are adjacent.
  static constexpr int64_t kTransposed = 0;
  Call(const Form& form, const Sizes& sizes, int64_t step) : problem(problem_of(form, sizes)) {
    const int64_t num_heads = problem.num_heads;
    give(problem.queries, queries_, num_heads, sizes.num_queries, kHeadSize, step);
    give(problem.keys, keys_, kNumKvHeads, sizes.num_keys, kHeadSize, step);
    give(problem.values, values_, kNumKvHeads, sizes.num_keys, kValueHeadSize, step);
    give(problem.output, output, num_heads, sizes.num_queries, kValueHeadSize, step);
    give(problem.weights, weights, num_heads, sizes.num_queries, sizes.num_keys, 1);
    if (form.scoring == Scoring::Additive) {
      give(problem.score_weights, score_weights_, num_heads, 1, kHeadSize, step);
      problem.score_weights.strides[0] = problem.score_weights.strides[2] = 0;
    }
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  AttentionProblem problem;
  std::vector<float> output;
  std::vector<float> weights;

 private:
  void give(Operand& operand, std::vector<float>& data, int64_t num_heads, int64_t rows, int64_t size, int64_t step) {
    const int64_t of_head = rows * size * std::max<int64_t>(step, 1);
    data.resize(static_cast<size_t>(problem.batch * num_heads * of_head));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * 5 % 13) / 8 - 0.75F;
    operand.data = data.data();
    operand.given = 1;
    const bool is_transposed = step == kTransposed;
    std::ranges::copy(std::vector<int64_t>{num_heads * of_head, of_head, is_transposed ? 1 : size * step,
                                           is_transposed ? rows : step},
                      operand.strides);
  }

  std::vector<float> queries_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> score_weights_;
};

// The bytes after the scratch of the call must not change: up to the end of a larger call's scratch, and as many more
// as whole vectors could reach.
TEST_P(AttentionScratch, IsAllThatACallTouchesOfALargerOnes) {
  constexpr std::byte kUntouched{0x7a};
  constexpr size_t kBeyond = 4096;
  constexpr Sizes kLargest = {2, 40, 1100};
  constexpr Sizes kSmaller[] = {{1, 1, 1},    {1, 4, 4},    {2, 17, 3},  {2, 1, 31},  {1, 1, 32},
                                {2, 1, 1000}, {1, 8, 40},   {1, 1, 33},  {2, 17, 33}, {1, 33, 57},
                                {2, 20, 255}, {1, 19, 257}, {1, 1, 1025}};
  std::set<std::string> kernel_names;
  for (const int64_t group : {1, 2, 16, 17}) {
    for (const Scoring scoring : {Scoring::DotProduct, Scoring::Additive}) {
      for (const int32_t num_workers : {1, 3}) {
        const Form form = {group, scoring, num_workers};
        const size_t of_largest = plan(form, kLargest).scratch_bytes;
        std::vector<std::byte> memory(of_largest + kBeyond + kMemoryAlignment);
        const auto address = reinterpret_cast<uintptr_t>(memory.data());
        std::byte* scratch = memory.data() + (kMemoryAlignment - address % kMemoryAlignment) % kMemoryAlignment;
        Turns turns(num_workers);
        for (const Sizes& sizes : kSmaller) {
          for (const int64_t step : {int64_t{1}, int64_t{2}, Call::kTransposed}) {
            Call call(form, sizes, step);
            const Plan own = plan_problem(kernels(), call.problem, num_workers);
            ASSERT_LE(own.scratch_bytes, of_largest) << sizes;
            Failure failure;
            const Workers workers(turns, &failure);
            std::byte* end = scratch + of_largest + kBeyond;
            std::fill(scratch, end, kUntouched);
            run_problem(kernels(), call.problem, own, workers, scratch);
            EXPECT_TRUE(
                std::all_of(scratch + own.scratch_bytes, end, [](std::byte byte) { return byte == kUntouched; }))
                << own.kernel << ", " << sizes << ", " << num_workers << " workers, group " << group;
            // The previous contents of the scratch must not matter: bytes of 0xff are NaN.
            const std::vector<float> output = call.output;
            const std::vector<float> weights = call.weights;
            std::fill(scratch, end, std::byte{0xff});
            run_problem(kernels(), call.problem, own, workers, scratch);
            EXPECT_EQ(call.output, output) << own.kernel << ", " << sizes;
            EXPECT_EQ(call.weights, weights) << own.kernel << ", " << sizes;
            kernel_names.insert(own.kernel);
          }
        }
      }
    }
  }
  EXPECT_EQ(kernel_names.size(), 3u);
}

}  // namespace
}  // namespace heed::cpu
