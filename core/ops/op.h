// SPDX-License-Identifier: Apache-2.0
// The common header of all operations' problems. A plugin gets a problem as a pointer to this header.
#pragma once

#include <cstdint>

namespace heed {

// The number of an operation: that of its row in registry.h, which has the names.
enum class OpKind : int32_t;

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
