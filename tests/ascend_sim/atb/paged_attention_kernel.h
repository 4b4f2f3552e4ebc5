// SPDX-License-Identifier: Apache-2.0
// The computation of PagedAttentionOperation. The keys and values of a sequence are gathered from the blocks of the
// caches, and are then computed as SelfAttentionOperation computes packed ones. Assumed: the two round alike.
//
// A sequence with one token is computed with scores in float. One with more tokens has another kernel: for binary16 it is
// the one that computes scores in binary16; and it works on blocks of queries, for each of which it leaves out the cache
// blocks after the last key that a causal mask would show.
#pragma once

#include <cstddef>
#include <vector>

#include "acl/acl.h"
#include "atb/self_attention_kernel.h"

namespace ascend_sim::atb_library::paged {

// A sequence that has tokens and keys.
struct PagedSequence {
  // The row of the block tables, and the index in the batch.
  size_t index;
  size_t first_token;
  size_t num_tokens;
  size_t num_keys;
  // The first row of its mask, in elements.
  size_t mask_offset;
  // How many keys a causal mask would show to a token before the first one. Only for more than one token.
  size_t diagonal;
};

struct PagedProblem {
  aclDataType dtype;
  size_t num_heads;
  size_t num_kv_heads;
  size_t head_size;
  size_t value_head_size;
  float scale;
  int64_t num_blocks;
  size_t block_size;
  // Columns of the block tables.
  size_t most_blocks;
  AttentionMask mask;
  std::vector<PagedSequence> sequences;
};

// Of the device: query (tokens, num_heads, head_size); the caches (num_blocks, block_size, num_kv_heads, head size); the
// block tables, int32 (sequences, most_blocks); the mask; and the output, like query with value_head_size. A sequence
// with a block that is not in the caches is reported, and its rows of the output are not written.
void run_paged_attention(const PagedProblem& problem, const void* query, const void* key_cache, const void* value_cache,
                         const void* block_tables, const void* mask, void* output);

}  // namespace ascend_sim::atb_library::paged
