// SPDX-License-Identifier: Apache-2.0
// The definition of attention in f64, one row after the other, without optimizations. Every backend is compared with
// it.
//
// Inputs are dense row-major f64 copies of the caller's tensors. The head axis always exists (size 1 for rank 3).
// Lengths, mask and bias have been repeated to their full shapes. The rules are those of docs/semantics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "reference/number_format.h"

namespace heed::reference {

enum class Alignment { None, TopLeft, BottomRight };
enum class EmptyRows { Zero, Mean };
enum class Scoring { DotProduct, Additive };

struct AttentionOptions {
  Scoring scoring = Scoring::DotProduct;
  double scale = 0;     // 0: 1/sqrt(head_size)
  double soft_cap = 0;  // 0: off
  Alignment causal = Alignment::None;
  Alignment window = Alignment::None;
  int64_t window_left = -1;  // negative: unlimited
  int64_t window_right = -1;
  EmptyRows empty_rows = EmptyRows::Zero;
  double dropout = 0;
  bool training = false;
  uint64_t dropout_seed = 0;

  bool drops() const { return training && dropout > 0; }
};

// The sizes B, H, Hkv, Q, K, D, Dv in the shapes below.
struct AttentionSizes {
  int64_t batch = 0;
  int64_t num_heads = 1;
  int64_t num_kv_heads = 1;
  int64_t num_queries = 0;
  int64_t num_keys = 0;
  int64_t head_size = 1;
  int64_t value_head_size = 1;
};

// A bias for each bucket of distances from query to key, as T5's.
struct RelativeBias {
  std::vector<double> weight;  // (buckets, H); empty: none
  int64_t num_buckets = 0;
  int64_t max_distance = 0;
  bool both_ways = false;
};

// What determines which keys a query sees, and what is added to the scores. An empty vector: not given.
struct AttentionLimits {
  // (B): how many of the queries and keys belong to a batch element; the others are padding. Empty: all.
  std::vector<int64_t> query_counts;
  std::vector<int64_t> key_counts;
  std::vector<int64_t> positions;      // (B, Q): the position of each query
  std::vector<int64_t> key_positions;  // (B, K): that of each key; empty: 0, 1, ...
  bool compares_rows = false;          // Causal masks compare rows, not positions.
  std::vector<double> lengths;         // (B, Q)
  std::vector<uint8_t> mask;           // (B, H, Q, K), non-zero: visible
  std::vector<double> bias;            // (B, H, Q, K), -inf hides
  // (H): adds -slope * |position of the query - that of the key|, which hides nothing.
  std::vector<double> alibi_slopes;
  double slope_roundings = 0;  // how many roundings an engine's slopes have behind them
  RelativeBias relative_bias;
  std::vector<double> sinks;  // (H): a score of each row of the head that has no value

  bool add_to_scores() const { return !bias.empty() || !alibi_slopes.empty() || !relative_bias.weight.empty(); }
};

// Numbers, and for each the largest difference of an engine's result before it is rounded to the output's format. An
// infinite error states no bound, since an f32 engine may overflow in an intermediate result: any result is accepted.
// For a NaN with an infinite error any non-finite result is.
struct Bounded {
  std::vector<double> values;
  std::vector<double> errors;
  // Non-zero: the result may also be NaN, since the engine multiplies hidden values by 0 (rule 8). Empty: no result
  // may.
  std::vector<uint8_t> may_be_nan;

  explicit Bounded(size_t size = 0) : values(size), errors(size) {}
};

// Inputs as an engine reads them: exact, or rounded to the format in which it computes.
Bounded as_read(const std::vector<double>& values, std::optional<Format> compute_format);

// Keys that every row sees, whatever hides others. Nothing is added to their scores. They follow the keys of `weights`,
// and dropout numbers them after those of the batch element.
struct ConstantKeys {
  int64_t count = 0;
  Bounded keys;    // (Hkv, count, D)
  Bounded values;  // (Hkv, count, Dv)
};

struct AttentionProblem {
  // The format to which the engine rounds operands and intermediate results; none for an engine that computes in f32.
  std::optional<Format> compute_format;
  AttentionSizes sizes;
  AttentionOptions options;
  AttentionLimits limits;
  // For inputs that the engine reads exactly, `errors` may be empty.
  Bounded queries;  // (B, H, Q, D)
  Bounded keys;     // (B, Hkv, K, D)
  Bounded values;   // (B, Hkv, K, Dv)
  ConstantKeys constant_keys;
  std::vector<double> score_weights;  // (H, D), with additive scoring
};

struct AttentionResult {
  Bounded output;       // (B, H, Q, Dv)
  Bounded weights;      // (B, H, Q, K + constant keys), before dropout
  Bounded log_sum_exp;  // (B, H, Q)
};

AttentionResult attention(const AttentionProblem& problem);

}  // namespace heed::reference
