// SPDX-License-Identifier: Apache-2.0
// The widest row whose scratch memory the CPU can address.
#pragma once

#include <cinttypes>
#include <cstdint>

#include "base/error.h"

namespace heed::cpu {

// With a larger width the scratch of a tile with one row could not be addressed. No tensor with data is that wide.
inline constexpr int64_t kMaxWidth = int64_t{1} << 40;

// Throws InvalidArgument if a width, which is called `name` in the sentence, is larger.
inline void require_width(const char* name, int64_t width) {
  if (width > kMaxWidth) {
    fail(Status::InvalidArgument,
         "%s is %" PRId64 ", expected at most %" PRId64 ": its scratch memory could not be addressed", name, width,
         kMaxWidth);
  }
}

}  // namespace heed::cpu
