// SPDX-License-Identifier: Apache-2.0
// The rows of operands of elementwise operations: all axes but the last.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/plan.h"
#include "ops/operand.h"
#include "ops/sequence.h"

namespace heed::cpu {

// The last axis of an elementwise operation: that of a row's elements.
inline constexpr int kRowAxis = kElementwiseRank - 1;

// Elements of a task of simple operations: some microseconds.
inline constexpr int64_t kTaskElements = int64_t{1} << 14;

inline int64_t rows_of_task(int64_t row_size) {
  return std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, row_size));
}

// Doubles, because plans are also made for shapes that are too large to run.
inline double count_elements(const Sizes<kElementwiseRank>& sizes) {
  double count = 1;
  for (const int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}
inline double count_rows(const Sizes<kElementwiseRank>& sizes) {
  double count = 1;
  for (int axis = 0; axis < kRowAxis; ++axis) count *= static_cast<double>(sizes[axis]);
  return count;
}

// The row from its element `i` on. Rows are numbered in row-major order of all axes but the last.
inline StridedRow row_of(const Sizes<kElementwiseRank>& sizes, const ElementwiseOperand& operand, int64_t row,
                         int64_t i) {
  int64_t index = i * operand.strides[kRowAxis];
  for (int axis = kRowAxis - 1; axis >= 0 && row != 0; --axis) {
    index += row % sizes[axis] * operand.strides[axis];
    row /= sizes[axis];
  }
  auto* data = static_cast<std::byte*>(operand.data) + index * static_cast<int64_t>(size_of(operand.dtype));
  return {data, operand.strides[kRowAxis], operand.dtype};
}

// The number of tasks of rows_of_task rows each.
inline double count_tasks_of_rows(const Sizes<kElementwiseRank>& sizes) {
  return std::ceil(count_rows(sizes) / static_cast<double>(rows_of_task(sizes[kRowAxis])));
}

// The number of tasks of kTaskElements elements each, which may end inside a row.
inline double count_tasks_of_elements(const Sizes<kElementwiseRank>& sizes) {
  return std::ceil(count_elements(sizes) / static_cast<double>(kTaskElements));
}

// Calls function(element, row, i, count) for each part of a row among the elements of such a task: the part has `count`
// elements from element `i` of the row on, and `element` is the number of the first one among the elements of all rows.
template <typename Function>
void for_each_part_of_row(const Sizes<kElementwiseRank>& sizes, int64_t task, const Function& function) {
  const int64_t row_size = sizes[kRowAxis];
  const int64_t end = std::min(static_cast<int64_t>(count_elements(sizes)), (task + 1) * kTaskElements);
  for (int64_t element = task * kTaskElements; element < end;) {
    const int64_t i = element % row_size;
    const int64_t count = std::min(row_size - i, end - element);
    function(element, element / row_size, i, count);
    element += count;
  }
}

// Adds the reasons why rows of row_size elements are slow to read or to write.
template <int rank>
void add_reasons_of_strides(Plan& plan, const StridedOperand<rank>& input, const StridedOperand<rank>& output,
                            int64_t row_size) {
  if (is_gathered(input, row_size))
    plan.add_reason("the elements of the input's last axis do not lie side by side (stride 1), so they are gathered");
  if (is_gathered(output, row_size))
    plan.add_reason("the elements of the output's last axis do not lie side by side (stride 1), so they are scattered");
}

// Whether a row of (batch, rows, size) is no query of its batch element. Without limits every row is one.
template <typename Problem>
bool is_padding(const Problem& problem, int64_t row) {
  if (problem.has_limits == 0) return false;
  const int64_t rows = problem.sizes[kRowAxis - 1];
  return row % rows >= sequence_of(problem.limits, row / rows).query_count;
}

// Sets the first `count` elements to 0.
inline void zero_row(const StridedRow& row, int64_t count) {
  const auto bytes = static_cast<int64_t>(size_of(row.dtype));
  auto* element = static_cast<std::byte*>(row.data);
  for (int64_t i = 0; i < count; ++i) std::fill_n(element + i * row.stride * bytes, bytes, std::byte{0});
}

}  // namespace heed::cpu
