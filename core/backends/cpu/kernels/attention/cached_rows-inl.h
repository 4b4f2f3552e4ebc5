// SPDX-License-Identifier: Apache-2.0
// One row of an attention over a cache: from products with the keys of a block to probabilities, and the result of a block
// as a part of the result of the row. Lanes are keys.
//
// A block of a row has a result of its own: the maximum of its scores, the sum of their exponentials and the sums of the
// values, relative to that maximum. It depends on nothing else. The blocks of a chunk are merged in order, then the
// chunks. So a row has the same bits however the rows, the keys and the threads are divided.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/block-inl.h"
#include "backends/cpu/kernels/attention/cached_tiles-inl.h"
#include "backends/cpu/kernels/attention/exponentials-inl.h"
#include "backends/cpu/kernels/attention/repaired_sums-inl.h"
#include "backends/cpu/kernels/attention/row_results-inl.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"
#include "backends/cpu/kernels/simd/tanh-inl.h"
#include "ops/cached_keys.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// ---- scores ---------------------------------------------------------------------------------------------------------

// What the scores of a row need beside the products.
struct RowTerms {
  const AttentionProblem* problem;
  const CachedRow* row;
  const CachedElement* element;
  const char* mask;  // of key 0; null: none
  const char* bias;
  int64_t first_of_mask;  // the key that is element 0 of the mask's last axis, and of the bias's
  int64_t first_of_bias;
  const float* relative_bias;  // [2 * max_distance + 1], of distances from -max_distance on; null: none
  int64_t key_position;        // of row 0 if the element has no positions
  int64_t query_position;
  float scale;
  float slope;  // of ALiBi, negated
  bool has_alibi;
  bool has_any;  // whether products are not the final scores of visible keys
};

HEED_INLINE const char* pair_row(const Operand& operand, const CachedRow& row, int64_t size) {
  if (operand.data == nullptr) return nullptr;
  return static_cast<const char*>(operand.data) +
         (row.batch_index * operand.strides[0] + row.head * operand.strides[1] + row.query * operand.strides[2]) * size;
}

static RowTerms find_terms(const AttentionArguments& arguments, const CachedRow& row, const float* relative_bias) {
  const AttentionProblem& problem = *arguments.problem;
  const CachedKeys& cached = problem.cached;
  const Sequence& sequence = *row.sequence;
  RowTerms terms = {};
  terms.problem = &problem;
  terms.row = &row;
  terms.element = row.element;
  terms.mask = pair_row(problem.mask, row, 1);
  if (problem.bias.data != nullptr) terms.bias = pair_row(problem.bias, row, size_of_element(problem.bias.dtype));
  const int64_t first_new = sequence.key_count - sequence.query_count;
  terms.first_of_mask = cached.mask_of_new_rows != 0 ? first_new : 0;
  terms.first_of_bias = cached.bias_of_new_rows != 0 ? first_new : 0;
  terms.key_position = sequence.key_position;
  terms.query_position = row.position;
  terms.scale = arguments.score_scale;
  terms.has_alibi = problem.alibi_slopes.data != nullptr;
  if (terms.has_alibi)
    terms.slope = -static_cast<const float*>(problem.alibi_slopes.data)[row.head * problem.alibi_slopes.strides[1]];
  if (problem.relative_bias.data != nullptr) {
    const int64_t group = problem.num_heads / problem.num_kv_heads;
    terms.relative_bias = relative_bias + row.head % group * (2 * problem.max_distance + 1);
  }
  terms.has_any = terms.scale != 1 || problem.soft_cap != 0 || terms.has_alibi || terms.relative_bias != nullptr ||
                  terms.mask != nullptr || terms.bias != nullptr || cached.has_window != 0;
  return terms;
}

// Elements k .. k + count - 1 of the row of a bias that begins with key `first`; 0 before it. Other lanes are 0.
static Vec load_bias(const Operand& operand, const char* row, int64_t first, int64_t k, int64_t count) {
  if (k < first) {
    float values[kLanes] = {};
    for (int64_t i = larger(0, first - k); i < count; ++i)
      values[i] =
          load_element(row + (k + i - first) * operand.strides[3] * size_of_element(operand.dtype), operand.dtype);
    return load(values);
  }
  if (operand.strides[3] == 0) return broadcast(load_element(row, operand.dtype));
  return gather_first_elements(row + (k - first) * operand.strides[3] * size_of_element(operand.dtype), operand.dtype,
                               operand.strides[3], count);
}

// Whether the mask shows each of the keys k .. k + count - 1.
static IntVec load_mask(const Operand& operand, const char* row, int64_t first, int64_t k, int64_t count) {
  uint8_t bytes[kLanes];
  const int64_t stride = operand.strides[3];
  if (stride == 1 && k >= first && count == kLanes) {
    __builtin_memcpy(bytes, row + (k - first), kLanes);
  } else {
    for (int64_t i = 0; i < kLanes; ++i)
      bytes[i] = i < count && k + i >= first ? static_cast<uint8_t>(row[(k + i - first) * stride]) : uint8_t{1};
  }
  return load_bytes(bytes) != IntVec{};
}

