// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/linear.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Strides of axes that are repeated or have one element are 0.
bool lies_side_by_side(int64_t stride, int64_t size) { return stride == 1 || size <= 1; }

// output = input * weight^T + bias for one part.
void run_part(const LinearProblem& problem, const LinearPart& part, const Scratch& scratch) {
  const Operand& output = part.output;
  // A packed weight is dense.
  const void* weight = part.is_packed != 0 ? part.packed : part.weight.data;
  const int64_t row_stride = part.is_packed != 0 ? problem.input_size : part.weight.strides[2];
  const int64_t element_stride = part.is_packed != 0 ? 1 : part.weight.strides[3];
  for (int64_t n0 = 0; n0 < part.output_size; n0 += kBlockOutputs) {
    const int64_t block = std::min(kBlockOutputs, part.output_size - n0);
    for (int64_t n = 0; n < block; ++n) {
      load_row(weight, part.weight.dtype, (n0 + n) * row_stride, element_stride, problem.input_size,
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
          const int64_t head = (n0 + n) / part.head_size;
          const int64_t d = (n0 + n) % part.head_size;
          for (int64_t lane = 0; lane < rows; ++lane) {
            float value = scratch.tile[n * kLanes + lane];
            // Only where there is one: adding 0 would turn a -0 into +0.
            if (part.bias.given != 0)
              value += load_element(part.bias.data, part.bias.dtype, (n0 + n) * part.bias.strides[3]);
            store_element(output.data, output.dtype,
                          head * output.strides[0] + item * output.strides[1] + (r0 + lane) * output.strides[2] +
                              d * output.strides[3],
                          value);
          }
        }
      }
    }
  }
}

}  // namespace

Plan plan_linear(const LinearProblem& problem, int32_t /*num_workers*/) {
  Plan plan;
  plan.kernel = "tiled";
  plan.isa = "portable";
  plan.scratch_bytes = Scratch::num_bytes(problem.input_size);
  plan.tile_rows = kLanes;
  plan.tile_columns = kBlockOutputs;
  if (!lies_side_by_side(problem.input.strides[3], problem.input_size))
    plan.add_reason("the elements of the input's last axis do not lie side by side (stride 1), so they are gathered");
  bool gathers_weight = false;
  bool scatters_output = false;
  for (int32_t i = 0; i < problem.num_parts; ++i) {
    const LinearPart& part = problem.parts[i];
    // Side by side in one of its two axes is enough for the second operand of a product.
    gathers_weight =
        gathers_weight || (part.is_packed == 0 && !lies_side_by_side(part.weight.strides[2], part.output_size) &&
                           !lies_side_by_side(part.weight.strides[3], problem.input_size));
    scatters_output = scatters_output || !lies_side_by_side(part.output.strides[3], part.head_size);
  }
  if (gathers_weight)
    plan.add_reason("the elements of the weight lie side by side (stride 1) in neither axis, so they are gathered");
  if (scatters_output)
    plan.add_reason("the elements of the output's last axis do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_linear(const LinearProblem& problem, const Workers& /*workers*/, void* memory) {
  // Items without rows need no memory, so there may be more of them than anyone can count to.
  if (problem.rows == 0) return;
  const Scratch scratch(memory, problem.input_size);
  for (int32_t i = 0; i < problem.num_parts; ++i) run_part(problem, problem.parts[i], scratch);
}

size_t packed_linear_bytes(const LinearPart& part, int64_t input_size) {
  return static_cast<size_t>(part.output_size) * static_cast<size_t>(input_size) * size_of(part.weight.dtype);
}

void pack_linear(const LinearPart& part, int64_t input_size, void* packed) {
  const Operand& weight = part.weight;
  const size_t element_size = size_of(weight.dtype);
  auto* place = static_cast<std::byte*>(packed);
  for (int64_t n = 0; n < part.output_size; ++n) {
    for (int64_t e = 0; e < input_size; ++e) {
      const int64_t index = n * weight.strides[2] + e * weight.strides[3];
      std::memcpy(place, static_cast<const std::byte*>(weight.data) + index * static_cast<int64_t>(element_size),
                  element_size);
      place += element_size;
    }
  }
}

}  // namespace heed::cpu
