// SPDX-License-Identifier: Apache-2.0
#include "layers/falling_positions.h"

#include <cinttypes>
#include <cstdio>

#include "base/error.h"
#include "tensor/element.h"

namespace heed {
namespace {

bool has_element_of_each_pair(const Tensor* pairs) {
  return pairs != nullptr && pairs->dim(pairs->rank() - 2) > 1 && pairs->dim(pairs->rank() - 1) > 1;
}

[[noreturn]] void fail_fall(const PositionedRows& rows, int64_t row, int64_t before) {
  char index[48];
  if (rows.is_packed)
    std::snprintf(index, sizeof index, "[%" PRId64 "]", rows.first_row + row);
  else
    std::snprintf(index, sizeof index, "[%" PRId64 ", %" PRId64 "]", rows.element, row);
  fail(Status::InvalidArgument,
       INPUT("sequences->positions") "%s is %" PRId32 ", below %" PRId64
                                     " before it: expected positions that never fall among the rows of a text, or "
                                     "several texts by " INPUT("sequences->query_offsets"),
       index, rows.positions[row], before);
}

}  // namespace

FallingPositions::FallingPositions(Schedule& schedule, const Visibility& visibility)
    : schedule_(schedule),
      may_separate_(has_element_of_each_pair(visibility.mask) || has_element_of_each_pair(visibility.bias)) {
  const auto has_data = [](const Tensor* tensor) { return tensor != nullptr && tensor->has_data(); };
  if (has_data(visibility.valid_lens) && visibility.valid_lens->rank() == 1) valid_lens_ = visibility.valid_lens;
  if (has_data(visibility.mask) && visibility.mask->dim(visibility.mask->rank() - 2) == 1) mask_ = visibility.mask;
}

bool FallingPositions::hides(const PositionedRows& rows, int64_t row) {
  if (valid_lens_ != nullptr) {
    const Tensor& lens = schedule_.on_host(*valid_lens_);
    if (static_cast<double>(row) >= element_of(lens, rows.element * lens.stride(0))) return true;
  }
  if (mask_ == nullptr) return false;
  const Tensor& mask = schedule_.on_host(*mask_);
  const int32_t rank = mask.rank();
  // In a cache a column may be one of the call's rows alone.
  const bool has_all = mask.dim(rank - 1) > rows.num_held;
  const int64_t column = mask.dim(rank - 1) == 1 ? 0 : row + (has_all ? rows.num_held : 0);
  if (column >= mask.dim(rank - 1)) return false;
  const int64_t offset = column * mask.stride(rank - 1);
  if (rank == 2) return element_of(mask, offset) == 0;
  const int64_t of_element = mask.dim(0) == 1 ? 0 : rows.element * mask.stride(0);
  for (int64_t h = 0; h < mask.dim(1); ++h) {
    if (element_of(mask, offset + of_element + h * mask.stride(1)) != 0) return false;
  }
  return true;
}

void FallingPositions::check(const PositionedRows& rows) {
  if (may_separate_) return;
  int64_t before = 0;
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t position = rows.positions[i];
    if (position == before) continue;
    if (position < before) {
      if (!hides(rows, i)) fail_fall(rows, i, before);
    } else if (!hides(rows, i)) {
      before = position;
    }
  }
}

}  // namespace heed
