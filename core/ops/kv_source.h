// SPDX-License-Identifier: Apache-2.0
// Where the keys or the values of an attention lie.
#pragma once

#include <cstdint>

#include "ops/operand.h"

namespace heed {

// How the rows of a source are laid out. A device's plan refuses the layouts that it does not have.
enum class KvLayout : int32_t {
  Strided = 0,  // row k is k strides after row 0
  Ring = 1,     // the last rows of a sequence, written round and round in one buffer
  Paged = 2,    // rows in pages of a pool, found through a table
};

struct KvSource {
  Operand rows;  // axes (b, kv head, k, d)
  KvLayout layout = KvLayout::Strided;
};

}  // namespace heed
