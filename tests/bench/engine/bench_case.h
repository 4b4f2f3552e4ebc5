// SPDX-License-Identifier: Apache-2.0
// One line of shapes.txt: a case, with the amount of work and data.
#ifndef HEED_BENCH_BENCH_CASE_H
#define HEED_BENCH_BENCH_CASE_H

#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class Kind { kAttention, kCache, kEncoder, kIdle, kLayer, kLinear, kMerge };

// The layout of keys and values of attention: (B, Hkv, K, D), (B, K, Hkv, D) or (B, Hkv, D, K).
enum class KeyLayout { kHeads, kTokens, kTransposed };

// Which gradients a case of training computes; kNone: it is a forward alone.
enum class Gradients { kNone, kAll, kOfInput, kOfWeight };

// The size of the inputs of a case with a cache: each row of queries, keys and values is projected from so many numbers.
constexpr int64_t kCacheInputs = 4;

struct BenchCase {
  std::string name;
  Kind kind = Kind::kAttention;
  // Attention of (B, H, Q, D) over (B, Hkv, K, D) and (B, Hkv, K, Dv). For a layer embedding = H * D.
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t kv_heads = 0;
  int64_t queries = 1;
  int64_t keys = 0;
  int64_t head_size = 0;
  int64_t value_size = 0;
  int64_t embedding = 0;
  // Encoder: the hidden size of the feed-forward networks, and the number of layers.
  int64_t hidden = 0;
  int64_t layers = 1;
  // Linear: (rows, inputs) times the transpose of (outputs, inputs).
  int64_t rows = 0;
  int64_t outputs = 0;
  int64_t inputs = 0;
  // Merge: so many results (B, H, Q, D) of attention over parts of the keys.
  int64_t parts = 0;

  heed_dtype dtype = HEED_F32;
  bool causal = false;
  bool as_mask = false;
  bool cold = false;
  // The size of all copies of a cold case together: several times the largest last-level cache of current desktops and
  // small servers.
  double cold_bytes = 384e6;
  bool has_own_keys = true;  // false for self-attention
  KeyLayout key_layout = KeyLayout::kHeads;
  std::vector<int32_t> lengths;  // empty, or one for each batch element

  // What is added: in attention ALiBi, sinks and a bias of each pair of query and key; in layers relative bias, rotary
  // positions and norms of queries and keys.
  bool alibi = false;
  bool sinks = false;
  bool bias = false;
  bool relative_bias = false;
  bool rope = false;
  bool qk_norm = false;
  // The batch elements, of these lengths, lie one after another.
  bool packed = false;

  Gradients gradients = Gradients::kNone;

  // A cache of `dtype` with the layout HEED_CACHE_... and pages of so many rows; before a call each sequence has keys, or
  // lengths[b], rows.
  int32_t cache_layout = HEED_CACHE_CONTIGUOUS;
  int64_t page_size = 0;
  bool forked = false;                // all sequences are forks of the first one
  bool appends = false;               // a call appends its rows, which are removed again after its time is taken
  int64_t room = 0;                   // each sequence has memory for so many rows more
  std::vector<int32_t> rows_of_call;  // empty: queries, or the rows of each sequence in a call, one after another

  // The same attention as a case without a cache.
  [[nodiscard]] BenchCase without_cache() const;
  // Of a cache: the rows of a sequence before a call, those that a call has, and those that its last query sees.
  [[nodiscard]] int64_t rows_before(int64_t sequence) const;
  [[nodiscard]] int64_t rows_in_call(int64_t sequence) const;
  [[nodiscard]] int64_t rows_seen(int64_t sequence) const;

  [[nodiscard]] bool has_positions() const {
    return alibi || sinks || bias || relative_bias || rope || qk_norm || packed;
  }
  // The case without all that, with padded batch elements.
  [[nodiscard]] BenchCase without_positions() const;
  // The rows of queries: of all batch elements, if they are packed.
  [[nodiscard]] int64_t packed_rows() const;

  // Multiplications and additions that are needed for the result: without hidden pairs and the softmax.
  [[nodiscard]] double flops() const;
  // The same of the gradients: of attention five products of all visible pairs, since the scores are computed again; of a
  // projection one by its input and one by its weight.
  [[nodiscard]] double backward_flops() const;
  // Bytes that must be read from memory even if everything else stays in caches: K and V once, the weights of a
  // projection, or the parts of a merge.
  [[nodiscard]] double streamed_bytes() const;
  // A case with one query, with a cache up to four, with one row, or a merge has so little work for each byte that reading
  // determines its time.
  [[nodiscard]] bool bound_by_memory() const;
  // The number of copies of the streamed data. Each call reads the next copy; 1 unless the case is cold.
  [[nodiscard]] int64_t copies() const;
};

// The cases of a file in the format of shapes.txt. Ends the program with a message if a line is invalid.
std::vector<BenchCase> read_cases(const std::string& path);

}  // namespace bench

#endif  // HEED_BENCH_BENCH_CASE_H
