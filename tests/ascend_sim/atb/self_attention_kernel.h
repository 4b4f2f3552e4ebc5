// SPDX-License-Identifier: Apache-2.0
// The arithmetic of SelfAttentionOperation's encoder kernels on packed sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "acl/acl.h"

namespace ascend_sim::atb_library {

struct AttentionMask {
  enum class Effect {
    None,
    // score + (-3e38) * mask, in float: 0 keeps, 1 hides.
    TimesMinus3e38,
    // score + mask
    Raw,
  };
  Effect effect = Effect::None;
  // In elements; 0 if all sequences, or all heads, share one mask.
  size_t sequence_stride = 0;
  size_t head_stride = 0;
  size_t row_stride = 0;
  // The mask is 128 x 128 and is added to the key block at the diagonal; earlier keys are all visible.
  bool is_compressed = false;
  // Key blocks after the diagonal one (the one with the index of the query block) are not computed.
  bool is_triangular = false;
};

struct AttentionProblem {
  aclDataType dtype;
  // Whether this is the fp16 kernel that computes scores in binary16.
  bool is_half_kernel;
  size_t num_heads;
  size_t num_kv_heads;
  size_t head_size;
  size_t value_head_size;
  float scale;
  std::vector<int32_t> query_lengths;
  std::vector<int32_t> key_lengths;
  AttentionMask mask;
};

// query: (tokens, num_heads, head_size); key, value: (tokens, num_kv_heads, head size); output: like query, with
// value_head_size.
void run_attention(const AttentionProblem& problem, const void* query, const void* key, const void* value,
                   const void* mask, void* output);

}  // namespace ascend_sim::atb_library
