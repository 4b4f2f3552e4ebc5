// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/zero_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace heed::cpu {
namespace {

// An operand over (2, 3, 4, 5) elements of U16 patterns in these strides, of which each element knows its index.
struct Elements {
  explicit Elements(const std::array<int64_t, kOperandRank>& strides) {
    operand.data = values.data();
    operand.dtype = DType::F16;
    operand.given = 1;
    std::copy(strides.begin(), strides.end(), operand.strides);
  }
  uint16_t at(int64_t h, int64_t s, int64_t r, int64_t d) const {
    return values[static_cast<size_t>(index_in(operand, {h, s, r, d}))];
  }
  int64_t num_zeros() const { return std::count(values.begin(), values.end(), 0); }

  std::vector<uint16_t> values = std::vector<uint16_t>(1000, 0x5a5a);
  Operand operand;
};

TEST(ZeroRows, WritesTheRowsOfARangeAndNothingElse) {
  for (const std::array<int64_t, kOperandRank>& strides :
       {std::array<int64_t, kOperandRank>{60, 20, 5, 1}, {1, 2, 6, 24}, {120, 40, 10, 2}}) {
    Elements elements(strides);
    zero_rows(elements.operand, {1, 2, 0, 1}, {1, 3}, 3);
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t s = 0; s < 3; ++s) {
        for (int64_t r = 0; r < 4; ++r) {
          for (int64_t d = 0; d < 5; ++d) {
            const bool is_zero = h == 1 && s == 2 && (r == 1 || r == 2) && d >= 1 && d < 4;
            EXPECT_EQ(elements.at(h, s, r, d), is_zero ? 0 : 0x5a5a);
          }
        }
      }
    }
    EXPECT_EQ(elements.num_zeros(), 6);
  }
}

TEST(ZeroRows, WritesNothingForNothing) {
  Elements elements({60, 20, 5, 1});
  zero_rows(elements.operand, {0, 0, 0, 0}, {2, 2}, 5);
  zero_rows(elements.operand, {0, 0, 0, 0}, {0, 4}, 0);
  zero_elements(elements.operand, {0, 0, 0, 0}, -3);
  EXPECT_EQ(elements.num_zeros(), 0);
}

}  // namespace
}  // namespace heed::cpu
