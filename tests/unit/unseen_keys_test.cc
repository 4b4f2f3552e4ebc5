// SPDX-License-Identifier: Apache-2.0
// Attention on every ISA reads only those keys and values that layers project for it: the results have the same bits
// for any contents of the other rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "available_isas.h"
#include "backends/cpu/operations.h"
#include "base/memory.h"
#include "ops/attention.h"
#include "ops/sequence.h"
#include "ops/visible_keys.h"
#include "turns.h"

namespace heed::cpu {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool once_in(int64_t count) { return pick(1, count) == 1; }
  std::vector<uint32_t> floats(int64_t count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<uint32_t> bits(static_cast<size_t>(count));
    for (uint32_t& element : bits) element = std::bit_cast<uint32_t>(uniform(engine_));
    return bits;
  }

 private:
  std::mt19937 engine_;
};

// One problem with its data as bits. All arrays are row-major, except that the heads of keys and values may be adjacent
// in each row.
struct Call {
  explicit Call(uint32_t seed) : random(seed) {
    problem.batch = random.pick(1, 3);
    problem.num_kv_heads = random.pick(1, 2);
    problem.num_heads = problem.num_kv_heads * random.pick(1, 3);
    const int64_t num_queries = random.once_in(2) ? random.pick(1, 4) : random.pick(1, 50);
    constexpr int64_t kMostKeys[] = {40, 300, 1500};
    problem.limits = unlimited(num_queries, random.pick(1, kMostKeys[random.pick(0, 2)]));
    problem.head_size = random.once_in(2) ? 8 : random.pick(1, 20);
    problem.value_head_size = random.once_in(2) ? 16 : random.pick(1, 20);
    const int64_t shift = random.once_in(2) ? problem.limits.num_keys - problem.limits.num_queries : 0;
    if (random.once_in(3))
      problem.limits.sequence.band_last =
          std::clamp<int64_t>(shift, -problem.limits.num_queries, problem.limits.num_keys);
    if (random.once_in(3)) {
      problem.limits.sequence.band_first =
          std::clamp<int64_t>(shift - random.pick(0, 20), -problem.limits.num_queries, problem.limits.num_keys);
    }
    problem.scale = 0.4F;
    if (random.once_in(4)) problem.soft_cap = 2;
    if (random.once_in(4)) problem.dropout = 0.25F;
    problem.dropout_seed = seed;
    problem.empty_rows = random.once_in(2) ? EmptyRows::Mean : EmptyRows::Zero;

    const int64_t b = problem.batch;
    const int64_t h = problem.num_heads;
    const int64_t q = problem.limits.num_queries;
    const int64_t k = problem.limits.num_keys;
    give(problem.queries, queries, {b, h, q, problem.head_size});
    give(problem.keys, keys, {b, problem.num_kv_heads, k, problem.head_size});
    give(problem.values, values, {b, problem.num_kv_heads, k, problem.value_head_size});
    if (random.once_in(2)) {
      put_heads_side_by_side(problem.keys, problem.head_size);
      put_heads_side_by_side(problem.values, problem.value_head_size);
    }
    if (random.once_in(4)) {
      problem.scoring = Scoring::Additive;
      give(problem.score_weights, score_weights, {1, h, 1, problem.head_size});
    }
    if (random.once_in(3)) give(problem.bias, bias, {b, h, q, k});
    if (random.once_in(3)) {
      mask.resize(static_cast<size_t>(b * k));
      for (uint8_t& element : mask) element = random.once_in(4) ? 0 : 1;
      set(problem.mask, mask.data(), {k, 0, 0, 1});
      problem.mask.dtype = DType::Bool;
    }
    const int64_t lengths = random.pick(0, 3);
    for (int64_t i = 0; i < b * q; ++i)
      lens.push_back(static_cast<int32_t>(random.pick(0, random.once_in(2) ? k : k / 8)));
    if (lengths != 0) {
      set(problem.limits.valid_lens, lens.data(), {lengths == 1 ? q : 1, 0, lengths == 1 ? 1 : 0, 0});
      problem.limits.valid_lens.dtype = DType::I32;
    }
    if (!random.once_in(8)) give(problem.output, output, {b, h, q, problem.value_head_size});
    if (random.once_in(3)) give(problem.weights, weights, {b, h, q, k});
    if (random.once_in(3)) give(problem.log_sum_exp, log_sum_exp, {b, h, q, 1});
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Writes `poison` into all keys and values that layers would not project.
  void poison_unseen(uint32_t poison) {
    const KeyLimits& limits = problem.limits;
    poison_rows(problem.keys, keys, problem.head_size, WantedRows::Visible, limits, poison);
    poison_rows(problem.values, values, problem.value_head_size, values_read(problem), limits, poison);
  }

  void run(const KernelTable& kernels, int32_t num_workers) {
    Turns turns(num_workers);
    Failure failure;
    const Plan plan = plan_problem(kernels, problem, num_workers);
    kernel = plan.kernel;
    std::vector<std::byte> scratch(plan.scratch_bytes + kMemoryAlignment, std::byte{0xff});
    const auto address = reinterpret_cast<uintptr_t>(scratch.data());
    for (auto* result : {&output, &weights, &log_sum_exp}) std::ranges::fill(*result, 0);
    run_problem(kernels, problem, plan, Workers(turns, &failure),
                scratch.data() + (kMemoryAlignment - address % kMemoryAlignment) % kMemoryAlignment);
  }

  Random random;
  AttentionProblem problem;
  std::vector<uint32_t> queries;
  std::vector<uint32_t> keys;
  std::vector<uint32_t> values;
  std::vector<uint32_t> score_weights;
  std::vector<uint32_t> bias;
  std::vector<uint8_t> mask;
  std::vector<int32_t> lens;
  std::vector<uint32_t> output;
  std::vector<uint32_t> weights;
  std::vector<uint32_t> log_sum_exp;
  std::string kernel;

 private:
  static void set(Operand& operand, void* data, const std::array<int64_t, kOperandRank>& strides) {
    operand.data = data;
    operand.given = 1;
    std::ranges::copy(strides, operand.strides);
  }
  void give(Operand& operand, std::vector<uint32_t>& data, const std::array<int64_t, kOperandRank>& sizes) {
    data = random.floats(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
    set(operand, data.data(), {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1});
    if (&operand == &problem.score_weights) operand.strides[0] = operand.strides[2] = 0;
  }
  void put_heads_side_by_side(Operand& operand, int64_t size) const {
    operand.strides[1] = size;
    operand.strides[2] = size * problem.num_kv_heads;
  }
  void poison_rows(const Operand& operand, std::vector<uint32_t>& data, int64_t size, WantedRows wanted,
                   const KeyLimits& limits, uint32_t poison) const {
    for (int64_t b = 0; b < problem.batch; ++b) {
      const KeyRange rows = wanted_rows(limits, wanted, b);
      for (int64_t k = 0; k < problem.limits.num_keys; ++k) {
        if (k >= rows.first && k < rows.end) continue;
        for (int64_t head = 0; head < problem.num_kv_heads; ++head) {
          const int64_t place = b * operand.strides[0] + head * operand.strides[1] + k * operand.strides[2];
          std::fill_n(data.begin() + place, size, poison);
        }
      }
    }
  }
};

class UnseenKeys : public testing::TestWithParam<Isa> {};

INSTANTIATE_TEST_SUITE_P(Isas, UnseenKeys, testing::ValuesIn(available_isas()), name_of_isa);

TEST_P(UnseenKeys, LeaveNoTraceInAnyResult) {
  // A quiet NaN, a signalling NaN, infinity, and the largest number.
  constexpr uint32_t kPoisons[] = {0x7fc00001, 0x7fa00001, 0xff800000, 0x7f7fffff};
  std::set<std::string> kernel_names;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    Call call(seed);
    const auto num_workers = static_cast<int32_t>(1 + seed % 3);
    call.run(*GetParam().kernels, num_workers);
    const std::array expected = {call.output, call.weights, call.log_sum_exp};
    call.poison_unseen(kPoisons[seed % 4]);
    call.run(*GetParam().kernels, num_workers);
    ASSERT_EQ(call.output, expected[0]) << "case " << seed << ", " << call.kernel;
    ASSERT_EQ(call.weights, expected[1]) << "case " << seed << ", " << call.kernel;
    ASSERT_EQ(call.log_sum_exp, expected[2]) << "case " << seed << ", " << call.kernel;
    kernel_names.insert(call.kernel);
  }
  EXPECT_EQ(kernel_names.size(), 3u);
}

}  // namespace
}  // namespace heed::cpu
