// SPDX-License-Identifier: Apache-2.0
// Ragged batches on every ISA: batch elements with different numbers of queries and keys, packed one after the other
// along one axis. The results of each have the same bits as when it is computed alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "available_isas.h"
#include "backends/backend.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/operations.h"
#include "base/memory.h"
#include "ops/attention.h"
#include "turns.h"

namespace heed::cpu {
namespace {

struct Element {
  int64_t num_queries;
  int64_t num_keys;
  int64_t length;  // valid keys
};

enum class Band { Unlimited, Causal, Window };

Sequence sequence_of_element(const Element& element, Band band) {
  Sequence sequence = unlimited(element.num_queries, element.num_keys).sequence;
  const int64_t shift = element.num_keys - element.num_queries;
  if (band != Band::Unlimited) sequence.band_last = shift;
  if (band == Band::Window) sequence.band_first = std::max(-element.num_queries, shift - 40);
  return sequence;
}

constexpr int64_t kRaggedKvHeads = 2;
constexpr int64_t kRaggedHeadSize = 12;
constexpr int64_t kRaggedValueHeadSize = 9;
constexpr float kUnwritten = 7;

void set_operand(Operand& operand, std::vector<float>& data, int64_t first, int64_t batch_stride, int64_t head_stride,
                 int64_t row_stride) {
  operand.data = data.data() + first;
  operand.given = 1;
  std::ranges::copy(std::vector<int64_t>{batch_stride, head_stride, row_stride, row_stride == 1 ? 0 : 1},
                    operand.strides);
}

// Batch elements packed as (rows, heads, size), with weights (b, h, largest q, largest k), and the results of a call.
class Packed {
 public:
  Packed(const std::vector<Element>& elements, int64_t group, Band band)
      : num_heads_(kRaggedKvHeads * group), elements_(elements) {
    for (const Element& element : elements) {
      Sequence sequence = sequence_of_element(element, band);
      sequence.query_begin = num_query_rows_;
      sequence.key_begin = num_key_rows_;
      table.push_back(sequence);
      lens.push_back(element.length);
      num_query_rows_ += element.num_queries;
      num_key_rows_ += element.num_keys;
      largest_.num_queries = std::max(largest_.num_queries, element.num_queries);
      largest_.num_keys = std::max(largest_.num_keys, element.num_keys);
    }
    std::mt19937 random(11);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto fill = [&](std::vector<float>& data, int64_t count) {
      data.resize(static_cast<size_t>(count));
      for (float& value : data) value = uniform(random);
    };
    fill(queries_, num_query_rows_ * num_heads_ * kRaggedHeadSize);
    fill(keys_, num_key_rows_ * kRaggedKvHeads * kRaggedHeadSize);
    fill(values_, num_key_rows_ * kRaggedKvHeads * kRaggedValueHeadSize);
    const auto batch = static_cast<int64_t>(elements.size());
    fill(bias_, batch * largest_.num_queries * largest_.num_keys);
    fill(alibi_slopes_, num_heads_);
    output.resize(static_cast<size_t>(num_query_rows_ * num_heads_ * kRaggedValueHeadSize));
    log_sum_exp.resize(static_cast<size_t>(num_query_rows_ * num_heads_));
    weights.resize(static_cast<size_t>(batch * num_heads_ * largest_.num_queries * largest_.num_keys));
  }

  // The whole batch by its table.
  AttentionProblem all() {
    AttentionProblem problem = from_rows(0, 0, 0);
    problem.batch = static_cast<int64_t>(table.size());
    problem.is_packed = 1;
    problem.limits.num_queries = largest_.num_queries;
    problem.limits.num_keys = largest_.num_keys;
    problem.limits.table = table.data();
    problem.limits.has_table = 1;
    problem.limits.valid_lens = {.data = lens.data(), .strides = {1}, .dtype = DType::I64, .given = 1};
    return problem;
  }

