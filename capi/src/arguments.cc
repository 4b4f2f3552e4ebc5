// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <algorithm>
#include <cinttypes>

namespace heed::capi {

static_assert(static_cast<int>(HEED_F32) == static_cast<int>(DType::F32));
static_assert(static_cast<int>(HEED_F16) == static_cast<int>(DType::F16));
static_assert(static_cast<int>(HEED_BF16) == static_cast<int>(DType::BF16));
static_assert(static_cast<int>(HEED_F64) == static_cast<int>(DType::F64));
static_assert(static_cast<int>(HEED_I32) == static_cast<int>(DType::I32));
static_assert(static_cast<int>(HEED_I64) == static_cast<int>(DType::I64));
static_assert(static_cast<int>(HEED_I8) == static_cast<int>(DType::I8));
static_assert(static_cast<int>(HEED_U8) == static_cast<int>(DType::U8));
static_assert(static_cast<int>(HEED_BOOL) == static_cast<int>(DType::Bool));

DType read_dtype(heed_dtype dtype) {
  const auto value = static_cast<int32_t>(dtype);
  if (value < 0 || value >= kNumDTypes) {
    fail(Status::InvalidArgument, "dtype is %d, expected one of HEED_F32 (0) to HEED_BOOL (%d)", value, kNumDTypes - 1);
  }
  return static_cast<DType>(value);
}

Shape read_shape(int32_t rank, const int64_t* dims, bool allow_inferred) {
  if (rank < 0 || rank > kMaxRank) fail(Status::InvalidArgument, "rank is %d, expected 0 to %d", rank, kMaxRank);
  if (rank > 0) require(dims, "dims");
  Shape shape;
  shape.rank = rank;
  for (int32_t axis = 0; axis < rank; ++axis) {
    if (dims[axis] < 0 && !allow_inferred)
      fail(Status::InvalidArgument, "dims[%d] is %" PRId64 ", expected at least 0", axis, dims[axis]);
    shape[axis] = dims[axis];
  }
  return shape;
}

const Dims* read_strides(const Shape& shape, const int64_t* strides, Dims& storage) {
  if (strides == nullptr) return nullptr;
  std::copy_n(strides, shape.rank, storage.begin());
  return &storage;
}

void write_text(const std::string& result, char* text, size_t capacity, size_t* num_bytes) {
  if (text == nullptr && num_bytes == nullptr)
    fail(Status::InvalidArgument, "text and num_bytes are both NULL, expected at least one of them");
  if (text != nullptr) {
    if (capacity == 0)
      fail(Status::InvalidArgument, "capacity is 0, expected room for at least the terminating zero of text");
    const size_t length = std::min(result.size(), capacity - 1);
    std::memcpy(text, result.data(), length);
    text[length] = '\0';
  }
  if (num_bytes != nullptr) *num_bytes = result.size() + 1;
}

}  // namespace heed::capi
