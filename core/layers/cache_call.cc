// SPDX-License-Identifier: Apache-2.0
#include "layers/cache_call.h"

#include <algorithm>
#include <cinttypes>
#include <memory>
#include <string>

#include "attention/validate.h"
#include "base/error.h"
#include "layers/host_sequences.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"

namespace heed {
namespace {

// `given`: what the caller said. `inputs`: the same, with the layer of the cache that this attention uses.
void check_layer_fits(const Cache& cache, const CacheInputs& given, const CacheInputs& inputs,
                      const CachedLayer& layer) {
  const CacheOptions& options = cache.options();
  if (options.num_kv_heads != layer.num_kv_heads || options.head_size != layer.head_size ||
      options.value_head_size != layer.value_head_size) {
    fail(Status::InvalidArgument,
         INPUT("%s->cache") " has %" PRId64 " key heads of size %" PRId64 " and values of size %" PRId64
                            ", but the " WORD("layer") " has %" PRId64 " of size %" PRId64
                                                       " and values of size %" PRId64 ": expected the same",
         inputs.path, options.num_kv_heads, options.head_size, options.value_head_size, layer.num_kv_heads,
         layer.head_size, layer.value_head_size);
  }
  if (given.layer < 0 || given.layer >= options.num_layers) {
    fail(Status::InvalidArgument, INPUT("%s->layer") " is %" PRId64 ", expected 0 to %" PRId64 ", a layer of the cache",
         inputs.path, given.layer, options.num_layers - 1);
  }
  if (inputs.layer < options.num_layers) return;
  if (given.layer == 0) {
    fail(Status::InvalidArgument,
         INPUT("%s->cache") " has too few layers, %" PRId64 ": " WORD(
             "layer") " %" PRId64 " of this one uses layer %" PRId64
                      " of it, expected one for each, as " FUNCTION("heed_layer_cache_options") " says",
         inputs.path, options.num_layers, inputs.layer, inputs.layer);
  }
  fail(Status::InvalidArgument,
       INPUT("%s->layer") " is %" PRId64 ", from which on the cache has too few layers, %" PRId64 ": " WORD(
           "layer") " %" PRId64 " of this one uses layer %" PRId64
                    " of it, expected one for each, as " FUNCTION("heed_layer_cache_options") " says",
       inputs.path, given.layer, options.num_layers - given.layer, inputs.layer - given.layer, inputs.layer);
}

// Throws unless the rows that the layer of the cache keeps are all that this attention sees.
void check_window(Schedule& schedule, const CacheInputs& inputs, const CachedLayer& layer) {
  const CacheGeometry& geometry = inputs.cache->geometry(inputs.layer);
  if (!geometry.serves_window) return;
  if (!inputs.appends()) {
    fail(Status::InvalidArgument,
         INPUT("%s->use") " is " CONSTANT(
             "HEED_CACHE_READ") ", but layer %" PRId64 " of the cache keeps only the rows of a window, %" PRId64
                                ": expected " CONSTANT("HEED_CACHE_APPEND") ", or 0 as its " OPTION("layer_capacities"),
         inputs.path, inputs.layer, geometry.visible_rows);
  }
  const int64_t window = layer.window();
  if (window == 0 || window > geometry.visible_rows)
    fail_for_window(schedule, inputs, inputs.layer, geometry.visible_rows, window, nullptr);
}

void check_rotary(const Cache& cache, int64_t layer, const std::shared_ptr<const RotaryTable>* rotary) {
  cache.check_rotary(layer, rotary != nullptr ? rotary->get() : nullptr);
}

void check_sequences_tensor(const CacheInputs& inputs, const Tensor& sequences, int64_t batch) {
  if (sequences.dtype() != DType::I32 && sequences.dtype() != DType::I64)
    fail(Status::InvalidArgument, INPUT("%s->sequences") " is %s, expected " DTYPE("I32") " or " DTYPE("I64"),
         inputs.path, term_of(sequences.dtype()));
  if (!(sequences.shape() == Shape{batch})) {
    fail(Status::InvalidArgument,
         INPUT("%s->sequences") " has " ARGUMENT("dims") " %s, expected (%" PRId64
                                                         "), the sequence of each batch element",
         inputs.path, to_string(sequences.shape()).c_str(), batch);
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
           INPUT("%s->sequences") "[%" PRId64 "] is %" PRId64 ", expected 0 to %" PRId64 ", a sequence of the cache",
           inputs.path, b, sequence, most - 1);
    }
    for (int64_t other = 0; inputs.appends() && sequences != nullptr && other < b; ++other) {
      if (rows[other].sequence != sequence) continue;
      fail(Status::InvalidArgument,
           INPUT("%s->sequences") "[%" PRId64 "] is %" PRId64 ", as is element %" PRId64
                                  ": expected different sequences, since rows are appended to each",
           inputs.path, b, sequence, other);
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
         INPUT("%s->sequences") " is " WORD("NULL") ", so that the %" PRId64
                                                    " batch elements are as many sequences, but the cache has %" PRId64
                                                    ": expected " WORD("a tensor") ", or at most as many elements",
         inputs.path, batch, most);
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
  element.pages = cache.pages_of(inputs.layer, added.sequence);
  element.num_sinks = cache.num_sinks(inputs.layer, added.sequence);
  element.first = held.first;
  sequence.key_begin = 0;
  sequence.key_count = held.length + added.count;
  sequence.key_position = held.num_consecutive > 0 ? held.shift : 0;
  sequence.query_position = inputs.appends() ? next : next - count;
  if (positions.data == nullptr) {
    if (inputs.appends() && count > 0 && next + count - 1 > kMaxPosition) {
      fail(Status::InvalidArgument,
           INPUT("sequences->positions") " is " WORD("NULL") ", but sequence %" PRId64 " continues at position %" PRId64
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
  const CacheGeometry& geometry = cache.geometry(inputs.layer);
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
  keys.visible_rows = geometry.visible_rows;
  keys.max_rows = geometry.ring_rows > 0 ? geometry.page_rows : geometry.max_rows;
  return keys;
}

// What the caller said, with the layer of the cache that this attention uses, once it has been checked.
CacheInputs checked_inputs(Schedule& schedule, const CacheOfCall& of_call, const CachedLayer& layer, int64_t batch) {
  CacheInputs inputs = of_call.given;
  inputs.layer += of_call.layer_offset;
  check_layer_fits(*inputs.cache, of_call.given, inputs, layer);
  check_window(schedule, inputs, layer);
  if (layer.short_rotary == nullptr) check_rotary(*inputs.cache, inputs.layer, layer.rotary);
  if (of_call.sequences != nullptr) check_sequences_tensor(inputs, *of_call.sequences, batch);
  return inputs;
}

// The most keys that a query may have, where it is not known yet which sequences the call has.
int64_t most_keys_of_any(const CacheInputs& inputs, int64_t num_rows) {
  const Cache& cache = *inputs.cache;
  int64_t longest = 0;
  for (int64_t sequence = 0; sequence < cache.options().max_sequences; ++sequence)
    longest = std::max<int64_t>(longest, cache.rows(inputs.layer, sequence).length);
  return longest + (inputs.appends() ? num_rows : 0);
}

// The most keys of a sequence of the call. It is a dim of weights, so that lengths of queries count also where elements are
// not read otherwise.
int64_t most_keys_of(const CacheInputs& inputs, const CallSequences& given, int64_t batch, int64_t num_rows,
                     const Cache::NewRows* rows) {
  const Tensor* lens = given.query_lens != nullptr && given.query_lens->has_data() ? given.query_lens : nullptr;
  Operand lens_operand;
  if (lens != nullptr) set_operand(lens_operand, *lens, {0, -1, -1, -1});
  int64_t longest = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t count = lens != nullptr ? std::clamp<int64_t>(length_of(lens_operand, b, 0), 0, num_rows) : num_rows;
    const int64_t held = inputs.cache->rows(inputs.layer, rows[b].sequence).length;
    longest = std::max(longest, held + (inputs.appends() ? count : 0));
  }
  return longest;
}

// The batch elements of a call: of each its queries, its new rows and its keys.
struct Elements {
  int64_t batch;
  Sequence* table;
  Cache::NewRows* rows;
  CachedElement* keys;
};

// The queries are those of the caller's table, if it has one. The keys are not set yet.
Elements make_elements(Schedule& schedule, const CallSequences& given, int64_t batch, int64_t num_rows,
                       Cache::NewRows* rows) {
  Sequence* table = given.table;
  if (!given.has_table()) {
    table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
    std::uninitialized_value_construct_n(table, batch);
    for (int64_t b = 0; b < batch; ++b) table[b].query_count = num_rows;
  }
  auto* keys = schedule.arena().allocate_for<CachedElement>(static_cast<size_t>(batch));
  std::uninitialized_value_construct_n(keys, batch);
  return {batch, table, rows, keys};
}

// What a call does with the positions of its rows.
struct PositionRules {
  // A query outside its sequence has no position in it: a causal mask compares the positions that are given (rule 6).
  bool is_causal_by_position;
  // Whether a window, or such a mask, hides keys.
  bool has_window;
  // Whether positions that do not continue must be known one by one.
  bool needs_each;
};

PositionRules position_rules_of(const CachedLayer& layer, const CacheInputs& inputs, const Operand& positions) {
  PositionRules rules;
  rules.is_causal_by_position = !inputs.appends() && positions.given != 0 && layer.options->causal != Alignment::None;
  rules.has_window = layer.options->window != Alignment::None || rules.is_causal_by_position;
  const bool unrotates = layer.rotary != nullptr && inputs.cache->options().unrotated_keys;
  rules.needs_each = layer.reads_distances || unrotates || rules.has_window;
  return rules;
}

// Sets the elements, and the counts of their new rows. Returns whether a window must compare positions, since they are not the
// numbers of the rows.
bool set_elements(Schedule& schedule, const CacheInputs& inputs, const Operand& positions, const PositionRules& rules,
                  const Elements& elements) {
  const Cache& cache = *inputs.cache;
  bool compares_positions = rules.is_causal_by_position;
  for (int64_t b = 0; b < elements.batch; ++b) {
    Cache::NewRows& added = elements.rows[b];
    CachedElement& keys = elements.keys[b];
    added.count = inputs.appends() ? elements.table[b].query_count : 0;
    const bool continues = set_element(schedule, inputs, positions, b, elements.table[b], added, keys);
    const LayerRows& held = cache.rows(inputs.layer, added.sequence);
    const bool has_gap = held.num_consecutive < held.length || (inputs.appends() && !continues);
    compares_positions = compares_positions || has_gap || keys.query_positions != nullptr;
    if (has_gap && rules.needs_each) keys.positions = gather_positions(schedule, cache, inputs.layer, added);
  }
  return compares_positions;
}

// The options of a call that compares rows by their numbers in the sequence, where it appends rows.
AttentionOptions options_by_rows(const AttentionOptions& given, const CacheInputs& inputs) {
  AttentionOptions options = given;
  if (!inputs.appends()) return options;
  if (options.causal != Alignment::None) options.causal = Alignment::BottomRight;
  if (options.window != Alignment::None) options.window = Alignment::BottomRight;
  return options;
}

// In the ring of a window that compares positions: shows all rows that are there when an element's rows are stored, and
// throws if the window of a query reaches a row that is not.
void show_stored_rows(const CacheInputs& inputs, const Elements& elements, CachedKeys& keys) {
  const Cache& cache = *inputs.cache;
  const int64_t ring_rows = cache.geometry(inputs.layer).ring_rows;
  const auto is_one_piece = [&](const Cache::NewRows& added) { return added.count <= kRingSlack; };
  // A longer call is stored and computed in pieces, and a query sees what is there with the piece that has its last row.
  const bool is_whole = std::all_of(elements.rows, elements.rows + elements.batch, is_one_piece);
  keys.spare_rows = is_whole ? ring_rows : ring_rows - kRingSlack + 1 - keys.visible_rows;
  for (int64_t b = 0; b < elements.batch; ++b) {
    const Cache::NewRows& added = elements.rows[b];
    CachedElement& element = elements.keys[b];
    const LayerRows& held = cache.rows(inputs.layer, added.sequence);
    if (is_whole) element.first = std::max(element.first, held.length + added.count - ring_rows);
    int64_t hidden_end = held.dropped_end;  // positions of rows that are not shown are below it
    int64_t row = held.first;
    for (int64_t q = 0; q < added.count; ++q) {
      const Sequence& sequence = elements.table[b];
      const int64_t oldest = is_whole ? element.first : held.length + q - keys.visible_rows - keys.spare_rows + 1;
      for (; row < oldest; ++row) {
        const int64_t position = element.positions != nullptr ? element.positions[row] : sequence.key_position + row;
        hidden_end = std::max(hidden_end, position + 1);
      }
      const int64_t position =
          element.query_positions != nullptr ? element.query_positions[q] : sequence.query_position + q;
      if (hidden_end == 0 || position - keys.window_left >= hidden_end) continue;
      fail(Status::InvalidArgument,
           INPUT("sequences->positions") " has %" PRId64 " for row %" PRId64 " of sequence %" PRId64
                                         ", whose window reaches rows that layer %" PRId64
                                         " of the cache has dropped: expected at least %" PRId64,
           position, held.length + q, added.sequence, inputs.layer, hidden_end + keys.window_left);
    }
  }
}

// Moves the window from the options to the keys, whose positions it then compares.
void move_window(AttentionOptions& options, const PositionRules& rules, CachedKeys& keys) {
  const auto limit_of = [&](int64_t width) {
    return options.window == Alignment::None || width < 0 ? kUnlimited : std::min(width, kUnlimited);
  };
  keys.has_window = 1;
  keys.window_left = limit_of(options.window_left);
  keys.window_right = rules.is_causal_by_position ? 0 : limit_of(options.window_right);
  options.window = Alignment::None;
  if (rules.is_causal_by_position) options.causal = Alignment::None;
}

}  // namespace

int64_t CachedLayer::window() const {
  const bool sees_later = options->causal == Alignment::None && options->window_right != 0;
  if (options->window == Alignment::None || options->window_left < 0 || options->window_left >= kMaxCacheRows) return 0;
  return sees_later ? 0 : options->window_left + 1;
}

void fail_for_window(Schedule& schedule, const CacheInputs& inputs, int64_t layer, int64_t shown, int64_t window,
                     const char* child) {
  std::string path = path_text(schedule.path());
  if (child != nullptr) path += std::string(path.empty() ? "" : ".") + child;
  const std::string name = path.empty() ? "the " WORD("layer") : "\"" + path + "\"";
  const std::string seen = window > 0 ? std::to_string(window) : "all";
  fail(Status::InvalidArgument,
       INPUT("%s->cache") " shows the last %" PRId64 " rows of a sequence in layer %" PRId64
                          ", but %s sees %s rows: expected a cache that shows as many, such as a contiguous or paged "
                          "one with the options of " FUNCTION("heed_layer_cache_options"),
       inputs.path, shown, layer, name.c_str(), seen.c_str());
}

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
         INPUT("%s->cache") " is that of " INPUT(
             "cache") ", expected another one: its rows are those of the encoder's output",
         memory->path);
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
  const CacheInputs inputs = checked_inputs(schedule, of_call, layer, batch);
  cached.keys = keys_of(*inputs.cache, inputs);
  KeyLimits& limits = cached.limits;
  limits = unlimited(num_rows, num_rows);
  set_sequences(limits, given, batch, true, reads);
  const Operand positions = limits.positions;
  limits.positions = {};
  const bool knows_rows = reads && (limits.table != nullptr || !given.has_table());
  limits.has_table = 1;
  limits.table = nullptr;
  CacheCall call;
  call.cache = inputs.cache.get();
  call.layer = inputs.layer;
  call.rotary = layer.rotary;