  // One batch element as a uniform batch of one.
  AttentionProblem alone(size_t b, Band band) {
    AttentionProblem problem = from_rows(static_cast<int64_t>(b), table[b].query_begin, table[b].key_begin);
    problem.batch = 1;
    problem.limits = unlimited(elements_[b].num_queries, elements_[b].num_keys);
    problem.limits.sequence = sequence_of_element(elements_[b], band);
    problem.limits.valid_lens = {.data = &lens[b], .dtype = DType::I64, .given = 1};
    return problem;
  }

  void forget_results() {
    for (std::vector<float>* results : {&output, &log_sum_exp, &weights}) std::ranges::fill(*results, kUnwritten);
  }

  // Weights are padded to the most queries and keys: what is beyond an element's own is 0, whatever was there.
  void empty_weights_beyond_elements() {
    auto row = weights.begin();
    for (const Element& element : elements_) {
      for (int64_t i = 0; i < num_heads_ * largest_.num_queries; ++i, row += largest_.num_keys)
        std::fill(row + (i % largest_.num_queries < element.num_queries ? element.num_keys : 0),
                  row + largest_.num_keys, 0.0F);
    }
  }

  std::vector<Sequence> table;
  std::vector<int64_t> lens;
  std::vector<float> output;
  std::vector<float> log_sum_exp;
  std::vector<float> weights;

 private:
  AttentionProblem from_rows(int64_t b, int64_t query, int64_t key) {
    AttentionProblem problem;
    problem.num_heads = num_heads_;
    problem.num_kv_heads = kRaggedKvHeads;
    problem.head_size = kRaggedHeadSize;
    problem.value_head_size = kRaggedValueHeadSize;
    problem.scale = 0.7F;
    problem.empty_rows = EmptyRows::Mean;
    const int64_t key_row = kRaggedKvHeads * kRaggedHeadSize;
    const int64_t value_row = kRaggedKvHeads * kRaggedValueHeadSize;
    const int64_t pairs = largest_.num_queries * largest_.num_keys;
    set_operand(problem.queries, queries_, query * num_heads_ * kRaggedHeadSize, 0, kRaggedHeadSize,
                num_heads_ * kRaggedHeadSize);
    set_operand(problem.keys, keys_, key * key_row, 0, kRaggedHeadSize, key_row);
    set_operand(problem.values, values_, key * value_row, 0, kRaggedValueHeadSize, value_row);
    set_operand(problem.output, output, query * num_heads_ * kRaggedValueHeadSize, 0, kRaggedValueHeadSize,
                num_heads_ * kRaggedValueHeadSize);
    set_operand(problem.log_sum_exp, log_sum_exp, query * num_heads_, 0, 1, num_heads_);
    problem.log_sum_exp.strides[3] = 0;
    set_operand(problem.bias, bias_, b * pairs, pairs, 0, largest_.num_keys);
    set_operand(problem.weights, weights, b * num_heads_ * pairs, num_heads_ * pairs, pairs, largest_.num_keys);
    problem.alibi_slopes = {.data = alibi_slopes_.data(), .strides = {0, 1, 0, 0}, .given = 1};
    // With one key row and column would have the same stride.
    problem.bias.strides[3] = problem.weights.strides[3] = 1;
    return problem;
  }

  int64_t num_heads_;
  std::vector<Element> elements_;
  Element largest_{};
  int64_t num_query_rows_ = 0;
  int64_t num_key_rows_ = 0;
  std::vector<float> queries_;
  std::vector<float> keys_;
  std::vector<float> values_;
  std::vector<float> bias_;
  std::vector<float> alibi_slopes_;
};

std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::ranges::transform(values, bits.begin(), [](float value) { return std::bit_cast<uint32_t>(value); });
  return bits;
}

class RaggedAttention : public testing::TestWithParam<Isa> {
 protected:
  // Runs in scratch memory of exactly the planned size, and checks that the bytes after it do not change.
  void run(const AttentionProblem& problem, int32_t num_workers) const {
    constexpr size_t kGuard = 64;
    const KernelTable& kernels = *GetParam().kernels;
    const Plan plan = plan_problem(kernels, problem, num_workers);
    std::vector<std::byte> memory(plan.scratch_bytes + kMemoryAlignment + kGuard, std::byte{0xff});
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    std::byte* scratch = memory.data() + (kMemoryAlignment - address % kMemoryAlignment) % kMemoryAlignment;
    Turns turns(num_workers);
    Failure failure;
    run_problem(kernels, problem, plan, Workers(turns, &failure), scratch);
    const std::byte* end = scratch + plan.scratch_bytes;
    EXPECT_TRUE(std::all_of(end, end + kGuard, [](std::byte byte) { return byte == std::byte{0xff}; }));
  }

