// SPDX-License-Identifier: Apache-2.0
// Gradients of tables on every ISA: exactly the sums in the order of the places, for any strides and any number of workers.
#include "ops/embedding_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "available_isas.h"
#include "strided_floats.h"

namespace heed::cpu {
namespace {

class TableGradient {
 public:
  TableGradient(const KernelTable& kernels, int64_t batch, int64_t rows, int64_t size, int64_t table_rows, Draw& draw)
      : output_gradient({1, 1, 1, 1, 1, batch, rows, size}, draw),
        table({1, 1, table_rows, size}, draw),
        kernels_(kernels) {
    output_gradient.fill(draw);
    table.fill(draw);
    for (int64_t i = 0; i < batch * rows; ++i) ids.push_back(static_cast<int32_t>(draw.below(table_rows + 1) - 1));
    std::ranges::copy(output_gradient.sizes(), problem.sizes);
    problem.ids = ids.data();
    problem.num_table_rows = table_rows;
    output_gradient.give_to(problem.output_gradient);
    table.give_to(problem.table_gradient);
  }
  TableGradient(const TableGradient&) = delete;
  TableGradient& operator=(const TableGradient&) = delete;

  void run(int32_t num_workers = 1) const { run_on_workers(kernels_, problem, num_workers); }

  Floats<8> output_gradient;
  Floats<4> table;
  std::vector<int32_t> ids;
  EmbeddingBackwardProblem problem;

 private:
  const KernelTable& kernels_;
};

class EmbeddingBackward : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() const { return *GetParam().kernels; }
};

INSTANTIATE_TEST_SUITE_P(Isas, EmbeddingBackward, testing::ValuesIn(available_isas()), name_of_isa);

// With a scale of 1 the sums are those of a plain loop, bit for bit; with another each term is rounded once more.
TEST_P(EmbeddingBackward, AddsThePlacesOfEachRowInOrder) {
  Draw draw(1);
  for (int i = 0; i < 120; ++i) {
    const int64_t batch = 1 + draw.below(3);
    const int64_t rows = 1 + draw.below(12);
    const int64_t size = i % 10 == 0 ? 520 + draw.below(20) : 1 + draw.below(70);
    TableGradient gradient(kernels(), batch, rows, size, 1 + draw.below(9), draw);
    EmbeddingBackwardProblem& problem = gradient.problem;
    problem.scale = draw.coin() ? 1.0f : 3.3f;
    problem.accumulates = draw.coin() ? 1 : 0;
    const Floats<4> before = gradient.table;
    gradient.run();
    for (int64_t row = 0; row < problem.num_table_rows; ++row) {
      for (int64_t d = 0; d < size; ++d) {
        float sum = problem.accumulates != 0 ? before.at({0, 0, row, d}) : 0;
        double magnitude = std::abs(static_cast<double>(sum));
        for (int64_t place = 0; place < batch * rows; ++place) {
          if (gradient.ids[static_cast<size_t>(place)] != row) continue;
          const float term =
              gradient.output_gradient.at({0, 0, 0, 0, 0, place / rows, place % rows, d}) * problem.scale;
          sum += term;
          magnitude += std::abs(static_cast<double>(term));
        }
        const float found = gradient.table.at({0, 0, row, d});
        if (problem.scale == 1) {
          ASSERT_EQ(found, sum) << "row " << row << ", element " << d;
        } else {
          ASSERT_NEAR(found, sum, static_cast<double>(batch * rows + 2) * 0x1p-23 * magnitude);
        }
      }
    }
    ASSERT_TRUE(gradient.table.is_intact_around());
  }
}

TEST_P(EmbeddingBackward, HasTheSameBitsOnAnyNumberOfWorkers) {
  Draw draw(2);
  TableGradient gradient(kernels(), 3, 500, 130, 40, draw);
  gradient.problem.scale = 0.3f;
  gradient.run();
  const std::vector<uint32_t> expected = gradient.table.bits();
  for (int32_t workers = 2; workers <= 4; ++workers) {
    gradient.table.fill(draw);
    gradient.run(workers);
    ASSERT_EQ(gradient.table.bits(), expected) << workers << " workers";
  }
}

TEST_P(EmbeddingBackward, OfPartsOfTheBatchAccumulatesToThatOfAll) {
  Draw draw(3);
  TableGradient gradient(kernels(), 4, 30, 33, 7, draw);
  gradient.problem.scale = 0.3f;
  gradient.run();
  const std::vector<uint32_t> expected = gradient.table.bits();
  EmbeddingBackwardProblem& problem = gradient.problem;
  problem.sizes[5] = 3;
  gradient.run();
  problem.sizes[5] = 1;
  problem.accumulates = 1;
  problem.ids += 90;
  problem.output_gradient.data =
      static_cast<float*>(problem.output_gradient.data) + 3 * problem.output_gradient.strides[5];
  gradient.run();
  ASSERT_EQ(gradient.table.bits(), expected);
}

}  // namespace
}  // namespace heed::cpu
