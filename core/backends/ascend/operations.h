// SPDX-License-Identifier: Apache-2.0
// The operations of ATB that heed uses, each as a function on dense arrays. The caller allocates the output. No
// function waits for the device.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/ascend/npu.h"
#include "ops/activation.h"

namespace heed::ascend {

// x (m, k) or (b, m, k) times weight (n, k) or (b, n, k); without transpose_weight the weight is (k, n) or (b, k, n).
// Sums are accumulated in f32 and rounded to the dtype; a bias (n) is added to the rounded result, and that sum is
// rounded again.
void linear(Npu& npu, const DeviceArray& x, const DeviceArray& weight, bool transpose_weight, const DeviceArray* bias,
            const DeviceArray& output);

// Converts between F32 and a 16-bit dtype, rounded to nearest, ties to even.
void cast(Npu& npu, const DeviceArray& input, const DeviceArray& output);

// ATB takes a factor, such as that of multiply or the scale of an attention, for that of an earlier call of the same sizes
// if they differ by less than 1e-6. For factors below this, that error is larger than the rounding of F16.
inline constexpr float kMinFactor = 1.0f / 256.0f;
inline constexpr const char* kTooSmallFactor = "ATB's Elewise cannot tell factors below 1/256 apart";

// output = input * factor, rounded to the dtype. For F16 the factor is rounded to F16 first.
void multiply(Npu& npu, const DeviceArray& input, float factor, const DeviceArray& output);

// output = a * b; F16 and BF16. The output may be an input.
void multiply(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output);

// output = a + b. Axes of size 1 in b are repeated. The output may be an input.
void add(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output);

// In f32 with one rounding. Relu: F32 and BF16; Gelu and GeluTanh: F32, F16 and BF16; GeluQuick and Silu: F16 and BF16.
void activate(Npu& npu, Activation activation, const DeviceArray& input, const DeviceArray& output);

// Over the last axis.
void softmax(Npu& npu, const DeviceArray& input, const DeviceArray& output);

// Each row x of the last axis becomes (x - mean of x) / sqrt(variance of x + epsilon) * weight + bias, in f32 with one
// rounding. The weight and the bias are one row. F32, F16 and BF16.
void layer_norm(Npu& npu, const DeviceArray& x, const DeviceArray& weight, const DeviceArray& bias, float epsilon,
                const DeviceArray& output);

// Each row x of the last axis, a multiple of 16 elements, becomes x / sqrt(mean of x^2 + epsilon) * weight, in f32 with
// one rounding. The weight is one row. F16 and BF16.
void rms_norm(Npu& npu, const DeviceArray& x, const DeviceArray& weight, float epsilon, const DeviceArray& output);

// Rotates queries (tokens, h * d) and keys (tokens, g * d), F16 or BF16: with c and s the rows of cosines and sines of a
// token, (tokens, d), element i of each head becomes x[i] c[i] - x[i + d/2] s[i] in the head's first half and x[i] c[i] +
// x[i - d/2] s[i] in the second one, in f32 with one rounding. d is a multiple of 32, at most kMaxRotated, in BF16 at
// most kMaxRotatedInBf16; g divides h. Cosines and sines are F32 for F16, and BF16 for BF16.
inline constexpr int64_t kMaxRotated = 4096;
// With more, ATB's kernel for 64 tokens or more divides by 0.
inline constexpr int64_t kMaxRotatedInBf16 = 2048;
inline constexpr int64_t kRotatedUnit = 32;
void rotate(Npu& npu, const DeviceArray& queries, const DeviceArray& keys, const DeviceArray& cosines,
            const DeviceArray& sines, const DeviceArray& rotated_queries, const DeviceArray& rotated_keys);

// output axis i is input axis order[i]; any dtype of 1, 2, 4 or 8 bytes.
void transpose(Npu& npu, const DeviceArray& input, const std::vector<int32_t>& order, const DeviceArray& output);

// output[i, ...] = input[indices[i], ...]; indices are I32 (n).
void gather(Npu& npu, const DeviceArray& input, const DeviceArray& indices, const DeviceArray& output);

// Along the last axis; F16 and BF16.
void concatenate(Npu& npu, const DeviceArray& a, const DeviceArray& b, const DeviceArray& output);

// The first elements along the last axis, as many as the output has.
void keep_first(Npu& npu, const DeviceArray& input, const DeviceArray& output);

// The input with zeros where the mask is not 0; other elements keep their bits. The mask has one byte for each element,
// and its axes of size 1 are repeated. F32, or a 16-bit dtype if the last axis is even and the mask's last axis has
// size 1.
void clear_where(Npu& npu, const DeviceArray& input, const DeviceArray& mask, const DeviceArray& output);

// The mask of a fused attention. Its dtype is that of the queries.
enum class FusedMask {
  None,      // each query sees all keys of its sequence; no mask
  Hide,      // (q, k) or (b, q, k): 0 is visible, 1 hidden
  Triangle,  // (128, 128) with 1 above the diagonal: key j is visible to query i iff j <= i. Heads of up to 128 elements,
             // or from 208 on
  Additive,  // (h, s, s) or (b, h, s, s): added to the scores
};

struct FusedAttention {
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  float scale = 1.0f;
  FusedMask mask = FusedMask::None;
};

// Attention of packed sequences, which follow one another without gaps: queries (tokens, heads, d), keys and values
// (tokens, kv heads, d), all of one 16-bit dtype. `lengths` are 2 * n numbers in the host's memory: the number of
// queries of each of the n sequences and then the number of keys of each, all at least 1. With a mask, at least one
// sequence has as many keys as the largest number of queries of a sequence.
void fused_attention(Npu& npu, const FusedAttention& parameters, const DeviceArray& queries, const DeviceArray& keys,
                     const DeviceArray& values, const DeviceArray& mask, std::vector<int32_t>& lengths,
                     const DeviceArray& output);

// Copies keys and values (tokens, kv heads, d) to rows of caches (pages, page rows, kv heads, d), in place: token t goes to
// row slots[t] % page rows of page slots[t] / page rows, if slots[t], I32, is not negative. No two tokens have the same.
void store_in_cache(Npu& npu, const DeviceArray& keys, const DeviceArray& values, const DeviceArray& slots,
                    const DeviceArray& key_cache, const DeviceArray& value_cache);

// Attention of tokens with one query each: queries (tokens, heads, d), all of one 16-bit dtype with the caches. Row t of
// `pages`, I32 (tokens, most pages), lists the pages of token t; it attends to their first lengths[t] rows, at least 1. A
// page has a multiple of 16 rows and at most 16384 elements of a head. Without a mask.
void paged_attention(Npu& npu, const FusedAttention& parameters, const DeviceArray& queries,
                     const DeviceArray& key_cache, const DeviceArray& value_cache, const DeviceArray& pages,
                     std::vector<int32_t>& lengths, const DeviceArray& output);

}  // namespace heed::ascend
