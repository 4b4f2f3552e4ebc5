// SPDX-License-Identifier: Apache-2.0
// What the object of an ISA exports: one table, of which one is chosen for the process.
#pragma once

#include "backends/cpu/kernels/attention.h"

namespace heed::cpu {

struct KernelTable {
  const char* isa;  // as HEED_ISA names it
  int32_t lanes;    // f32 in a vector

  // ---- flash_attention ----
  int32_t flash_panel_rows;  // rows of a panel
  int32_t flash_block_keys;
  int32_t tile_rows;  // of the micro-kernel; it has two vectors
  // Bytes that an item of so many rows needs.
  size_t (*flash_scratch_bytes)(const AttentionArguments* arguments, int64_t num_rows);
  void (*flash_attention)(const AttentionArguments* arguments, const AttentionItem* item, void* scratch);
};

extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;
#elif defined(__aarch64__)
extern const KernelTable kNeonKernels;
#endif

}  // namespace heed::cpu
