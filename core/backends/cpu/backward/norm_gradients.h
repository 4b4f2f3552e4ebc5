// SPDX-License-Identifier: Apache-2.0
// The parameters of norms as rows of f32, and the sums of their gradients over described rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "base/rounding.h"
#include "ops/operand.h"

namespace heed::cpu {

// A parameter with axes (h, -, -, d), of one h.
inline StridedRow parameter_row(const Operand& operand, int64_t h) {
  if (operand.given == 0) return {};
  auto* data = static_cast<std::byte*>(operand.data);
  return {data + h * operand.strides[0] * static_cast<int64_t>(size_of(operand.dtype)), operand.strides[3],
          operand.dtype};
}

// A parameter of the row as contiguous f32 in whole vectors: in place, or copied to `memory`.
inline const float* widened(const KernelTable& kernels, const Operand& operand, int64_t size, float* memory,
                            int64_t h = 0) {
  if (operand.given == 0) return nullptr;
  const StridedRow from = parameter_row(operand, h);
  if (operand.dtype == DType::F32 && operand.strides[3] == 1 && size % kernels.lanes == 0)
    return static_cast<const float*>(from.data);
  const StridedRow to = {memory, 1, DType::F32};
  kernels.copy_row(&from, &to, size);
  return memory;
}

// The bytes of the descriptions of rows: doubles, because plans are also made for shapes that are too large to run.
inline double normalized_rows_bytes(double num_rows) { return num_rows * sizeof(NormalizedRow); }

// Sums the gradients of the parameters of some norms of `size` elements, each over num_rows rows. arguments_of(i) describes norm i.
template <typename ArgumentsOf>
void sum_norm_gradients(const KernelTable& kernels, int64_t num_norms, int64_t num_rows, int64_t size,
                        const Workers& workers, const ArgumentsOf& arguments_of) {
  constexpr double kFlopsOfElement = 10;
  const int64_t columns = kNormGradientVectors * kernels.lanes;
  const int64_t ranges = divide_up(size, columns);
  const double flops = kFlopsOfElement * static_cast<double>(num_norms * num_rows) * static_cast<double>(size);
  const int32_t num_threads = Workers::num_wanted(num_norms * ranges, flops, workers.num_workers());
  workers.for_each(num_norms * ranges, num_threads, flops, [&](int64_t task) {
    const NormGradientArguments arguments = arguments_of(task / ranges);
    const int64_t first = task % ranges * columns;
    kernels.norm_gradients(&arguments, first, std::min(columns, size - first));
  });
}

}  // namespace heed::cpu
