// SPDX-License-Identifier: Apache-2.0
#include "fuzz/calls/row_mask.h"

#include <cmath>

#include "fuzz/calls/checks.h"

namespace heed::fuzz {

RowMask::RowMask(int64_t batch, int64_t num_rows, Bytes& bytes)
    : batch_(batch), num_rows_(num_rows), dtype_(static_cast<heed_dtype>(bytes.below(HEED_BOOL + 1))) {
  for (int64_t b = 0; b < batch; ++b) {
    const uint8_t bits = bytes.next();
    for (int64_t row = 0; row < num_rows; ++row) shown_.push_back((bits >> (row % 8)) % 2 == 1);
  }
  if (bytes.rarely()) spoil(bytes);
}

void RowMask::spoil(Bytes& bytes) {
  const int64_t choice = bytes.below(7);
  const capi_test::Dims dims[] = {{batch_, num_rows_ + 1}, {batch_}, {batch_, num_rows_, 1}};
  if (choice < 3) {
    has_wrong_dims_ = true;
    wrong_dims_ = dims[choice];
    return;
  }
  if (shown_.empty()) return;
  // Any other number of BOOL is 1.
  if (dtype_ == HEED_BOOL) dtype_ = HEED_F32;
  const bool is_float = dtype_ == HEED_F32 || dtype_ == HEED_F16 || dtype_ == HEED_BF16 || dtype_ == HEED_F64;
  constexpr double kElements[] = {2, NAN, -HUGE_VAL, 0.5};
  wrong_element_ = is_float ? kElements[choice - 3] : 2;
}

std::vector<int64_t> RowMask::visible(int64_t b) const {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < num_rows_; ++row) {
    if (shows(b, row)) rows.push_back(row);
  }
  return rows;
}

capi_test::Tensor RowMask::tensor(heed_context* context, int64_t first, int64_t count) const {
  if (has_wrong_dims_) return capi_test::make_tensor(context, wrong_dims_, dtype_);
  const capi_test::Dims dims = {count, num_rows_};
  std::vector<double> elements;
  for (int64_t b = first; b < first + count; ++b) {
    for (int64_t row = 0; row < num_rows_; ++row) elements.push_back(shows(b, row) ? 1 : 0);
  }
  if (wrong_element_ && !elements.empty()) elements.front() = *wrong_element_;
  const capi_test::Tensor numbers = capi_test::make_tensor_of(context, dims, elements);
  capi_test::Tensor tensor = capi_test::make_tensor(context, dims, dtype_);
  require(succeeded(heed_tensor_copy(tensor.get(), numbers.get())), "0 and 1 are numbers of every dtype");
  return tensor;
}

}  // namespace heed::fuzz
