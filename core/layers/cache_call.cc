// SPDX-License-Identifier: Apache-2.0
#include "layers/cache_call.h"

#include <algorithm>
#include <cinttypes>
#include <memory>

#include "attention/validate.h"
#include "base/error.h"
#include "layers/host_sequences.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"

namespace heed {
namespace {

// `given`: what the caller said. `inputs`: the same, with the layer of the cache that this attention uses.
void check_layer_fits(const Cache& cache, const CacheInputs& given, const CacheInputs& inputs,
                      const CachedLayer& layer) {
  const CacheOptions& options = cache.options();
  if (options.num_kv_heads != layer.num_kv_heads || options.head_size != layer.head_size ||
      options.value_head_size != layer.value_head_size) {
    fail(Status::InvalidArgument,
         "%s->cache has %" PRId64 " key heads of size %" PRId64 " and values of size %" PRId64
         ", but the layer has %" PRId64 " of size %" PRId64 " and values of size %" PRId64 ": expected the same",
         inputs.name, options.num_kv_heads, options.head_size, options.value_head_size, layer.num_kv_heads,
         layer.head_size, layer.value_head_size);
  }
  if (given.layer < 0 || given.layer >= options.num_layers) {
    fail(Status::InvalidArgument, "%s->layer is %" PRId64 ", expected 0 to %" PRId64 ", a layer of the cache",
         inputs.name, given.layer, options.num_layers - 1);
  }
  if (inputs.layer < options.num_layers) return;
  if (given.layer == 0) {
    fail(Status::InvalidArgument,
         "%s->cache has too few layers, %" PRId64 ": layer %" PRId64 " of this one uses layer %" PRId64
         " of it, expected one for each, as heed_layer_cache_options says",
         inputs.name, options.num_layers, inputs.layer, inputs.layer);
  }
  fail(Status::InvalidArgument,
       "%s->layer is %" PRId64 ", from which on the cache has too few layers, %" PRId64 ": layer %" PRId64
       " of this one uses layer %" PRId64 " of it, expected one for each, as heed_layer_cache_options says",
       inputs.name, given.layer, options.num_layers - given.layer, inputs.layer - given.layer, inputs.layer);
}

void check_rotary(const Cache& cache, int64_t layer, const std::shared_ptr<const RotaryTable>* rotary) {
  cache.check_rotary(layer, rotary != nullptr ? rotary->get() : nullptr);
}

void check_sequences_tensor(const CacheInputs& inputs, const Tensor& sequences, int64_t batch) {
  if (sequences.dtype() != DType::I32 && sequences.dtype() != DType::I64)
    fail(Status::InvalidArgument, "%s->sequences is %s, expected I32 or I64", inputs.name, name_of(sequences.dtype()));
  if (!(sequences.shape() == Shape{batch})) {
    fail(Status::InvalidArgument,
         "%s->sequences has dims %s, expected (%" PRId64 "), the sequence of each batch element", inputs.name,
         to_string(sequences.shape()).c_str(), batch);
  }
}

// Sets the sequence of each batch element.
void find_sequences(const CacheInputs& inputs, const Tensor* sequences, int64_t batch, Cache::NewRows* rows) {
  const int64_t most = inputs.cache->options().max_sequences;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t sequence = b;
    if (sequences != nullptr) {
      Operand operand;
      set_operand(operand, *sequences, {0, -1, -1, -1});
      sequence = length_of(operand, b, 0);
    }
    if (sequence < 0 || sequence >= most) {
      fail(Status::InvalidArgument,
           "%s->sequences[%" PRId64 "] is %" PRId64 ", expected 0 to %" PRId64 ", a sequence of the cache", inputs.name,
           b, sequence, most - 1);
    }
    for (int64_t other = 0; inputs.appends() && sequences != nullptr && other < b; ++other) {
      if (rows[other].sequence != sequence) continue;
      fail(Status::InvalidArgument,
           "%s->sequences[%" PRId64 "] is %" PRId64 ", as is element %" PRId64
           ": expected different sequences, since rows are appended to each",
           inputs.name, b, sequence, other);
    }
    rows[b].sequence = sequence;
  }
}

// The rows of each batch element, with its sequence alone. A batch that does not fit the cache is refused before there is
// memory for it, since it may be that of a shape.
Cache::NewRows* make_rows(Schedule& schedule, const CacheInputs& inputs, const Tensor* sequences, int64_t batch) {
  const int64_t most = inputs.cache->options().max_sequences;
  if (sequences == nullptr && batch > most) {
    fail(Status::InvalidArgument,
         "%s->sequences is NULL, so that the %" PRId64
         " batch elements are as many sequences, but the cache has %" PRId64
         ": expected a tensor, or at most as many elements",
         inputs.name, batch, most);
  }
  // Of one element more than there are sequences, two have the same one.
  const int64_t count = inputs.appends() ? std::min(batch, most + 1) : batch;
  auto* rows = schedule.arena().allocate_for<Cache::NewRows>(static_cast<size_t>(count));
  std::uninitialized_value_construct_n(rows, count);
  find_sequences(inputs, sequences, count, rows);
  return rows;
}

// Positions of the rows of a sequence, for attention whose scores depend on distances.
const int32_t* gather_positions(Schedule& schedule, const Cache& cache, int64_t layer, const Cache::NewRows& added) {
  const LayerRows& rows = cache.rows(layer, added.sequence);
  auto* positions = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(rows.length + added.count));
  for (int64_t row = 0; row < rows.length; ++row)
    positions[row] = rows.keeps(row) ? static_cast<int32_t>(cache.position_of(layer, added.sequence, row)) : int32_t{0};
  int64_t next = cache.next_position(layer, added.sequence);
  for (int64_t i = 0; i < added.count; ++i, ++next) {
    if (added.positions != nullptr) next = added.positions[i];
    positions[rows.length + i] = static_cast<int32_t>(next);
  }
  return positions;
}

