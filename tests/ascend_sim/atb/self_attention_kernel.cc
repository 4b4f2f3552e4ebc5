// SPDX-License-Identifier: Apache-2.0
#include "atb/self_attention_kernel.h"

#include <algorithm>
#include <cmath>

#include "atb/elements.h"

namespace ascend_sim::atb_library {
namespace {

constexpr float kHide = -3e38F;

// ---- blocks of queries and keys -------------------------------------------------------------------------------------

// Head sizes and lengths are rounded up to a multiple of this.
constexpr size_t kUnit = 16;
// The largest number of queries or keys of a block, and the rows and columns of a compressed mask.
constexpr size_t kLargestBlock = 128;
// Elements that fit in the buffer of a block.
constexpr size_t kBlockElements = kLargestBlock * kLargestBlock;
// Larger heads, and values of another head size, have other kernels.
constexpr size_t kLargestPlainHead = 256;
// With more key blocks than this, the kernel works on two at a time.
constexpr size_t kSingleBlocks = 4;
// Elements that one vector instruction adds.
constexpr size_t kVector = 64;

size_t rounded_up(size_t number) { return (number + kUnit - 1) / kUnit * kUnit; }
size_t rounded_down(size_t number) { return number / kUnit * kUnit; }

struct Blocks {
  size_t queries;
  size_t keys;
};

Blocks blocks_of(const AttentionProblem& problem, size_t num_queries, size_t num_keys) {
  Blocks blocks = {std::min(kLargestBlock, rounded_up(num_queries)), std::min(kLargestBlock, rounded_up(num_keys))};
  if (problem.head_size > kLargestPlainHead || problem.head_size != problem.value_head_size) return blocks;
  const size_t width = rounded_up(problem.head_size);
  blocks.keys = std::min(blocks.keys, rounded_down(kBlockElements / std::max(kLargestBlock, width)));
  blocks.queries = std::min(blocks.queries, rounded_down(kBlockElements / std::max(width, blocks.keys)));
  return blocks;
}

// The keys of one key block, or of two that the kernel works on together.
struct Stack {
  size_t first;
  size_t num_keys;
  // The compressed mask is added to the keys from here on; num_keys if it is not added.
  size_t first_masked;
};

// The key blocks for the queries of query block `block`.
std::vector<Stack> stacks_of(const Blocks& blocks, size_t num_keys, bool is_triangular, size_t block) {
  const size_t num_blocks = is_triangular ? block + 1 : (num_keys + blocks.keys - 1) / blocks.keys;
  const size_t end = std::min(num_blocks * blocks.keys, num_keys);
  const size_t step = num_blocks > kSingleBlocks ? 2 : 1;
  std::vector<Stack> stacks;
  for (size_t i = 0; i < num_blocks; i += step) {
    const size_t first = i * blocks.keys;
    Stack stack = {first, std::min(step * blocks.keys, end - first), 0};
    const bool is_pair = step == 2 && i + 1 < num_blocks;
    const bool has_diagonal = i + (is_pair ? 2 : 1) == num_blocks;
    // The kernel treats a pair that is not wider than the largest block as a single block: it adds the mask only if the
    // second block begins at the second vector, and otherwise not at all.
    const bool is_masked = !is_pair || stack.num_keys > kLargestBlock || blocks.keys == kVector;
    stack.first_masked = !has_diagonal || !is_masked ? stack.num_keys : is_pair ? blocks.keys : 0;
    stacks.push_back(stack);
  }
  return stacks;
}

// ---- one row --------------------------------------------------------------------------------------------------------

// The keys and values of one head in one sequence, in the order in which the loops read them.
struct HeadKeys {
  size_t num_keys;
  // (head_size, num_keys): one lane of a vector for each key.
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

// The mask's row for one query. Of a compressed mask it is the row of the query's index in its block.
class MaskRow {
 public:
  MaskRow(const AttentionMask& mask, const uint16_t* elements, aclDataType dtype, size_t row)
      : is_compressed_(mask.is_compressed), elements_(elements + row * mask.row_stride), dtype_(dtype) {}

  // The mask's element for key `index` of the stack.
  float at(const Stack& stack, size_t index) const {
    if (!is_compressed_) return value(stack.first + index);
    return index < stack.first_masked ? 0.0F : value(index - stack.first_masked);
  }

