// SPDX-License-Identifier: Apache-2.0
// What plan_attention decides and run_attention obeys.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heed::cpu {

// Which kernels a call uses. Which of the two is for a batch element depends on its sizes alone, as its bits do. So a
// ragged batch may need both.
enum class AttentionKernels : int32_t { Flash, Decode, Both };

struct AttentionChoice {
  AttentionKernels kernels = AttentionKernels::Flash;
  // Decode: whether the keys of a task are cut into chunks for several threads.
  int32_t is_cut = 0;
  // Rows of a task, and for how many workers there is scratch, of so many bytes each.
  int64_t flash_rows = 0;
  int64_t decode_rows = 0;
  int32_t flash_workers = 0;
  int32_t decode_workers = 0;
  size_t flash_worker_bytes = 0;
  size_t decode_worker_bytes = 0;
  double work = 0;  // of the call, in FLOPs
};

}  // namespace heed::cpu
