// SPDX-License-Identifier: Apache-2.0
// The cosines and sines of positions, each the number of long double arithmetic rounded once, wherever a position occurs.
#include "backends/cpu/operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "attention/rope.h"
#include "available_isas.h"
#include "ops/rotations.h"
#include "turns.h"

namespace heed::cpu {
namespace {

constexpr int64_t kPairs = 70;  // more than are computed at a time

// The rotations of a batch of queries with these positions.
struct Rotations {
  Rotations(int64_t batch, int64_t rows) : output(static_cast<size_t>(batch * rows * 2 * kPairs), -7.0f) {
    RopeOptions given;
    given.layout = RotaryLayout::Half;
    options = with_defaults(given, 2 * kPairs);
    frequencies = rotary_frequencies(options);
    digits = rotary_digits(frequencies);
    problem.batch = batch;
    problem.limits = unlimited(rows, rows);
    problem.num_pairs = kPairs;
    problem.digits = digits.data();
    problem.output.data = output.data();
    problem.output.given = 1;
    problem.output.strides[1] = rows * 2 * kPairs;
    problem.output.strides[2] = 2 * kPairs;
    problem.output.strides[3] = 1;
  }
  Rotations(const Rotations&) = delete;
  Rotations& operator=(const Rotations&) = delete;

  void set_positions(std::vector<int64_t> given) {
    positions = std::move(given);
    Operand& operand = problem.limits.positions;
    operand.data = positions.data();
    operand.dtype = DType::I64;
    operand.given = 1;
    operand.strides[0] = problem.limits.num_queries;
    operand.strides[2] = 1;
  }
  void run(int32_t num_workers) {
    Turns turns(num_workers);
    Failure failure;
    const Plan plan = plan_problem(*isas()[0].kernels, problem, num_workers);
    run_problem(*isas()[0].kernels, problem, plan, Workers(turns, &failure), nullptr);
  }
  // A number that is off by 10^-13 before it is rounded may be rounded to the other side.
  void expect_rounded_once(int64_t row, int64_t position) const {
    for (int64_t pair = 0; pair < kPairs; ++pair) {
      const long double angle =
          static_cast<long double>(position) * static_cast<long double>(frequencies[static_cast<size_t>(pair)]);
      for (const bool is_sine : {false, true}) {
        const long double exact =
            (is_sine ? std::sin(angle) : std::cos(angle)) * static_cast<long double>(problem.factor);
        const float is = output[static_cast<size_t>(row * 2 * kPairs + (is_sine ? kPairs : 0) + pair)];
        const float above = std::nextafter(is, 2.0f * static_cast<float>(problem.factor));
        const float below = std::nextafter(is, -2.0f * static_cast<float>(problem.factor));
        // Half the distance to the next number on either side; an angle in f64 is off by a unit in its last place.
        const long double slack = 1e-13L + std::abs(angle) * 0x1p-52L;
        EXPECT_LE(exact, (static_cast<long double>(is) + static_cast<long double>(above)) / 2 + slack)
            << position << ", " << pair;
        EXPECT_GE(exact, (static_cast<long double>(is) + static_cast<long double>(below)) / 2 - slack)
            << position << ", " << pair;
      }
    }
  }

  RopeOptions options;
  std::vector<double> frequencies;
  std::vector<double> digits;
  std::vector<int64_t> positions;
  std::vector<float> output;
  RotationsProblem problem;
};

TEST(RotationsOfPositions, AreRoundedOnce) {
  std::vector<int64_t> positions;
  for (int64_t position = 0; position < 40; ++position) positions.push_back(position);
  for (const int64_t position : {255, 256, 4095, 4096, 65535, 131071, 1048575}) positions.push_back(position);
  for (const double factor : {1.0, 1.19023807, 0.9}) {
    Rotations rotations(1, static_cast<int64_t>(positions.size()));
    rotations.set_positions(positions);
    rotations.problem.factor = factor;
    rotations.run(1);
    for (size_t row = 0; row < positions.size(); ++row)
      rotations.expect_rounded_once(static_cast<int64_t>(row), positions[row]);
  }
}

// Queries that are more than the keys begin before the first key.
TEST(RotationsOfPositions, MayBeNegative) {
  Rotations rotations(1, 50);
  rotations.problem.limits.sequence.query_position = -40;
  rotations.problem.factor = 1.25;
  rotations.run(1);
  for (int64_t row = 0; row < 50; ++row) rotations.expect_rounded_once(row, row - 40);
}

// In any order, in any batch element, and with any number of workers a position has the same bits.
TEST(RotationsOfPositions, DependOnThePositionAlone) {
  constexpr int64_t kRows = 300;
  Rotations in_order(1, kRows);
  in_order.run(1);
  for (const int64_t row : {int64_t{0}, int64_t{17}, kRows - 1}) in_order.expect_rounded_once(row, row);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < 2 * kRows; ++i) positions.push_back(i * 7 % kRows);
  for (const int32_t num_workers : {1, 3, 8}) {
    Rotations shuffled(2, kRows);
    shuffled.set_positions(positions);
    shuffled.run(num_workers);
    for (int64_t i = 0; i < 2 * kRows; ++i) {
      const auto begin = in_order.output.begin() + positions[static_cast<size_t>(i)] * 2 * kPairs;
      EXPECT_TRUE(std::equal(begin, begin + 2 * kPairs, shuffled.output.begin() + i * 2 * kPairs)) << "row " << i;
    }
  }
}

// Keys count from 0 in each element of a ragged batch; rows that no element has are not written.
TEST(RotationsOfPositions, OfRaggedBatches) {
  Rotations in_order(1, 10);
  in_order.run(1);
  Rotations ragged(1, 10);
  Sequence table[2];
  table[0].key_count = table[0].query_count = 4;
  table[1].key_begin = table[1].query_begin = 5;
  table[1].key_count = table[1].query_count = 3;
  table[1].query_position = 6;
  ragged.problem.batch = 2;
  ragged.problem.limits.num_queries = ragged.problem.limits.num_keys = 4;
  ragged.problem.limits.has_table = 1;
  ragged.problem.limits.table = table;
  ragged.problem.output.strides[1] = 0;
  for (const int32_t of_keys : {0, 1}) {
    ragged.problem.of_keys = of_keys;
    std::fill(ragged.output.begin(), ragged.output.end(), -7.0f);
    ragged.run(2);
    const int64_t expected[] = {0,  1, 2, 3, -1, of_keys != 0 ? 0 : 6, of_keys != 0 ? 1 : 7, of_keys != 0 ? 2 : 8,
                                -1, -1};
    for (int64_t row = 0; row < 10; ++row) {
      for (int64_t i = 0; i < 2 * kPairs; ++i) {
        const float is = ragged.output[static_cast<size_t>(row * 2 * kPairs + i)];
        EXPECT_EQ(is, expected[row] < 0 ? -7.0f : in_order.output[static_cast<size_t>(expected[row] * 2 * kPairs + i)]);
      }
    }
  }
}

}  // namespace
}  // namespace heed::cpu