// The positions of the queries of an element, and whether each is one more than that before it.
struct GivenPositions {
  const int32_t* numbers;
  bool are_consecutive;
};

GivenPositions read_positions(Schedule& schedule, const Operand& positions, int64_t b, const Sequence& sequence) {
  auto* numbers = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(sequence.query_count));
  bool are_consecutive = true;
  for (int64_t q = 0; q < sequence.query_count; ++q) {
    numbers[q] = static_cast<int32_t>(length_of(positions, b, sequence.query_begin + q));
    are_consecutive = are_consecutive && numbers[q] == int64_t{numbers[0]} + q;
  }
  return {numbers, are_consecutive};
}

// Sets the keys, the pages and the positions of a batch element, and the positions of its new rows if they do not
// continue. Returns whether the positions of its queries continue those of the rows that are held.
bool set_element(Schedule& schedule, const CacheInputs& inputs, const Operand& positions, int64_t b, Sequence& sequence,
                 Cache::NewRows& added, CachedElement& element) {
  const Cache& cache = *inputs.cache;
  const LayerRows& held = cache.rows(inputs.layer, added.sequence);
  const int64_t count = sequence.query_count;
  const int64_t next = cache.next_position(inputs.layer, added.sequence);
  element.pages = cache.pages_of(added.sequence);
  element.num_sinks = cache.num_sinks(inputs.layer, added.sequence);
  element.first = held.first;
  sequence.key_begin = 0;
  sequence.key_count = held.length + added.count;
  sequence.key_position = held.num_consecutive > 0 ? held.shift : 0;
  sequence.query_position = inputs.appends() ? next : next - count;
  if (positions.data == nullptr) {
    if (inputs.appends() && count > 0 && next + count - 1 > kMaxPosition) {
      fail(Status::InvalidArgument,
           "inputs->sequences->positions is NULL, but sequence %" PRId64 " continues at position %" PRId64
           ": expected positions of at most 2^31 - 1",
           added.sequence, next);
    }
    return true;
  }
  const GivenPositions given = read_positions(schedule, positions, b, sequence);
  if (count == 0 || (given.are_consecutive && given.numbers[0] == sequence.query_position)) return true;
  if (inputs.appends()) added.positions = given.numbers;
  if (inputs.appends() && held.length == 0 && given.are_consecutive) {
    // A sequence that begins at another position than 0.
    sequence.key_position = sequence.query_position = given.numbers[0];
    return true;
  }
  element.query_positions = given.numbers;
  return false;
}

