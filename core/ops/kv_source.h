// SPDX-License-Identifier: Apache-2.0
// How the keys or values of an attention are stored.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

// The layout of the rows. A device's plan refuses layouts that it does not support.
enum class KvLayout : int32_t {
  Strided = 0,  // row k is k strides after row 0
  Ring = 1,     // the last rows of a sequence, in a circular buffer
  Paged = 2,    // rows in pages of a pool, found through a table
};

struct KvSource {
  Operand rows;  // axes (b, kv head, k, d)
  KvLayout layout = KvLayout::Strided;
};

}  // namespace heed
