// SPDX-License-Identifier: Apache-2.0
#include "atb/self_attention_kernel.h"

#include <algorithm>
#include <cmath>

#include "atb/elements.h"

namespace ascend_sim::atb_library {
namespace {

// Keys, and queries of triangular masks, go in blocks of this many.
constexpr size_t kBlock = 128;
constexpr float kHide = -3e38F;

// One head's keys and values of one sequence, as the loops want them.
struct HeadKeys {
  size_t num_keys;
  // (head_size, num_keys): scores are computed a lane a key.
  std::vector<float> transposed_keys;
  // (num_keys, value_head_size)
  std::vector<float> values;
};

HeadKeys head_keys(const AttentionProblem& problem, const std::vector<float>& key, const std::vector<float>& value,
                   size_t first_token, size_t num_keys, size_t head) {
  HeadKeys keys;
  keys.num_keys = num_keys;
  const size_t d = problem.head_size;
  const size_t value_d = problem.value_head_size;
  keys.transposed_keys.resize(num_keys * d);
  keys.values.resize(num_keys * value_d);
  for (size_t j = 0; j < num_keys; ++j) {
    const size_t row = (first_token + j) * problem.num_kv_heads + head;
    for (size_t i = 0; i < d; ++i) keys.transposed_keys[i * num_keys + j] = key[row * d + i];
    std::copy_n(&value[row * value_d], value_d, &keys.values[j * value_d]);
  }
  return keys;
}

// The mask's elements of one query, a key each; what lies outside a compressed mask is 0.
class MaskRow {
 public:
  MaskRow(const AttentionMask& mask, const uint16_t* elements, aclDataType dtype, size_t row)
      : mask_(mask), elements_(elements), dtype_(dtype), row_(row) {}

  float at(size_t key) const {
    if (!mask_.is_compressed) return value(row_ * mask_.row_stride + key);
    return key / kBlock == row_ / kBlock ? value(row_ % kBlock * mask_.row_stride + key % kBlock) : 0.0F;
  }

 private:
  float value(size_t i) const {
    return dtype_ == ACL_FLOAT16 ? float_of_half(elements_[i]) : float_of_bf16(elements_[i]);
  }

  const AttentionMask& mask_;
  const uint16_t* const elements_;
  const aclDataType dtype_;
  const size_t row_;
};

// One query against all its keys: online softmax over blocks of keys. What hardware keeps in binary16 between two steps is
// rounded there.
class QueryRow {
 public:
  QueryRow(const AttentionProblem& problem, const HeadKeys& keys, const float* query)
      : problem_(problem), keys_(keys), query_(query), sums_(problem.value_head_size, 0.0F) {}

  // `mask_row` is not looked at where the mask has no effect.
  void add_block(size_t first_key, size_t num_keys, const MaskRow& mask_row) {
    compute_scores(first_key, num_keys, mask_row);
    float new_max = max_;
    for (size_t j = 0; j < num_keys; ++j) {
      if (is_first_ && j == 0)
        new_max = scores_[0];
      else
        new_max = std::max(new_max, scores_[j]);
    }
    if (!is_first_) {
      const float correction = std::exp(round_as_kept(max_ - new_max));
      denominator_ *= correction;
      for (float& sum : sums_) sum *= correction;
    }
    is_first_ = false;
    max_ = new_max;
    for (size_t j = 0; j < num_keys; ++j) {
      const float probability = std::exp(round_as_kept(scores_[j] - new_max));
      denominator_ += probability;
      const float rounded = round_to(problem_.dtype, probability);
      const float* const values = &keys_.values[(first_key + j) * sums_.size()];
      for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += rounded * values[i];
    }
  }

  // The division that ends the row; the caller rounds.
  const std::vector<float>& finish() {
    const float denominator = round_as_kept(denominator_);
    for (float& sum : sums_) sum = round_as_kept(sum) / denominator;
    return sums_;
  }