// The memory of the layer, and how a ring repeats.
CachedKeys keys_of(const Cache& cache, const CacheInputs& inputs) {
  const CacheGeometry& geometry = cache.geometry();
  CachedKeys keys;
  keys.given = 1;
  keys.appends = inputs.appends() ? 1 : 0;
  keys.dtype = cache.options().dtype;
  keys.form = geometry.form;
  keys.memory = cache.layer_memory(inputs.layer);
  keys.num_pages = geometry.num_pages;
  keys.page_bytes = geometry.page_bytes;
  keys.head_bytes = geometry.head_bytes;
  keys.values_offset = geometry.values_offset;
  keys.key_scales_offset = geometry.key_scales_offset;
  keys.value_scales_offset = geometry.value_scales_offset;
  keys.page_tiles = geometry.page_rows / kCacheTileRows;
  keys.sink_tiles = geometry.sink_rows / kCacheTileRows;
  keys.ring_tiles = geometry.ring_rows / kCacheTileRows;
  keys.visible_rows = geometry.ring_rows > 0 ? cache.options().capacity : 0;
  keys.max_rows = geometry.ring_rows > 0 ? geometry.page_rows : geometry.max_rows;
  return keys;
}

}  // namespace

int64_t largest_position(const KeyLimits& limits, const CachedElement* elements, int64_t batch) {
  const bool is_known = (limits.has_table == 0 || limits.table != nullptr) &&
                        (limits.positions.given == 0 || limits.positions.data != nullptr);
  if (!is_known) return INT64_MAX;
  int64_t largest = -1;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t count = sequence_of(limits, b).query_count;
    const int32_t* const given = elements != nullptr ? elements[b].query_positions : nullptr;
    const bool is_given = given != nullptr || limits.positions.given != 0;
    for (int64_t q = is_given ? 0 : count - 1; q < count; ++q)
      largest = std::max(largest, given != nullptr ? given[q] : position_of_query(limits, b, q));
  }
  return largest;
}

CacheLock::CacheLock(const LayerInputs& inputs, Purpose purpose) {
  const CacheInputs* const memory = inputs.decoder.memory_cache;
  if (memory != nullptr && inputs.cache != nullptr && memory->cache == inputs.cache->cache) {
    fail(Status::InvalidArgument,
         "%s->cache is that of inputs->cache, expected another one: its rows are those of the encoder's output",
         memory->name);
  }
  if (memory != nullptr) memory_.emplace(*memory->cache);
  if (inputs.cache == nullptr) return;
  if (purpose == Purpose::Run && inputs.cache->appends())
    write_.emplace(*inputs.cache->cache);
  else
    read_.emplace(*inputs.cache->cache);
}

CacheOfCall cache_of(const InputValues& inputs, Schedule& schedule) {
  return {*inputs.cache, inputs.cache_layer_offset, on_host(inputs.cache->sequences, schedule)};
}

