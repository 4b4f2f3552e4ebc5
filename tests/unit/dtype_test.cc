// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace heed {
namespace {

TEST(DType, HasANameAndASizeOfItsOwn) {
  std::set<std::string> names;
  for (int32_t value = 0; value < kNumDTypes; ++value) {
    const auto dtype = static_cast<DType>(value);
    names.insert(name_of(dtype));
    EXPECT_TRUE(size_of(dtype) == 1 || size_of(dtype) == 2 || size_of(dtype) == 4 || size_of(dtype) == 8)
        << name_of(dtype);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumDTypes));
}

TEST(DType, IsFoundByAnyOfItsProperties) {
  EXPECT_EQ(find_dtype([](DType dtype) { return std::string(name_of(dtype)) == "BOOL"; }), DType::Bool);
  EXPECT_EQ(find_dtype([](DType dtype) { return size_of(dtype) == 2; }), DType::F16);
  EXPECT_EQ(find_dtype([](DType dtype) { return size_of(dtype) == 3; }), std::nullopt);
}

TEST(DType, OperationsComputeWithThreeOfFourFloatTypes) {
  for (int32_t value = 0; value < kNumDTypes; ++value) {
    const auto dtype = static_cast<DType>(value);
    const bool is_narrow = dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
    EXPECT_EQ(is_computable(dtype), is_narrow) << name_of(dtype);
    EXPECT_EQ(is_floating(dtype), is_narrow || dtype == DType::F64) << name_of(dtype);
  }
}

}  // namespace
}  // namespace heed
