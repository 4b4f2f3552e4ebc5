// SPDX-License-Identifier: Apache-2.0
// heed_tensor_create_from: creates a tensor and its elements in one call.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "capi/support/counting_allocator.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

Tensor create_from(heed_context* context, heed_dtype dtype, const Dims& dims, const void* data) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_create_from(context, dtype, static_cast<int32_t>(dims.size()), dims.data(), data, &tensor));
  return Tensor(tensor);
}

constexpr heed_dtype kCreatedDTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32,
                                         HEED_I64, HEED_I8,  HEED_U8,   HEED_BOOL};

TEST(CreateFrom, GivesTheSameBitsAsCreateAndWrite) {
  const Context context = make_context();
  // Every byte value, NaNs, and BOOL bytes other than 0 and 1.
  std::vector<uint8_t> bytes(4096);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  for (const heed_dtype dtype : kCreatedDTypes) {
    for (const Dims& dims :
         {Dims{}, Dims{1}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{1, 2, 1, 2, 1, 2, 1, 2}, Dims{3, 0, 2}}) {
      SCOPED_TRACE(dtype);
      const Tensor made = create_from(context.get(), dtype, dims, bytes.data());
      const Tensor written = make_tensor(context.get(), dims, dtype);
      check(heed_tensor_write(written.get(), bytes.data(), heed_tensor_num_bytes(written.get())));
      EXPECT_EQ(heed_tensor_dtype(made.get()), dtype);
      EXPECT_EQ(dims_of(made.get()), dims);
      EXPECT_EQ(strides_of(made.get()), strides_of(written.get()));
      EXPECT_EQ(read_bytes(made.get()), read_bytes(written.get()));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(heed_tensor_data(made.get())) % 64, 0u);
    }
  }
}

TEST(CreateFrom, CopiesItsDataFromAnyAddress) {
  const Context context = make_context();
  std::vector<uint8_t> bytes(4 * sizeof(float) + 1);
  const float elements[] = {1.5f, -2, 0, 8};
  std::memcpy(bytes.data() + 1, elements, sizeof elements);
  const Tensor made = create_from(context.get(), HEED_F32, {2, 2}, bytes.data() + 1);
  bytes.assign(bytes.size(), 0);
  EXPECT_EQ(read_elements<float>(made.get()), (std::vector<float>{1.5f, -2, 0, 8}));
  check(heed_tensor_fill(made.get(), 3));  // the tensor can be written
  EXPECT_EQ(read_elements<float>(made.get()), (std::vector<float>{3, 3, 3, 3}));
}

TEST(CreateFrom, NeedsDataOnlyIfThereAreElements) {
  const Context context = make_context();
  const Tensor empty = create_from(context.get(), HEED_F32, {2, 0}, nullptr);
  EXPECT_EQ(heed_tensor_num_elements(empty.get()), 0);
  const int64_t dims[] = {2, 3};
  const int64_t too_many[] = {INT64_MAX, 3};
  const float data[6] = {};
  expect_refused({
      {"data",
       [&](OutParameters& out) {
         return heed_tensor_create_from(context.get(), HEED_F32, 2, dims, nullptr, &out.tensor);
       },
       invalid({"data is NULL"})},
      {"data of rank 0",
       [&](OutParameters& out) {
         return heed_tensor_create_from(context.get(), HEED_F32, 0, nullptr, nullptr, &out.tensor);
       },
       invalid({"data is NULL"})},
      {"dtype",
       [&](OutParameters& out) {
         return heed_tensor_create_from(context.get(), static_cast<heed_dtype>(9), 2, dims, data, &out.tensor);
       },
       invalid({"dtype is 9"})},
      {"rank",
       [&](OutParameters& out) { return heed_tensor_create_from(context.get(), HEED_F32, 9, dims, data, &out.tensor); },
       invalid({"rank is 9"})},
      {"dims that overflow",
       [&](OutParameters& out) {
         return heed_tensor_create_from(context.get(), HEED_F32, 2, too_many, data, &out.tensor);
       },
       invalid({"dims is (9223372036854775807, 3)", "overflow"})},
  });
}

TEST(CreateFrom, TakesItsMemoryFromTheHostsAllocator) {
  CountingAllocator allocator;
  const Context context = allocator.make_context();
  const int64_t before = allocator.num_live_blocks();
  const std::vector<float> elements(1000, 2.0f);
  {
    const Tensor made = create_from(context.get(), HEED_F32, {1000}, elements.data());
    EXPECT_GT(allocator.num_live_blocks(), before);
    EXPECT_EQ(read_elements<float>(made.get()), elements);
  }
  EXPECT_EQ(allocator.num_live_blocks(), before);
}

}  // namespace
}  // namespace heed::capi_test
