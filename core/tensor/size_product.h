// SPDX-License-Identifier: Apache-2.0
// The product of the sizes of a shape from a file. The sizes may be arbitrary numbers, so overflow is detected.
#pragma once

#include <cstdint>

#include "base/checked.h"

namespace heed {

class SizeProduct {
 public:
  // False if the product of the sizes other than 0 overflows int64_t.
  [[nodiscard]] bool multiply(int64_t size) {
    if (size == 0) {
      has_zero_ = true;
      return true;
    }
    return checked_multiply(without_zeros_, size, without_zeros_);
  }

  int64_t num_elements() const { return has_zero_ ? 0 : without_zeros_; }

  // The product of the sizes other than 0. Strides are products of these, so a size of 0 must not hide an overflow.
  int64_t without_zeros() const { return without_zeros_; }

 private:
  int64_t without_zeros_ = 1;
  bool has_zero_ = false;
};

}  // namespace heed
