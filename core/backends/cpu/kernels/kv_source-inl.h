// SPDX-License-Identifier: Apache-2.0
// Addresses of keys and values. run_of is the only kernel function that depends on their layout.
#pragma once

#include "backends/cpu/kernels/elements-inl.h"
#include "backends/cpu/kernels/simd.h"
#include "ops/kv_source.h"
#include "ops/sequence.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Rows of keys or values with a constant stride.
struct RowRun {
  const char* data;  // the first element of the first row
  int64_t stride;    // from row to row, in elements
  int64_t count;     // rows, at least 1
};

// The run that begins with key k0 of a sequence; it ends at key k1 or earlier. k0 < k1.
HEED_INLINE RowRun run_of(const KvSource& source, const Sequence& sequence, int64_t batch_index, int64_t kv_head,
                          int64_t k0, int64_t k1) {
  const Operand& rows = source.rows;
  switch (source.layout) {
    case KvLayout::Strided: {
      const int64_t index =
          batch_index * rows.strides[0] + kv_head * rows.strides[1] + (sequence.key_begin + k0) * rows.strides[2];
      return {element_address(rows, index), rows.strides[2], k1 - k0};
    }
    case KvLayout::Ring:
    case KvLayout::Paged: break;  // refused by plan_attention
  }
  __builtin_unreachable();
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