CacheCall set_cache_sequences(Schedule& schedule, const CachedLayer& layer, const CacheOfCall& of_call, int64_t batch,
                              int64_t num_rows, bool reads, const CallSequences& given, CachedSequences& cached) {
  CacheInputs inputs = of_call.given;
  inputs.layer += of_call.layer_offset;
  const Cache& cache = *inputs.cache;
  check_layer_fits(cache, of_call.given, inputs, layer);
  if (layer.short_rotary == nullptr) check_rotary(cache, inputs.layer, layer.rotary);
  const Tensor* sequences = of_call.sequences;
  if (sequences != nullptr) check_sequences_tensor(inputs, *sequences, batch);

  cached.keys = keys_of(cache, inputs);
  KeyLimits& limits = cached.limits;
  limits = unlimited(num_rows, num_rows);
  set_sequences(limits, given, batch, true, reads);
  const Operand positions = limits.positions;
  limits.positions = {};
  limits.has_table = 1;
  CacheCall call;
  call.cache = inputs.cache.get();
  call.layer = inputs.layer;
  call.rotary = layer.rotary;

  const bool knows_sequences = sequences == nullptr || sequences->has_data();
  const bool knows_rows = reads && (limits.table != nullptr || !given.has_table());
  int64_t longest = 0;
  if (!knows_sequences) {
    for (int64_t sequence = 0; sequence < cache.options().max_sequences; ++sequence)
      longest = std::max<int64_t>(longest, cache.rows(inputs.layer, sequence).length);
    limits.num_keys = longest + (inputs.appends() ? num_rows : 0);
    limits.table = nullptr;
    return call;
  }
  Cache::NewRows* const rows = make_rows(schedule, inputs, sequences, batch);
  // Lengths of queries count for the number of keys, which is a dim of weights, also where elements are not read otherwise.
  const Tensor* lens = given.query_lens != nullptr && given.query_lens->has_data() ? given.query_lens : nullptr;
  Operand lens_operand;
  if (lens != nullptr) set_operand(lens_operand, *lens, {0, -1, -1, -1});
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t count = lens != nullptr ? std::clamp<int64_t>(length_of(lens_operand, b, 0), 0, num_rows) : num_rows;
    longest = std::max(longest, cache.rows(inputs.layer, rows[b].sequence).length + (inputs.appends() ? count : 0));
  }
  limits.num_keys = longest;
  if (!knows_rows) {
    limits.table = nullptr;
    return call;
  }

  Sequence* table = given.table;
  if (!given.has_table()) {
    table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
    std::uninitialized_value_construct_n(table, batch);
    for (int64_t b = 0; b < batch; ++b) table[b].query_count = num_rows;
  }
  limits.table = table;
  auto* elements = schedule.arena().allocate_for<CachedElement>(static_cast<size_t>(batch));
  std::uninitialized_value_construct_n(elements, batch);
  cached.keys.elements = elements;

  const bool unrotates = layer.rotary != nullptr && cache.options().unrotated_keys;
  // A query outside its sequence has no position in it: a causal mask compares the positions that are given (rule 6).
  const bool is_causal_by_position =
      !inputs.appends() && positions.given != 0 && layer.options->causal != Alignment::None;
  const bool has_window = layer.options->window != Alignment::None || is_causal_by_position;
  const bool needs_positions = layer.reads_distances || unrotates || has_window;
  bool compares_positions = is_causal_by_position;
  for (int64_t b = 0; b < batch; ++b) {
    rows[b].count = inputs.appends() ? table[b].query_count : 0;
    const bool continues = set_element(schedule, inputs, positions, b, table[b], rows[b], elements[b]);
    const LayerRows& held = cache.rows(inputs.layer, rows[b].sequence);
    const bool has_gap = held.num_consecutive < held.length || (inputs.appends() && !continues);
    compares_positions = compares_positions || has_gap || elements[b].query_positions != nullptr;
    if (has_gap && needs_positions) elements[b].positions = gather_positions(schedule, cache, inputs.layer, rows[b]);
  }
  if (layer.short_rotary != nullptr) {
    if (largest_position(limits, elements, batch) < layer.short_length) call.rotary = layer.short_rotary;
    check_rotary(cache, inputs.layer, call.rotary);
  }
  AttentionOptions options = *layer.options;
  if (inputs.appends()) {
    // Rows are compared by their numbers in the sequence.
    if (options.causal != Alignment::None) options.causal = Alignment::BottomRight;
    if (options.window != Alignment::None) options.window = Alignment::BottomRight;
  }
  if (has_window && compares_positions) {
    const auto limit_of = [&](int64_t width) {
      return options.window == Alignment::None || width < 0 ? kUnlimited : std::min(width, kUnlimited);
    };
    cached.keys.has_window = 1;
    cached.keys.window_left = limit_of(options.window_left);
    cached.keys.window_right = is_causal_by_position ? 0 : limit_of(options.window_right);
    options.window = Alignment::None;
    if (is_causal_by_position) options.causal = Alignment::None;
  }
  for (int64_t b = 0; b < batch; ++b) set_band(table[b], options, false);
  if (!inputs.appends()) return call;
  call.rows = rows;
  call.num_rows = batch;
  return call;
}

void continue_positions(Schedule& schedule, const CacheOfCall& of_call, int64_t batch, bool reads, Sequence* table,
                        KeyLimits& limits) {
  const CacheInputs& inputs = of_call.given;
  const Cache& cache = *inputs.cache;
  // The attentions refuse a layer that the cache lacks.
  if (limits.positions.given != 0 || inputs.layer < 0 || inputs.layer >= cache.options().num_layers) return;
  const bool had_table = limits.has_table != 0;
  limits.has_table = 1;
  const Tensor* sequences = of_call.sequences;
  if (sequences != nullptr) check_sequences_tensor(inputs, *sequences, batch);
  if (!reads || (had_table && table == nullptr) || (sequences != nullptr && !sequences->has_data())) {
    limits.table = nullptr;
    return;
  }
  Cache::NewRows* const rows = make_rows(schedule, inputs, sequences, batch);
  if (!had_table) {
    table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
    for (int64_t b = 0; b < batch; ++b) std::construct_at(&table[b], limits.sequence);
  }
  for (int64_t b = 0; b < batch; ++b) {
    table[b].query_position = cache.next_position(inputs.layer, rows[b].sequence);
  }
  limits.table = table;
}

}  // namespace heed
