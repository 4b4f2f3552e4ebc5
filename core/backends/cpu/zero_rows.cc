// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/zero_rows.h"

#include <cstddef>
#include <cstring>

namespace heed::cpu {

void zero_elements(const Operand& operand, const OperandIndex& first, int64_t count) {
  if (count <= 0) return;
  const auto element = static_cast<int64_t>(size_of(operand.dtype));
  std::byte* to = static_cast<std::byte*>(operand.data) + index_in(operand, first) * element;
  const int64_t step = operand.strides[kOperandRank - 1] * element;
  if (step == element) {
    std::memset(to, 0, static_cast<size_t>(count * element));
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memset(to + i * step, 0, static_cast<size_t>(element));
}

void zero_rows(const Operand& operand, const OperandIndex& first, KeyRange rows, int64_t size) {
  OperandIndex index = first;
  for (index[2] = rows.first; index[2] < rows.end; ++index[2]) zero_elements(operand, index, size);
}

}  // namespace heed::cpu