 private:
  float value(size_t i) const {
    return dtype_ == ACL_FLOAT16 ? float_of_half(elements_[i]) : float_of_bf16(elements_[i]);
  }

  const bool is_compressed_;
  const uint16_t* const elements_;
  const aclDataType dtype_;
};

// One query against all its keys, by online softmax over the stacks. Values that the hardware stores in binary16
// between two steps are rounded to binary16.
class QueryRow {
 public:
  QueryRow(const AttentionProblem& problem, const HeadKeys& keys, const float* query)
      : problem_(problem), keys_(keys), query_(query), sums_(problem.value_head_size, 0.0F) {}

  // `mask_row` is not read if the mask has no effect.
  void add(const Stack& stack, const MaskRow& mask_row) {
    compute_scores(stack, mask_row);
    float new_max = max_;
    for (size_t j = 0; j < stack.num_keys; ++j) {
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
    for (size_t j = 0; j < stack.num_keys; ++j) {
      const float probability = std::exp(round_as_kept(scores_[j] - new_max));
      denominator_ += probability;
      const float rounded = round_to(problem_.dtype, probability);
      const float* const values = &keys_.values[(stack.first + j) * sums_.size()];
      for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += rounded * values[i];
    }
  }

  // Divides by the sum of probabilities, which ends the row. The caller rounds.
  const std::vector<float>& finish() {
    const float denominator = round_as_kept(denominator_);
    for (float& sum : sums_) sum = round_as_kept(sum) / denominator;
    return sums_;
  }

 private:
  float round_as_kept(float value) const { return problem_.is_half_kernel ? round_to_half(value) : value; }

  void compute_scores(const Stack& stack, const MaskRow& mask_row) {
    std::fill_n(scores_, stack.num_keys, 0.0F);
    for (size_t i = 0; i < problem_.head_size; ++i) {
      const float* const keys = &keys_.transposed_keys[i * keys_.num_keys + stack.first];
      const float factor = query_[i];
      for (size_t j = 0; j < stack.num_keys; ++j) scores_[j] += factor * keys[j];
    }
    const float scale = round_as_kept(problem_.scale);
    for (size_t j = 0; j < stack.num_keys; ++j) {
      float score = round_as_kept(round_as_kept(scores_[j]) * scale);
      switch (problem_.mask.effect) {
        case AttentionMask::Effect::None: break;
        case AttentionMask::Effect::Raw: score = round_as_kept(score + mask_row.at(stack, j)); break;
        case AttentionMask::Effect::TimesMinus3e38: score = score + kHide * mask_row.at(stack, j); break;
      }
      scores_[j] = score;
    }
  }

  const AttentionProblem& problem_;
  const HeadKeys& keys_;
  const float* const query_;
  float scores_[2 * kLargestBlock];
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
    const Blocks blocks = blocks_of(problem, rows, columns);
    for (size_t kv_head = 0; kv_head < problem.num_kv_heads && rows > 0 && columns > 0; ++kv_head) {
      const HeadKeys head = head_keys(problem, keys, values, first_key, columns, kv_head);
      for (size_t i = 0; i < heads_of_a_kv_head * rows; ++i) {
        const size_t h = kv_head * heads_of_a_kv_head + i / rows;
        const size_t row = i % rows;
        const auto* const elements =
            static_cast<const uint16_t*>(mask) + sequence * problem.mask.sequence_stride + h * problem.mask.head_stride;
        const MaskRow mask_row(problem.mask, elements, problem.dtype,
                               problem.mask.is_compressed ? row % blocks.queries : row);
        const size_t token_head = (first_query + row) * problem.num_heads + h;
        QueryRow query_row(problem, head, &queries[token_head * d]);
        for (const Stack& stack : stacks_of(blocks, columns, problem.mask.is_triangular, row / blocks.queries))
          query_row.add(stack, mask_row);
        store_floats(problem.dtype, query_row.finish().data(), problem.value_head_size,
                     static_cast<uint16_t*>(output) + token_head * problem.value_head_size);
      }
    }
    first_query += rows;
    first_key += columns;
  }
}

}  // namespace ascend_sim::atb_library
