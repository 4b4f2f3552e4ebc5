// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"

namespace heed::cpu {
namespace {

// For one element that is copied by itself: an index, a load and a store.
constexpr double kFlopsPerChoice = 8;

// An index counted from the front, at `offset` among the indices.
int64_t index_at(const GatherProblem& problem, int64_t offset) {
  const void* indices = problem.indices.data;
  const int64_t index = problem.indices.dtype == DType::I32 ? static_cast<const int32_t*>(indices)[offset]
                                                            : static_cast<const int64_t*>(indices)[offset];
  return index < 0 ? index + problem.axis_size : index;
}

// Offsets of an element of a row, in elements.
struct GatherOffsets {
  int64_t input = 0;  // but for the chosen index
  int64_t indices = 0;
  int64_t output = 0;
};

GatherOffsets offsets_of(const GatherProblem& problem, int64_t row, int64_t i) {
  GatherOffsets offsets;
  const auto add = [&](int axis, int64_t index) {
    if (axis != problem.axis) offsets.input += index * problem.input.strides[axis];
    offsets.indices += index * problem.indices.strides[axis];
    offsets.output += index * problem.output.strides[axis];
  };
  add(kRowAxis, i);
  for (int axis = kRowAxis - 1; axis >= 0 && row != 0; --axis) {
    add(axis, row % problem.sizes[axis]);
    row /= problem.sizes[axis];
  }
  return offsets;
}

// Copies `count` elements of `size` bytes, a constant where the compiler makes one move of it.
template <int64_t size>
void gather_part(const GatherProblem& problem, const GatherOffsets& offsets, int64_t count) {
  const auto* from = static_cast<const std::byte*>(problem.input.data);
  auto* to = static_cast<std::byte*>(problem.output.data) + offsets.output * size;
  const int64_t axis_stride = problem.input.strides[problem.axis];
  const int64_t input_stride = problem.axis == kRowAxis ? 0 : problem.input.strides[kRowAxis];
  const int64_t index_stride = problem.indices.strides[kRowAxis];
  const int64_t output_stride = problem.output.strides[kRowAxis];
  if (index_stride == 0 && problem.axis != kRowAxis) {
    // One index for the whole part.
    from += (offsets.input + index_at(problem, offsets.indices) * axis_stride) * size;
    if (input_stride == 1 && output_stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(count * size));
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * output_stride * size, from + i * input_stride * size, static_cast<size_t>(size));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = index_at(problem, offsets.indices + i * index_stride);
    const int64_t offset = offsets.input + i * input_stride + index * axis_stride;
    std::memcpy(to + i * output_stride * size, from + offset * size, static_cast<size_t>(size));
  }
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const GatherProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "gather";
  plan.isa = kernels.isa;
  const Cost cost = {.flops = count_elements(problem.sizes) * kFlopsPerChoice, .bytes = cost_of(problem).bytes};
  plan_loop(plan, count_tasks_of_elements(problem.sizes), work_of(cost), num_workers);
  return plan;
}

void run_problem(const KernelTable&, const GatherProblem& problem, const Plan& plan, const Workers& workers, void*) {
  if (count_elements(problem.sizes) == 0) return;
  run_loop(plan, workers, [&](int64_t task) {
    for_each_part_of_row(problem.sizes, task, [&](int64_t, int64_t row, int64_t i, int64_t count) {
      const GatherOffsets offsets = offsets_of(problem, row, i);
      switch (size_of(problem.input.dtype)) {
        case 1: return gather_part<1>(problem, offsets, count);
        case 2: return gather_part<2>(problem, offsets, count);
        case 4: return gather_part<4>(problem, offsets, count);
        default: return gather_part<8>(problem, offsets, count);
      }
    });
  });
}

}  // namespace heed::cpu
