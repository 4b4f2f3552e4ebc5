// SPDX-License-Identifier: Apache-2.0
// Dropout with an addend, on every ISA: output = dropped input + addend, and 0 in rows that are no queries.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "array_of_elements.h"
#include "available_isas.h"
#include "backends/cpu/dropout.h"
#include "backends/cpu/operations.h"
#include "base/philox.h"
#include "turns.h"

namespace heed::cpu {
namespace {

constexpr int64_t kDroppedBatch = 3;
constexpr int64_t kDroppedRows = 5;
constexpr uint64_t kDroppedSeed = 0x38b546e2ef8f7f56;

// Arrays (batch, rows, size) with their own dtypes and strides of elements.
struct DroppedSums {
  DroppedSums(int64_t row_size, const DType (&dtypes)[3], const int64_t (&steps)[3]) : size(row_size) {
    problem.sizes[kElementwiseRank - 3] = kDroppedBatch;
    problem.sizes[kElementwiseRank - 2] = kDroppedRows;
    problem.sizes[kElementwiseRank - 1] = size;
    problem.seed = kDroppedSeed;
    problem.dropout = 0.3f;
    make(input, problem.input, dtypes[0], steps[0]);
    make(addend, problem.addend, dtypes[1], steps[1]);
    make(output, problem.output, dtypes[2], steps[2]);
    std::mt19937 random(static_cast<uint32_t>(size));
    std::uniform_real_distribution<float> uniform(-3, 3);
    for (int64_t i = 0; i < kDroppedBatch * kDroppedRows * size; ++i) {
      input.set(i * steps[0], uniform(random));
      addend.set(i * steps[1], uniform(random));
    }
    std::ranges::fill(output.elements, kUntouched);
  }
  DroppedSums(const DroppedSums&) = delete;
  DroppedSums& operator=(const DroppedSums&) = delete;

  void make(Array& array, ElementwiseOperand& operand, DType dtype, int64_t step) const {
    array = Array(dtype, kDroppedBatch * kDroppedRows * size * step, 1);
    operand.data = array.data();
    operand.dtype = dtype;
    operand.given = 1;
    operand.strides[kElementwiseRank - 3] = kDroppedRows * size * step;
    operand.strides[kElementwiseRank - 2] = size * step;
    operand.strides[kElementwiseRank - 1] = step;
  }

  // The sums, and 0 in rows at or beyond query_counts of their batch element.
  Array expected(const int64_t (&query_counts)[kDroppedBatch]) const {
    Array result = output;
    const int64_t steps[] = {problem.input.strides[kElementwiseRank - 1], problem.addend.strides[kElementwiseRank - 1],
                             problem.output.strides[kElementwiseRank - 1]};
    for (int64_t i = 0; i < kDroppedBatch * kDroppedRows * size; ++i) {
      const PhiloxCounter words = philox4x32({static_cast<uint32_t>(i / 4), 0, 0, 0}, kDroppedSeed);
      const bool is_kept = words[static_cast<size_t>(i % 4)] >= dropout_threshold(problem.dropout);
      const float kept = is_kept ? input.at(i * steps[0]) * dropout_scale(problem.dropout) : 0.0f;
      const int64_t row = i / size;
      const bool is_query = row % kDroppedRows < query_counts[row / kDroppedRows];
      result.set(i * steps[2], is_query ? kept + addend.at(i * steps[1]) : 0.0f);
    }
    return result;
  }
  void run(const KernelTable& kernels, int32_t num_workers) const {
    Turns turns(num_workers);
    Failure failure;
    run_problem(kernels, problem, plan_problem(kernels, problem, num_workers), Workers(turns, &failure), nullptr);
  }

  int64_t size;
  DropoutProblem problem;
  Array input;
  Array addend;
  Array output;
};

class DroppedSumsKernel : public testing::TestWithParam<Isa> {};

INSTANTIATE_TEST_SUITE_P(Isas, DroppedSumsKernel, testing::ValuesIn(available_isas()), name_of_isa);

// Sizes next to those of vectors and of the words that are drawn at once; the largest makes several tasks.
constexpr int64_t kDroppedSizes[] = {1, 3, 16, 17, 63, 64, 65, 200, 5000};

TEST_P(DroppedSumsKernel, AreExact) {
  int64_t variant = 0;
  for (const int64_t size : kDroppedSizes) {
    for (const DType input : kElementTypes) {
      for (const DType addend : kElementTypes) {
        for (const DType output : kElementTypes) {
          if (size == 5000 && (input != DType::F32 || addend != output)) continue;
          ++variant;
          const DroppedSums sums(size, {input, addend, output},
                                 {1 + variant % 2, 1 + variant / 2 % 2, 1 + variant / 4 % 2});
          const Array expected = sums.expected({kDroppedRows, kDroppedRows, kDroppedRows});
          sums.run(*GetParam().kernels, 1 + static_cast<int32_t>(variant % 3));
          ASSERT_EQ(sums.output.elements, expected.elements) << "rows of " << size << ", variant " << variant;
        }
      }
    }
  }
}

TEST_P(DroppedSumsKernel, AreZeroInRowsThatAreNoQueries) {
  const Sequence table[kDroppedBatch] = {{.query_count = 2}, {.query_count = kDroppedRows}, {.query_count = 0}};
  for (const int64_t size : kDroppedSizes) {
    DroppedSums sums(size, {DType::F32, DType::F32, DType::BF16}, {1, 1, 2});
    const Array expected = sums.expected({2, kDroppedRows, 0});
    sums.problem.has_limits = 1;
    sums.problem.limits = unlimited(kDroppedRows, kDroppedRows);
    sums.problem.limits.has_table = 1;
    sums.problem.limits.table = table;
    sums.run(*GetParam().kernels, 2);
    ASSERT_EQ(sums.output.elements, expected.elements) << "rows of " << size;
  }
}

}  // namespace
}  // namespace heed::cpu
