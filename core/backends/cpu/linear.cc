// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/linear.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/elements.h"
#include "backends/cpu/tile.h"

namespace heed::cpu {
namespace {

// Rows of the weight that are widened to f32 at a time and then used for all rows of the input: 64 outputs make
// transposing the input, which is done once for each block, 1/64 of the work.
constexpr int64_t kBlockOutputs = 64;

struct Scratch {
  float* weight_block;  // [kBlockOutputs][input_size]
  float* input_panel;   // [input_size][kLanes]
  float* tile;          // [kBlockOutputs][kLanes]

  Scratch(void* memory, int64_t input_size) {
    weight_block = static_cast<float*>(memory);
    input_panel = weight_block + kBlockOutputs * input_size;
    tile = input_panel + input_size * kLanes;
  }

  static size_t num_bytes(int64_t input_size) {
    return (static_cast<size_t>(input_size) * (kBlockOutputs + kLanes) + kBlockOutputs * kLanes) * sizeof(float);
  }
};

// Rows first .. first + count - 1 of the input, transposed; lanes beyond are zero.
void load_panel(const LinearProblem& problem, int64_t item, int64_t first, int64_t count, float* panel) {
  const Operand& input = problem.input;
  if (count < kLanes) std::fill_n(panel, problem.input_size * kLanes, 0.0f);
  for (int64_t lane = 0; lane < count; ++lane) {
    const int64_t index = item * input.strides[1] + (first + lane) * input.strides[2];
    load_row(input.data, input.dtype, index, input.strides[3], problem.input_size, panel + lane, kLanes);
  }
}

}  // namespace

Plan plan_linear(const LinearProblem& problem, int32_t /*num_workers*/) {
  Plan plan;
  plan.kernel = "tiled";
  plan.scratch_bytes = Scratch::num_bytes(problem.input_size);
  return plan;
}

void run_linear(const LinearProblem& problem, const Workers& /*workers*/, void* memory) {
  // Items without rows need no memory, so there may be more of them than anyone can count to.
  if (problem.rows == 0) return;
  const Scratch scratch(memory, problem.input_size);
  const Operand& weight = problem.weight;
  const Operand& output = problem.output;
  for (int64_t n0 = 0; n0 < problem.output_size; n0 += kBlockOutputs) {
    const int64_t block = std::min(kBlockOutputs, problem.output_size - n0);
    for (int64_t n = 0; n < block; ++n) {
      load_row(weight.data, weight.dtype, (n0 + n) * weight.strides[2], weight.strides[3], problem.input_size,
               scratch.weight_block + n * problem.input_size);
    }
    for (int64_t item = 0; item < problem.batch; ++item) {
      for (int64_t r0 = 0; r0 < problem.rows; r0 += kLanes) {
        const int64_t rows = std::min(kLanes, problem.rows - r0);
        load_panel(problem, item, r0, rows, scratch.input_panel);
        std::fill_n(scratch.tile, block * kLanes, 0.0f);
        accumulate_products(scratch.weight_block, problem.input_size, scratch.input_panel, problem.input_size,
                            scratch.tile, block);
        for (int64_t n = 0; n < block; ++n) {
          for (int64_t lane = 0; lane < rows; ++lane) {
            float value = scratch.tile[n * kLanes + lane];
            // Only where there is one: adding 0 would turn a -0 into +0.
            if (problem.bias.given != 0)
              value += load_element(problem.bias.data, problem.bias.dtype, (n0 + n) * problem.bias.strides[3]);
            store_element(output.data, output.dtype,
                          item * output.strides[1] + (r0 + lane) * output.strides[2] + (n0 + n) * output.strides[3],
                          value);
          }
        }
      }
    }
  }
}

}  // namespace heed::cpu