  void expect_as_alone(const std::vector<Element>& elements) const {
    for (const int64_t group : {1, 3}) {
      for (const Band band : {Band::Unlimited, Band::Causal, Band::Window}) {
        Packed packed(elements, group, band);
        packed.forget_results();
        for (size_t b = 0; b < elements.size(); ++b) run(packed.alone(b, band), 1);
        packed.empty_weights_beyond_elements();
        const auto output = bits_of(packed.output);
        const auto log_sum_exp = bits_of(packed.log_sum_exp);
        const auto weights = bits_of(packed.weights);
        for (const int32_t num_workers : {1, 3}) {
          packed.forget_results();
          run(packed.all(), num_workers);
          const auto where = testing::Message() << "group " << group << ", band " << static_cast<int>(band) << ", "
                                                << num_workers << " workers";
          EXPECT_EQ(bits_of(packed.output), output) << where;
          EXPECT_EQ(bits_of(packed.log_sum_exp), log_sum_exp) << where;
          EXPECT_EQ(bits_of(packed.weights), weights) << where;
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, RaggedAttention, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(RaggedAttention, OfManyQueriesHasTheBitsOfEachElementAlone) {
  expect_as_alone({{40, 300, 300}, {17, 33, 20}, {70, 70, 70}, {33, 257, 0}});
}

TEST_P(RaggedAttention, OfFewQueriesHasTheBitsOfEachElementAlone) {
  expect_as_alone({{1, 300, 300}, {4, 40, 33}, {2, 1100, 1100}, {1, 32, 0}});
}

// Keys of several chunks, which workers share.
TEST_P(RaggedAttention, OfLongSequencesHasTheBitsOfEachElementAlone) {
  expect_as_alone({{1, 2100, 2100}, {1, 1030, 1025}, {1, 40, 40}});
}

// Each batch element is computed by the kernel that suits it.
TEST_P(RaggedAttention, OfFewAndManyQueriesHasTheBitsOfEachElementAlone) {
  expect_as_alone({{1, 500, 500}, {50, 60, 60}, {3, 20, 20}, {2, 1100, 900}, {20, 35, 30}});
}

TEST_P(RaggedAttention, WithEmptyElementsHasTheBitsOfTheOthers) {
  expect_as_alone({{0, 30, 30}, {5, 0, 0}, {1, 100, 100}, {0, 0, 0}, {40, 50, 50}, {0, 0, 0}});
  expect_as_alone({{0, 40, 40}, {1, 0, 0}, {2, 64, 64}});
  expect_as_alone({{0, 0, 0}, {0, 0, 0}});
}

// A plan is made before the table of sequences exists.
TEST_P(RaggedAttention, IsPlannedWithoutItsTable) {
  Packed packed({{1, 500, 500}, {50, 60, 60}, {0, 0, 0}}, 2, Band::Causal);
  AttentionProblem problem = packed.all();
  const Plan with_table = plan_problem(*GetParam().kernels, problem, 3);
  problem.limits.table = nullptr;
  problem.limits.valid_lens.data = nullptr;
  const Plan without = plan_problem(*GetParam().kernels, problem, 3);
  EXPECT_EQ(without.scratch_bytes, with_table.scratch_bytes);
  EXPECT_STREQ(without.kernel, with_table.kernel);
}

}  // namespace
}  // namespace heed::cpu
