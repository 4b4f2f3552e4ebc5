// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "base/rounding.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// The elements of a task: some microseconds.
constexpr int64_t kRotatedTogether = int64_t{1} << 14;
// For one element: the conversions, a load and a store.
constexpr double kFlopsPerRotated = 10;

int64_t rows_of_task(const RotateProblem& problem) {
  return std::max<int64_t>(1, kRotatedTogether / std::max<int64_t>(1, problem.row_size));
}

// A double, because plans are also made for shapes that are too large to run.
double count_rows(const RotateProblem& problem) {
  return static_cast<double>(problem.batch) * static_cast<double>(problem.num_heads) *
         static_cast<double>(problem.length);
}

// A row, its cosines and its sines.
size_t worker_bytes(const RotateProblem& problem) {
  return round_up_to_alignment(static_cast<size_t>(2 * problem.row_size) * size_of(problem.compute));
}

std::byte* rotated_row(const Operand& operand, int64_t b, int64_t h, int64_t s) {
  const int64_t index = b * operand.strides[0] + h * operand.strides[1] + s * operand.strides[2];
  return static_cast<std::byte*>(operand.data) + index * static_cast<int64_t>(size_of(operand.dtype));
}

int64_t step_of(const Operand& operand) {
  return operand.strides[kOperandRank - 1] * static_cast<int64_t>(size_of(operand.dtype));
}

int64_t position_of(const RotateProblem& problem, int64_t b, int64_t s) {
  if (problem.positions.given == 0) return s;
  const std::byte* element = rotated_row(problem.positions, b, 0, s);
  return problem.positions.dtype == DType::I32 ? *reinterpret_cast<const int32_t*>(element)
                                               : *reinterpret_cast<const int64_t*>(element);
}

// Rotates pairs, whose elements are `distance` apart, and `step` from pair to pair.
template <typename T>
void rotate_pairs(T* row, const T* cosines, const T* sines, int64_t num_pairs, int64_t step, int64_t distance) {
  for (int64_t i = 0; i < num_pairs; ++i) {
    const T x = row[i * step];
    const T y = row[i * step + distance];
    row[i * step] = x * cosines[i] - y * sines[i];
    row[i * step + distance] = x * sines[i] + y * cosines[i];
  }
}

template <typename T>
void rotate_row(const RotateProblem& problem, int64_t number, std::byte* memory) {
  const int64_t s = number % problem.length;
  const int64_t h = number / problem.length % problem.num_heads;
  const int64_t b = number / problem.length / problem.num_heads;
  const int64_t position = position_of(problem, b, s);
  const int64_t num_pairs = problem.rotary_size / 2;
  T* row = reinterpret_cast<T*>(memory);
  T* cosines = row + problem.row_size;
  T* sines = cosines + num_pairs;
  const auto read = [&](T* to, const Operand& operand, int64_t head, int64_t place, int64_t count) {
    convert_elements(problem.compute, to, sizeof(T), operand.dtype, rotated_row(operand, b, head, place),
                     step_of(operand), count);
  };
  read(row, problem.input, h, s, problem.row_size);
  read(cosines, problem.cosines, 0, position, num_pairs);
  read(sines, problem.sines, 0, position, num_pairs);
  if (problem.is_interleaved != 0) {
    rotate_pairs(row, cosines, sines, num_pairs, 2, 1);
  } else {
    rotate_pairs(row, cosines, sines, num_pairs, 1, num_pairs);
  }
  convert_elements(problem.output.dtype, rotated_row(problem.output, b, h, s), step_of(problem.output), problem.compute,
                   row, sizeof(T), problem.row_size);
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const RotateProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "rotate";
  plan.isa = kernels.isa;
  const double num_rows = count_rows(problem);
  plan_loop_with_scratch(plan, std::ceil(num_rows / static_cast<double>(rows_of_task(problem))),
                         num_rows * static_cast<double>(problem.row_size) * kFlopsPerRotated, worker_bytes(problem),
                         num_workers);
  if (is_gathered(problem.input, problem.row_size))
    plan.add_reason("the elements of the input's last axis do not lie side by side (stride 1), so they are gathered");
  if (is_gathered(problem.output, problem.row_size))
    plan.add_reason("the elements of the output's last axis do not lie side by side (stride 1), so they are scattered");
  return plan;
}

void run_problem(const KernelTable&, const RotateProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  const auto num_rows = static_cast<int64_t>(count_rows(problem));
  if (num_rows == 0 || problem.row_size == 0) return;
  const int64_t task_rows = rows_of_task(problem);
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t task, std::byte* own) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      if (problem.compute == DType::F64) {
        rotate_row<double>(problem, row, own);
      } else {
        rotate_row<float>(problem, row, own);
      }
    }
  });
}

}  // namespace heed::cpu
