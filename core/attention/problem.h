// SPDX-License-Identifier: Apache-2.0
// What a backend is asked to compute: plain structs that state one operation completely, already validated. A backend
// may assume everything that is written here, and needs nothing else.
//
// Plain data with fixed layouts, because these structs also cross into backends that are loaded as plugins.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace heed {

// Axes of an operand of attention and softmax, and of a linear operation (which uses the last three).
inline constexpr int kOperandRank = 4;
// Axes of an operand that is seen element by element: those of any tensor.
inline constexpr int kElementwiseRank = 8;

// A strided array that an operation reads or writes. Strides are in elements, 0 where an axis is repeated.
template <int rank>
struct StridedOperand {
  // Null when not given, and in problems that are only planned.
  void* data = nullptr;
  int64_t strides[rank] = {};
  DType dtype = DType::F32;
  // 1 when the operand takes part. Plans depend on it, never on data.
  int32_t given = 0;
};
using Operand = StridedOperand<kOperandRank>;
using ElementwiseOperand = StridedOperand<kElementwiseRank>;

// What decides which keys a query sees, but for masks and biases (attention/visible_keys.h): key k is visible to query q
// of batch element b only if k is less than the length of (b, q) and q + band_first <= k <= q + band_last.
struct KeyLimits {
  int64_t num_queries = 0;
  int64_t num_keys = 0;
  int64_t band_first = 0;
  int64_t band_last = 0;
  Operand valid_lens;  // axes (b, -, q, -), as in AttentionProblem
};

// Rows of each batch element that a linear operation computes, where its rows are keys or values of an attention.
enum class WantedRows : int32_t {
  All = 0,
  // From the first to the last key that some query of the element sees.
  Visible = 1,
  // Those; and all rows of an element that has a query which sees no key, since such a query averages all values.
  VisibleOrMean = 2,
};

// One weight that a linear operation multiplies its input by: output[h, s, r, d] = sum over e of input[s, r, e] *
// weight[n, e] + bias[n] with n = h * head_size + d, accumulated in f32 in the order of e. So a projection can write
// each head's rows by themselves; one head of the whole output size is the plain product.
struct LinearPart {
  int64_t output_size = 0;  // n
  int64_t head_size = 0;    // d, divides output_size
  Operand weight;           // axes (-, -, n, e); F32, F16, BF16
  Operand bias;             // axes (-, -, -, n); F32, F16, BF16; optional
  Operand output;           // axes (h, s, r, d); F32, F16, BF16
  // The weight once more, as the same device's pack_linear has laid it out. Null when it is not packed, and in problems
  // that are only planned.
  const void* packed = nullptr;
  // 1 when it is packed. Plans depend on it, never on the address.
  int32_t is_packed = 0;
  // Which rows are computed. The others of the output are not written, and need not lie in memory of the call. All
  // rows, unless the device's IntermediateForm allows others.
  WantedRows wanted_rows = WantedRows::All;
};

// Queries, keys and values of one tensor.
inline constexpr int32_t kMaxLinearParts = 3;

// Products of one input with as many weights. Each element of an output is its own sum, so that several parts in one
// problem give the same bits as one problem for each.
struct LinearProblem {
  int64_t batch = 0;       // s
  int64_t rows = 0;        // r
  int64_t input_size = 0;  // e
  Operand input;           // axes (-, s, r, e); F32, F16, BF16
  LinearPart parts[kMaxLinearParts];
  int32_t num_parts = 1;
  // Whose keys the rows are, where a part does not want all rows: num_keys is then `rows`. A problem whose parts all want
  // all rows may have those of another problem of its call; then they decide nothing.
  KeyLimits limits;
};

// weights[b, h, q, k] = exp(scores[b, h, q, k]) / sum over visible k' of exp(scores[b, h, q, k']), with the row's
// maximum subtracted from the scores, in f32, summed in the order of k. Key k is visible to row (b, q) iff k is less
// than its length; hidden weights are 0, and hidden scores are not read.
struct SoftmaxProblem {
  int64_t batch = 0;        // b
  int64_t num_heads = 0;    // h
  int64_t num_queries = 0;  // q
  int64_t num_keys = 0;     // k
  Operand scores;           // axes (b, h, q, k); F32, F16, BF16
  Operand valid_lens;       // axes (b, -, q, -); F32, I32, I64; whole numbers from 0 to num_keys; optional
  Operand weights;          // axes (b, h, q, k); F32, F16, BF16; shares no memory with the others
};

// output[i] = input[i] / (1 - dropout) where i is kept, else 0, with i the place of the element in row-major order;
// what is kept is docs/semantics.md's to say ("Random numbers"). With a dropout of 0 a copy, to the bit where the
// dtypes are the same.
struct DropoutProblem {
  int64_t sizes[kElementwiseRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  ElementwiseOperand input;   // F32, F16, BF16
  ElementwiseOperand output;  // F32, F16, BF16; shares no memory with the input
  uint64_t seed = 0;
  float dropout = 0.0f;  // 0 unless training
};

// Same numbers as HEED_EMPTY_ROWS_ and HEED_SCORING_; capi/src asserts it.
enum class EmptyRows : int32_t { Zero = 0, Mean = 1 };
enum class Scoring : int32_t { DotProduct = 0, Additive = 1 };

// One call of attention; the meaning of every member is docs/semantics.md, rule by rule.
struct AttentionProblem {
  int64_t batch = 0;            // b
  int64_t num_heads = 0;        // h, of queries
  int64_t num_kv_heads = 0;     // divides num_heads: head h reads key head h / (num_heads / num_kv_heads)
  int64_t num_queries = 0;      // q
  int64_t num_keys = 0;         // k
  int64_t head_size = 0;        // d, of queries and keys
  int64_t value_head_size = 0;  // d, of values

  // Keys and values that WantedRows leaves out for these limits may hold anything, or lie in no memory at all, on a
  // device whose IntermediateForm allows that.
  Operand queries;  // axes (b, h, q, d); one dtype of F32, F16, BF16 for these three
  Operand keys;     // axes (b, kv head, k, d)
  Operand values;   // axes (b, kv head, k, d)
  // axes (-, h, -, d); F32, F16, BF16; given iff scoring is Additive: the sum over d of these times tanh(query + key)
  // then takes the place of the product.
  Operand score_weights;
  Operand valid_lens;  // axes (b, -, q, -); F32, I32, I64; whole numbers from 0 to num_keys; optional
  Operand mask;        // axes (b, h, q, k); Bool, non-zero: may attend; optional
  Operand bias;        // axes (b, h, q, k); F32, F16, BF16; optional

  Operand output;       // axes (b, h, q, d); F32, F16, BF16; optional
  Operand weights;      // axes (b, h, q, k); F32, F16, BF16; optional
  Operand log_sum_exp;  // axes (b, h, q, -); F32; optional

  // Causal masks and windows together: key k is visible to query q only if q + band_first <= k <= q + band_last.
  // Unlimited sides are -num_queries and num_keys, so that the sums cannot overflow.
  int64_t band_first = 0;
  int64_t band_last = 0;

  uint64_t dropout_seed = 0;
  float scale = 1.0f;     // never 0
  float soft_cap = 0.0f;  // 0: off
  float dropout = 0.0f;   // 0 unless training
  EmptyRows empty_rows = EmptyRows::Zero;
  Scoring scoring = Scoring::DotProduct;
};

}  // namespace heed