 private:
  float round_as_kept(float value) const { return problem_.is_half_kernel ? round_to_half(value) : value; }

  void compute_scores(size_t first_key, size_t num_keys, const MaskRow& mask_row) {
    std::fill_n(scores_, num_keys, 0.0F);
    for (size_t i = 0; i < problem_.head_size; ++i) {
      const float* const keys = &keys_.transposed_keys[i * keys_.num_keys + first_key];
      const float factor = query_[i];
      for (size_t j = 0; j < num_keys; ++j) scores_[j] += factor * keys[j];
    }
    const float scale = round_as_kept(problem_.scale);
    for (size_t j = 0; j < num_keys; ++j) {
      float score = round_as_kept(round_as_kept(scores_[j]) * scale);
      switch (problem_.mask.effect) {
        case AttentionMask::Effect::None: break;
        case AttentionMask::Effect::Raw: score = round_as_kept(score + mask_row.at(first_key + j)); break;
        case AttentionMask::Effect::TimesMinus3e38: score = score + kHide * mask_row.at(first_key + j); break;
      }
      scores_[j] = score;
    }
  }

  const AttentionProblem& problem_;
  const HeadKeys& keys_;
  const float* const query_;
  float scores_[kBlock];
  bool is_first_ = true;
  float max_ = 0.0F;
  float denominator_ = 0.0F;
  std::vector<float> sums_;
};

}  // namespace

void run_attention(const AttentionProblem& problem, const void* query, const void* key, const void* value,
                   const void* mask, void* output) {
  size_t num_queries = 0;
  size_t num_keys = 0;
  for (const int32_t length : problem.query_lengths) num_queries += static_cast<size_t>(length);
  for (const int32_t length : problem.key_lengths) num_keys += static_cast<size_t>(length);
  const size_t d = problem.head_size;
  const std::vector<float> queries = load_floats(problem.dtype, query, num_queries * problem.num_heads * d);
  const std::vector<float> keys = load_floats(problem.dtype, key, num_keys * problem.num_kv_heads * d);
  const std::vector<float> values =
      load_floats(problem.dtype, value, num_keys * problem.num_kv_heads * problem.value_head_size);
  const size_t heads_of_a_kv_head = problem.num_heads / problem.num_kv_heads;

  size_t first_query = 0;
  size_t first_key = 0;
  for (size_t sequence = 0; sequence < problem.query_lengths.size(); ++sequence) {
    const auto rows = static_cast<size_t>(problem.query_lengths[sequence]);
    const auto columns = static_cast<size_t>(problem.key_lengths[sequence]);
    for (size_t kv_head = 0; kv_head < problem.num_kv_heads && rows > 0 && columns > 0; ++kv_head) {
      const HeadKeys head = head_keys(problem, keys, values, first_key, columns, kv_head);
      for (size_t i = 0; i < heads_of_a_kv_head * rows; ++i) {
        const size_t h = kv_head * heads_of_a_kv_head + i / rows;
        const size_t row = i % rows;
        const auto* const elements =
            static_cast<const uint16_t*>(mask) + sequence * problem.mask.sequence_stride + h * problem.mask.head_stride;
        const MaskRow mask_row(problem.mask, elements, problem.dtype, row);
        const size_t place = (first_query + row) * problem.num_heads + h;
        QueryRow query_row(problem, head, &queries[place * d]);
        const size_t end = problem.mask.is_triangular ? std::min(columns, (row / kBlock + 1) * kBlock) : columns;
        for (size_t begin = 0; begin < end; begin += kBlock)
          query_row.add_block(begin, std::min(kBlock, end - begin), mask_row);
        store_floats(problem.dtype, query_row.finish().data(), problem.value_head_size,
                     static_cast<uint16_t*>(output) + place * problem.value_head_size);
      }
    }
    first_query += rows;
    first_key += columns;
  }
}

}  // namespace ascend_sim::atb_library
