// SPDX-License-Identifier: Apache-2.0
#include "tensor/size_product.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(SizeProduct, OfNoSizesIsOne) {
  const SizeProduct product;
  EXPECT_EQ(product.num_elements(), 1);
  EXPECT_EQ(product.without_zeros(), 1);
}

TEST(SizeProduct, AZeroLeavesNoElementsButHidesNoOtherSize) {
  SizeProduct product;
  for (const int64_t size : {3, 0, 5, 0}) EXPECT_TRUE(product.multiply(size));
  EXPECT_EQ(product.num_elements(), 0);
  EXPECT_EQ(product.without_zeros(), 15);
}

TEST(SizeProduct, TellsAnOverflowBehindAZero) {
  SizeProduct product;
  EXPECT_TRUE(product.multiply(INT64_MAX));
  EXPECT_TRUE(product.multiply(0));
  EXPECT_TRUE(product.multiply(1));
  EXPECT_FALSE(product.multiply(2));
}

}  // namespace
}  // namespace heed
