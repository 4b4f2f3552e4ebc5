// SPDX-License-Identifier: Apache-2.0
// One line of shapes.txt: what is computed, and how much work and data that is.
#ifndef HEED_BENCH_BENCH_CASE_H
#define HEED_BENCH_BENCH_CASE_H

#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class Kind { kAttention, kIdle, kLayer, kLinear };

// How keys and values of attention lie in memory: (B, Hkv, K, D), (B, K, Hkv, D) or (B, Hkv, D, K).
enum class KeyLayout { kHeads, kTokens, kTransposed };

struct BenchCase {
  std::string name;
  Kind kind = Kind::kAttention;
  // Attention (B, H, Q, D) on (B, Hkv, K, D) and (B, Hkv, K, Dv); a layer has embedding = H * D.
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t kv_heads = 0;
  int64_t queries = 1;
  int64_t keys = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;
  int64_t embedding = 0;
  // Linear: (rows, inputs) times (outputs, inputs) transposed.
  int64_t rows = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;

  heed_dtype dtype = HEED_F32;
  bool causal = false;
  bool as_mask = false;
  bool cold = false;
  bool has_own_keys = true;  // no self-attention
  KeyLayout key_layout = KeyLayout::kHeads;
  std::vector<int32_t> lengths;  // none, or one for each item of the batch

  // Multiplications and additions that a result needs: hidden pairs are not counted, nor is the softmax.
  [[nodiscard]] double flops() const;
  // Bytes that must be read even if everything else stays in caches: K and V once, or the weights of a projection.
  [[nodiscard]] double streamed_bytes() const;
  // One query, or one row: so little work on each byte that reading decides.
  [[nodiscard]] bool bound_by_memory() const;
  // How many copies of what is streamed exist, of which each call reads the next; 1 unless cold.
  [[nodiscard]] int64_t copies() const;
};

// The cases of a file in the form that shapes.txt describes. Ends the program with a sentence on a line it cannot read.
std::vector<BenchCase> read_cases(const std::string& path);

}  // namespace bench

#endif  // HEED_BENCH_BENCH_CASE_H
