// SPDX-License-Identifier: Apache-2.0
// A call of a layer with a cache: its sequences, which rows they get, and what the attention reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "attention/options.h"
#include "attention/rotary_table.h"
#include "attention/sequences.h"
#include "cache/cache.h"
#include "layers/inputs.h"
#include "layers/schedule.h"

namespace heed {

// The numbers of HEED_CACHE_APPEND and HEED_CACHE_READ; capi/src asserts it.
enum class CacheUse : int32_t { Append = 0, Read = 1 };

// heed_cache_inputs but for its sequences, which are AttentionInputs::cache_sequences.
struct CacheInputs {
  std::shared_ptr<Cache> cache;
  int64_t layer = 0;
  CacheUse use = CacheUse::Append;
  // heed_layer_fill_cache: the rows are stored, and nothing attends to them.
  bool fills = false;
  // The words for it in messages.
  const char* name = "inputs->cache";

  bool appends() const { return use == CacheUse::Append; }
};

// What heed_layer_fill_cache asks of a cache that was given to it.
inline CacheInputs to_fill(const CacheInputs& given) {
  CacheInputs inputs = given;
  inputs.fills = true;
  return inputs;
}

// Locks the caches of a call, if there are any: for writing where the call appends rows. Throws InvalidArgument if both are
// the same.
class CacheLock {
 public:
  CacheLock(const AttentionInputs& inputs, Purpose purpose);

 private:
  std::optional<Cache::WriteLock> write_;
  std::optional<Cache::ReadLock> read_;
  std::optional<Cache::ReadLock> memory_;
};

// What a cache must know of the layer that uses it.
struct CachedLayer {
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  const AttentionOptions* options = nullptr;
  const std::shared_ptr<const RotaryTable>* rotary = nullptr;  // null: no rotary positions
  // The table of calls whose positions are all below short_length; null: the same for all.
  const std::shared_ptr<const RotaryTable>* short_rotary = nullptr;
  int64_t short_length = 0;
  bool reads_distances = false;  // whether scores depend on the distance from query to key
};

// The rows that a call appends to a cache, in the arena of the call.
struct CacheCall {
  Cache* cache = nullptr;
  int64_t layer = 0;
  Cache::NewRows* rows = nullptr;
  int64_t num_rows = 0;
  const std::shared_ptr<const RotaryTable>* rotary = nullptr;
  CacheCall* next = nullptr;

  std::span<const Cache::NewRows> new_rows() const { return {rows, static_cast<size_t>(num_rows)}; }
  void remember() const noexcept { cache->remember(layer, new_rows()); }
  void prepare() const { cache->prepare(layer, new_rows()); }
  void undo(bool has_all_rows) const noexcept { cache->undo(layer, new_rows(), has_all_rows); }
  void commit() const noexcept { cache->commit(layer, new_rows(), rotary != nullptr ? *rotary : nullptr); }
};

// Checks that the cache fits the layer and the call, and sets the sequences: sets others.cached, which set_visibility
// reads, and returns the rows that the call appends. Lengths, positions and offsets are in host memory; their elements are
// read only if `reads`. `num_rows`: the rows of the call, in a packed batch of all elements together. The caller holds the
// cache's lock.
CacheCall set_cache_sequences(Schedule& schedule, const CachedLayer& layer, int64_t batch, int64_t num_rows, bool reads,
                              AttentionInputs& others);

// The positions of the rows that a call appends: sets limits.table, so that rows without given positions continue the
// sequences of the cache. `limits`: from set_sequences. `table`: its memory, if it has a table with data; else null.
void continue_positions(Schedule& schedule, int64_t batch, bool reads, const AttentionInputs& others, Sequence* table,
                        KeyLimits& limits);

// The largest position of the queries; INT64_MAX if it is not known yet. `elements`: of a call with a cache, or null.
int64_t largest_position(const KeyLimits& limits, const CachedElement* elements, int64_t batch);

}  // namespace heed