  if (of_call.sequences != nullptr && !of_call.sequences->has_data()) {
    limits.num_keys = most_keys_of_any(inputs, num_rows);
    return call;
  }
  Cache::NewRows* const rows = make_rows(schedule, inputs, of_call.sequences, batch);
  limits.num_keys = most_keys_of(inputs, given, batch, num_rows, rows);
  if (!knows_rows) return call;

  const Elements elements = make_elements(schedule, given, batch, num_rows, rows);
  limits.table = elements.table;
  cached.keys.elements = elements.keys;
  const PositionRules rules = position_rules_of(layer, inputs, positions);
  const bool compares_positions = set_elements(schedule, inputs, positions, rules, elements);
  if (layer.short_rotary != nullptr) {
    if (largest_position(limits, elements.keys, batch) < layer.short_length) call.rotary = layer.short_rotary;
    check_rotary(*inputs.cache, inputs.layer, call.rotary);
  }
  AttentionOptions options = options_by_rows(*layer.options, inputs);
  if (compares_positions && rules.has_window) move_window(options, rules, cached.keys);
  if (compares_positions && inputs.cache->geometry(inputs.layer).serves_window)
    show_stored_rows(inputs, elements, cached.keys);
  for (int64_t b = 0; b < batch; ++b) set_band(elements.table[b], options, false);
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