// position of the key - position of the query, for the keys of a vector.
HEED_INLINE IntVec distances_of(const RowTerms& terms, int64_t k, int64_t count) {
  if (terms.element->positions == nullptr)
    return lane_numbers() + static_cast<int32_t>(terms.key_position + k - terms.query_position);
  int32_t distances[kLanes] = {};
  for (int64_t i = 0; i < count; ++i)
    distances[i] = static_cast<int32_t>(terms.element->positions[k + i] - terms.query_position);
  return load(distances);
}

static Vec load_relative_bias(const RowTerms& terms, IntVec distances) {
  const auto most = static_cast<int32_t>(terms.problem->max_distance);
  const int32_t first = distances[0];
  if (terms.element->positions == nullptr && first >= -most && first + kLanes - 1 <= most)
    return load(terms.relative_bias + first + most);
  float biases[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const int32_t distance = distances[lane] < -most ? -most : (distances[lane] > most ? most : distances[lane]);
    biases[lane] = terms.relative_bias[distance + most];
  }
  return load(biases);
}

// Whether the row sees each key of the vector that begins with key k, by its range.
HEED_INLINE IntVec sees_by_range(const CachedRow& row, int64_t k) {
  const auto in = [&](KeyRange range) __attribute__((always_inline)) {
    const auto first = static_cast<int32_t>(smaller(larger(range.first - k, 0), kLanes));
    const auto end = static_cast<int32_t>(smaller(larger(range.end - k, 0), kLanes));
    return (lane_numbers() >= broadcast(first)) & (lane_numbers() < broadcast(end));
  };
  return in(row.keys.rows) | in(row.keys.sinks);
}

// Turns the product of `count` keys from key k on into their scores in the order of rule 3, and clears lanes of `sees`
// that mask, bias or window hide.
static Vec add_terms(const RowTerms& terms, int64_t k, int64_t count, Vec score, IntVec& sees) {
  const AttentionProblem& problem = *terms.problem;
  if (terms.scale != 1) score *= broadcast(terms.scale);
  if (problem.soft_cap != 0) {
    const float inverse = 1.0f / problem.soft_cap < __FLT_MAX__ ? 1.0f / problem.soft_cap : __FLT_MAX__;
    score = tanh(score * broadcast(inverse)) * broadcast(problem.soft_cap);
  }
  const CachedKeys& cached = problem.cached;
  if (terms.has_alibi || terms.relative_bias != nullptr || cached.has_window != 0) {
    const IntVec distances = distances_of(terms, k, count);
    if (terms.has_alibi) {
      const Vec distance = __builtin_convertvector(distances, Vec);
      score = fma(broadcast(terms.slope), from_bits(bits_of(distance) & broadcast(int32_t{0x7fffffff})), score);
    }
    if (terms.relative_bias != nullptr) score += load_relative_bias(terms, distances);
    if (cached.has_window != 0) {
      sees &= (distances >= broadcast(static_cast<int32_t>(-smaller(cached.window_left, INT32_MAX)))) &
              (distances <= broadcast(static_cast<int32_t>(smaller(cached.window_right, INT32_MAX))));
    }
  }
  Vec added{};
  if (terms.bias != nullptr) added = load_bias(problem.bias, terms.bias, terms.first_of_bias, k, count);
  if (terms.mask != nullptr) sees &= load_mask(problem.mask, terms.mask, terms.first_of_mask, k, count);
  if (terms.bias != nullptr) {
    score += added;
    sees &= added != broadcast(-kInfinity);
  }
  return score;
}

// The part of a block that one row is computed on: keys begin .. end - 1, from whole vectors. `block_key`: the block's
// first key.
struct RowPart {
  int64_t block_key;
  int64_t begin;
  int64_t end;

  HEED_INLINE_MEMBER int64_t first_vector() const { return begin / kLanes * kLanes - block_key; }
  HEED_INLINE_MEMBER int64_t end_vector() const { return round_up(end, kLanes) - block_key; }
};

