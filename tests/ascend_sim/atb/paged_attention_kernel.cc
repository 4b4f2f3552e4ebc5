// SPDX-License-Identifier: Apache-2.0
#include "atb/paged_attention_kernel.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "atb/refusal.h"

namespace ascend_sim::atb_library::paged {
namespace {

// The largest block of queries, what its size is a multiple of, and the elements that fit in its buffer.
constexpr size_t kLargestBlock = 128;
constexpr size_t kUnit = 16;
constexpr size_t kBufferElements = kLargestBlock * kLargestBlock;
// All tensors have two bytes for each element.
constexpr size_t kElement = 2;

size_t rounded_up(size_t number, size_t unit) { return (number + unit - 1) / unit * unit; }

// The number of queries that the kernel for several tokens works on at a time.
size_t query_block(const PagedProblem& problem, size_t num_tokens) {
  const size_t fitting = kBufferElements / std::max(problem.head_size, problem.block_size) / kUnit * kUnit;
  return std::min({fitting, rounded_up(num_tokens, kUnit), kLargestBlock});
}

// Copies the rows of a sequence, of `row_bytes` each, from a cache. `blocks` is the sequence's row of the block tables.
std::vector<uint16_t> gather(const PagedProblem& problem, const PagedSequence& sequence, const int32_t* blocks,
                             const void* cache, size_t row_bytes) {
  std::vector<uint16_t> rows(sequence.num_keys * row_bytes / kElement);
  for (size_t first = 0; first < sequence.num_keys; first += problem.block_size) {
    const size_t count = std::min(problem.block_size, sequence.num_keys - first);
    const auto block = static_cast<size_t>(blocks[first / problem.block_size]);
    std::memcpy(rows.data() + first * row_bytes / kElement,
                static_cast<const std::byte*>(cache) + block * problem.block_size * row_bytes, count * row_bytes);
  }
  return rows;
}

bool has_all_blocks(const PagedProblem& problem, const PagedSequence& sequence, const int32_t* blocks) {
  for (size_t i = 0; i * problem.block_size < sequence.num_keys; ++i) {
    if (blocks[i] >= 0 && blocks[i] < problem.num_blocks) continue;
    violation("PagedAttentionOperation: block " + std::to_string(i) + " of sequence " + std::to_string(sequence.index) +
              " is " + std::to_string(blocks[i]) + ", but the caches have " + std::to_string(problem.num_blocks) +
              " blocks (hardware does not check it)");
    return false;
  }
  return true;
}

// A sequence, or a block of its queries, as packed queries and keys.
AttentionProblem part_of(const PagedProblem& problem, bool is_single, size_t num_queries, size_t num_keys) {
  AttentionProblem part;
  part.dtype = problem.dtype;
  part.is_half_kernel = problem.dtype == ACL_FLOAT16 && !is_single;
  part.num_heads = problem.num_heads;
  part.num_kv_heads = problem.num_kv_heads;
  part.head_size = problem.head_size;
  part.value_head_size = problem.value_head_size;
  part.scale = problem.scale;
  part.query_lengths = {static_cast<int32_t>(num_queries)};
  part.key_lengths = {static_cast<int32_t>(num_keys)};
  part.mask = problem.mask;
  return part;
}

}  // namespace

void run_paged_attention(const PagedProblem& problem, const void* query, const void* key_cache, const void* value_cache,
                         const void* block_tables, const void* mask, void* output) {
  const size_t key_row = problem.num_kv_heads * problem.head_size * kElement;
  const size_t value_row = problem.num_kv_heads * problem.value_head_size * kElement;
  const auto* const queries = static_cast<const uint16_t*>(query);
  const auto* const mask_elements = static_cast<const uint16_t*>(mask);
  auto* const results = static_cast<uint16_t*>(output);
  for (const PagedSequence& sequence : problem.sequences) {
    const int32_t* const blocks = static_cast<const int32_t*>(block_tables) + sequence.index * problem.most_blocks;
    if (!has_all_blocks(problem, sequence, blocks)) continue;
    const std::vector<uint16_t> keys = gather(problem, sequence, blocks, key_cache, key_row);
    const std::vector<uint16_t> values = gather(problem, sequence, blocks, value_cache, value_row);
    const bool is_single = sequence.num_tokens == 1;
    const size_t step = is_single ? 1 : query_block(problem, sequence.num_tokens);
    for (size_t row = 0; row < sequence.num_tokens; row += step) {
      const size_t shown = rounded_up(row + step + sequence.diagonal, problem.block_size);
      const AttentionProblem part = part_of(problem, is_single, std::min(step, sequence.num_tokens - row),
                                            is_single ? sequence.num_keys : std::min(sequence.num_keys, shown));
      const size_t token_heads = (sequence.first_token + row) * problem.num_heads;
      run_attention(part, queries + token_heads * problem.head_size, keys.data(), values.data(),
                    mask == nullptr ? nullptr : mask_elements + sequence.mask_offset + row * problem.mask.row_stride,
                    results + token_heads * problem.value_head_size);
    }
  }
}

}  // namespace ascend_sim::atb_library::paged
