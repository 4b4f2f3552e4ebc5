// SPDX-License-Identifier: Apache-2.0
// What plan_attention decides and run_attention follows.
#pragma once

#include <cstdint>

#include "backends/cpu/engine/scratch.h"

namespace heed::cpu {

// The kernels that a call uses. With lengths, or in a ragged batch, its batch elements may need both.
enum class AttentionKernels : int32_t { Flash, Decode, Both };

struct AttentionChoice {
  AttentionKernels kernels = AttentionKernels::Flash;
  // Decode only: 1 if the keys of a task are cut into chunks for several threads.
  int32_t is_cut = 0;
  // For each kernel: the rows of a task, and its scratch memory.
  int64_t flash_rows = 0;
  int64_t decode_rows = 0;
  ScratchLayout flash_scratch;
  ScratchLayout decode_scratch;
  double work = 0;  // of the call, in FLOPs
};

}  // namespace heed::cpu