// Turns products into scores; hidden ones become -inf. Returns whether the row sees a key of the part. `seen`: null, or
// gets -1 for each key that is seen, else 0.
static bool finish_row(const RowTerms& terms, const CachedBlock& block, RowPart part, float* scores, int32_t* seen) {
  const CachedRow& row = *terms.row;
  const bool is_scaled = terms.problem->cached.dtype == DType::I8;
  const int64_t first = part.first_vector();
  const int64_t end = part.end_vector();
  // Whether the row sees keys k .. k + count - 1, if nothing but its range hides any.
  const auto is_inside = [&](int64_t k, int64_t count) __attribute__((always_inline)) {
    return row.keys.rows.first <= k && k + count <= row.keys.rows.end && part.begin <= k && k + count <= part.end;
  };
  const bool are_scores = !terms.has_any && !is_scaled && seen == nullptr;
  if (are_scores && is_inside(part.block_key + first, end - first)) return true;
  IntVec any_seen{};
  for (int64_t i = first; i < end; i += kLanes) {
    const int64_t k = part.block_key + i;
    const bool is_whole = is_inside(k, kLanes);
    if (is_whole && are_scores) {
      any_seen = broadcast(int32_t{-1});
      continue;
    }
    Vec score = load(scores + i);
    if (is_scaled) score *= load(block.key_scales[i / kCacheTileRows] + i % kCacheTileRows);
    IntVec sees = broadcast(int32_t{-1});
    if (terms.has_any) score = add_terms(terms, k, smaller(kLanes, part.end - k), score, sees);
    if (!is_whole) {
      sees &= sees_by_range(row, k) & (lane_numbers() >= broadcast(static_cast<int32_t>(larger(part.begin - k, 0)))) &
              (lane_numbers() < broadcast(static_cast<int32_t>(smaller(part.end - k, kLanes))));
    }
    any_seen |= sees;
    store(scores + i, select(sees, score, broadcast(-kInfinity)));
    if (seen != nullptr) store(seen + i, sees);
  }
  return any(any_seen);
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Turns the scores of a part into probabilities relative to their maximum, for I8 times the scales of the values. Sets the
// numbers of the result.
static void exponentiate_row(const CachedBlock& block, bool is_scaled, RowPart part, float* scores, float* numbers) {
  const int64_t first = part.first_vector();
  const int64_t end = part.end_vector();
  // A NaN is never greater; it reaches the sums through its exponential.
  Vec largest[2] = {broadcast(-kInfinity), broadcast(-kInfinity)};
  int64_t i = first;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    largest[0] = max(load(scores + i), largest[0]);
    largest[1] = max(load(scores + i + kLanes), largest[1]);
  }
  if (i < end) largest[0] = max(load(scores + i), largest[0]);
  const Vec maximum = broadcast(maximum_of_lanes(max(largest[0], largest[1])));
  if (any(is_large(maximum))) {
    for (i = first; i < end; i += kLanes) store(scores + i, load(scores + i) - shift_of(maximum));
  }
  const Vec pivots[1] = {pivot_of(maximum)};
  // By the number of the vector in its block, so that the order of the sum does not depend on where the part begins.
  Vec total{};
  i = first;
  for (; i + 4 * kLanes <= end; i += 4 * kLanes) exponentiate_vectors<4>(scores + i, pivots, total);
  for (; i < end; i += kLanes) exponentiate_vectors<1>(scores + i, pivots, total);
  numbers[kMaximum] = maximum[0];
  numbers[kTotal] = sum_of_lanes(total);
  if (!is_scaled) return;
  for (i = first; i < end; i += kLanes)
    store(scores + i, load(scores + i) * load(block.value_scales[i / kCacheTileRows] + i % kCacheTileRows));
}

// ---- sums that are not finite ---------------------------------------------------------------------------------------

// The sums of a row: of one block, or of all keys.
struct CachedSums {
  const float* result;
  int64_t size;  // value_head_size

  // Whether a row that sees keys has sums that are not finite although their total is.
  bool find_doubtful() const {
    const float* numbers = result + row_stride(size);
    if (numbers[kSeesAny] == 0.0f || !any(is_finite(broadcast(numbers[kTotal])))) return false;
    const int64_t whole = size / kLanes * kLanes;
    Vec zeros = zero_times(result, size / kLanes, kLanes);
    // Beyond the values a sum may be anything.
    if (whole < size) zeros = fma(load_first(result + whole, size - whole), Vec{}, zeros);
    return any(is_nan(zeros));
  }
};

// Adds weight * value to the sums for each key of the part that is seen, keys ascending.
static void add_seen_cached_values(const CachedBlock& block, RowPart part, const float* weights, const int32_t* seen,
                                   int64_t size, float* sums) {
  const int64_t element = size_of_cached(block.dtype);
  for (int64_t i = part.begin - part.block_key; i < part.end - part.block_key; ++i) {
    if (seen[i] == 0) continue;
    const char* value = block.values[i / kCacheTileRows] + i % kCacheTileRows * block.value_bytes;
    const Vec weight = broadcast(weights[i]);
    for (int64_t d = 0; d < size; d += kLanes) {
      float widened[kLanes];
      widen_cached(value + d * element, block.dtype, kLanes, widened);
      store(sums + d, fma(weight, load(widened), load(sums + d)));
    }
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
