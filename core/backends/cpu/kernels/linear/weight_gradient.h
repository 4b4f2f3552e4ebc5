// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels for the gradients of a weight and of a bias (ops/weight_gradient.h).
#pragma once

#include <stdint.h>

#include "ops/operand.h"

namespace heed::cpu {

// The rows that a task copies at a time: 16 columns take 32 KiB then. Sums are saved between such blocks, 1/256 of the work.
inline constexpr int64_t kWeightGradientRows = 512;
// The columns of the input that are copied together, in whole panels.
inline constexpr int64_t kWeightGradientColumns = 128;
// The rows that are copied together, while their cache lines are in the first-level cache.
inline constexpr int64_t kWeightGradientChunk = 16;

// Floats of scratch memory of a task: the gradients of its outputs, some columns of the input, and some rows of gradients.
constexpr int64_t weight_gradient_floats(int64_t rows, int64_t outputs, int64_t lanes) {
  const int64_t most = rows < kWeightGradientRows ? rows : kWeightGradientRows;
  return most * (outputs + kWeightGradientColumns) + kWeightGradientChunk * (outputs + 2 * lanes);
}

// The members of WeightGradientProblem that kernels read. Null data: a gradient that is not wanted.
struct WeightGradientArguments {
  int64_t batch;
  int64_t rows;
  int64_t input_size;
  int64_t output_size;
  int64_t head_size;
  Operand output_gradient;  // (h, s, r, d)
  Operand input;            // (-, s, r, e)
  Operand weight_gradient;  // (-, -, n, e)
  Operand bias_gradient;    // (-, -, -, n)
  // s * rows + r of the rows that have a gradient, from rows_with_gradient.
  const int64_t* row_numbers;
  int64_t num_rows;
  float scale;
  int32_t accumulates_weight;
  int32_t accumulates_bias;
};

// The vectors of a bias's gradient that a task sums together: additions take some cycles.
inline constexpr int kBiasVectors = 4;

// Some rows of weight_gradient, and of these the columns of some panels, those of a projection with input_size outputs.
struct WeightGradientTask {
  int64_t first_panel;
  int64_t end_panel;
  int64_t first_output;
  int64_t end_output;
};

}  // namespace heed::cpu
