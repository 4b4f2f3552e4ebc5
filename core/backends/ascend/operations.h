// SPDX-License-Identifier: Apache-2.0
// The operations of ATB that heed asks for, each as one function on dense arrays. Results are made by the caller or
// returned; nothing waits for the device.
//
// To come, in the same form: ReshapeAndCacheOperation and PagedAttentionOperation for paged key-value caches, LayerNorm
// and Activation for blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/ascend/npu.h"

namespace heed::ascend {

// x (m, k) or (b, m, k) times weight (n, k), with transpose_weight false (k, n), or (b, n, k) and (b, k, n). Products in
// f32, rounded to the dtype; with a bias (n) the sum is rounded once more.
void linear(Npu& npu, const DeviceArray& x, const DeviceArray& weight, bool transpose_weight, const DeviceArray* bias,
            const DeviceArray& output);

// Between F32 and the 16-bit types, rounded to nearest even.
void cast(Npu& npu, const DeviceArray& input, const DeviceArray& output);

// input * factor, rounded.
void multiply(Npu& npu, const DeviceArray& input, float factor, const DeviceArray& output);

// a + b, where axes of 1 in b are repeated.
void add(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output);

// Over the last axis.
void softmax(Npu& npu, const DeviceArray& input, const DeviceArray& output);

// output axis i is input axis order[i]; any dtype of 1, 2, 4 or 8 bytes.
void transpose(Npu& npu, const DeviceArray& input, const std::vector<int32_t>& order, const DeviceArray& output);

// output[i, ...] = input[indices[i], ...]; indices are I32 (n).
void gather(Npu& npu, const DeviceArray& input, const DeviceArray& indices, const DeviceArray& output);

// Along the last axis; F16 and BF16.
void concatenate(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output);

// The first elements along the last axis, as many as the output has.
void keep_first(Npu& npu, const DeviceArray& input, const DeviceArray& output);

// 0 where the mask, of bytes, is not 0, otherwise the input, bit by bit; axes of 1 in the mask are repeated. F32, and the
// 16-bit types where the last axis is even and the mask's is 1.
void clear_where(Npu& npu, const DeviceArray& input, const DeviceArray& mask, const DeviceArray& output);

// Masks of a fused attention, whose dtype is the queries'.
enum class FusedMask {
  None,      // each query sees all keys of its sequence
  Hide,      // (q, k) or (b, q, k): 0 is visible, 1 hidden
  Triangle,  // (128, 128) with 1 above the diagonal: key j is visible to query i iff j <= i. Heads of up to 128 elements,
             // or from 208 on
  Additive,  // (h, s, s) or (b, h, s, s), added to the scores
};

struct FusedAttention {
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  float scale = 1.0f;
  FusedMask mask = FusedMask::None;
};

// Sequences one after the other, without gaps: queries (tokens, heads, d), keys and values (tokens, kv heads, d), all
// of one 16-bit dtype. lengths: 2 * n numbers in the host's memory, the queries of each of n sequences and then the
// keys, none of them 0. With a mask some sequence has as many keys as any has queries.
void fused_attention(Npu& npu, const FusedAttention& parameters, const DeviceArray& queries, const DeviceArray& keys,
                     const DeviceArray& values, const DeviceArray& mask, std::vector<int32_t>& lengths,
                     const DeviceArray& output);

}  // namespace heed::ascend
