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
#include "layers/layer_call.h"
#include "layers/schedule.h"

namespace heed {

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
  CacheLock(const LayerInputs& inputs, Purpose purpose);

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

  // The most rows that a row sees, itself included; 0: all of them, or later ones too.
  int64_t window() const;
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

// Throws InvalidArgument for a layer of the cache that shows fewer rows than an attention sees. `window`: those, 0: all.
// `child`: the attention's layer below the path of `schedule`; null: it is at that path.
[[noreturn]] void fail_for_window(Schedule& schedule, const CacheInputs& inputs, int64_t layer, int64_t shown,
                                  int64_t window, const char* child);

// What a call says of a cache.
struct CacheOfCall {
  const CacheInputs& given;
  int64_t layer_offset;
  // The sequence of each batch element, in host memory if it has data; null: batch element b has sequence b.
  const Tensor* sequences;
};
CacheOfCall cache_of(const InputValues& inputs, Schedule& schedule);

// Checks that the cache fits the layer and the call, sets the sequences in `cached`, which set_visibility reads, and returns
// the rows that the call appends. Lengths, positions and offsets are in host memory; their elements are read only if
// `reads`. `num_rows`: the rows of the call, in a packed batch of all elements together. The caller holds the cache's lock.
CacheCall set_cache_sequences(Schedule& schedule, const CachedLayer& layer, const CacheOfCall& of_call, int64_t batch,
                              int64_t num_rows, bool reads, const CallSequences& given, CachedSequences& cached);

// The positions of the rows that a call appends: sets limits.table, so that rows without given positions continue the
// sequences of the cache. `limits`: from set_sequences. `table`: its memory, if it has a table with data; else null.
void continue_positions(Schedule& schedule, const CacheOfCall& of_call, int64_t batch, bool reads, Sequence* table,
                        KeyLimits& limits);

// The largest position of the queries; INT64_MAX if it is not known yet. `elements`: of a call with a cache, or null.
int64_t largest_position(const KeyLimits& limits, const CachedElement* elements, int64_t batch);

}  // namespace heed
