// SPDX-License-Identifier: Apache-2.0
// What plan_attention decides and run_attention follows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::cpu {

// The kernels that a call uses. With lengths, or in a ragged batch, its batch elements may need both.
enum class AttentionKernels : int32_t { Flash, Decode, Both };

struct AttentionChoice {
  AttentionKernels kernels = AttentionKernels::Flash;
  // Decode only: 1 if the keys of a task are cut into chunks for several threads.
  int32_t is_cut = 0;
  // For each kernel: the rows of a task, the number of workers with scratch memory, and the bytes of each worker's.
  int64_t flash_rows = 0;
  int64_t decode_rows = 0;
  int32_t flash_workers = 0;
  int32_t decode_workers = 0;
  size_t flash_worker_bytes = 0;
  size_t decode_worker_bytes = 0;
  double work = 0;  // of the call, in FLOPs
};

}  // namespace heed::cpu
