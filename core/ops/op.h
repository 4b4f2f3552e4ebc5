// SPDX-License-Identifier: Apache-2.0
// The common header of all operations' problems. A plugin gets a problem as a pointer to this header.
#pragma once

#include <cstdint>

namespace heed {

// The operations. Add a new one at the end, here and in registry.h.
enum class OpKind : int32_t {
  Linear = 0,
  Attention = 1,
  Softmax = 2,
  Dropout = 3,
  Merge = 4,
  Rotations = 5,
  Positions = 6,
  Norm = 7,
  Embedding = 8,
  Activate = 9
};

// The first member of each problem. A problem is a plain struct with a fixed layout.
struct Op {
  OpKind kind;
  uint32_t num_bytes;  // the size of the whole problem
};

// The kind's bit in Backend::operations.
constexpr uint64_t bit_of(OpKind kind) { return uint64_t{1} << static_cast<uint32_t>(kind); }

// The problem whose first member is `op`. Problem must be the type for op.kind.
template <typename Problem>
const Problem& problem_of(const Op& op) {
  return reinterpret_cast<const Problem&>(op);
}
template <typename Problem>
Problem& problem_of(Op& op) {
  return reinterpret_cast<Problem&>(op);
}

}  // namespace heed
