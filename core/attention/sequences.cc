// SPDX-License-Identifier: Apache-2.0
#include "attention/sequences.h"

#include <algorithm>
#include <cinttypes>

#include "attention/lengths.h"
#include "base/error.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

constexpr const char* kPositions = INPUT("sequences->positions");
constexpr const char* kQueryLens = INPUT("sequences->query_lens");
constexpr const char* kQueryOffsets = INPUT("sequences->query_offsets");
constexpr const char* kKeyOffsets = INPUT("sequences->key_offsets");
constexpr const char* kKeyPositions = INPUT("sequences->key_positions");

void require_whole_numbers(const Tensor& tensor, const char* name) {
  if (tensor.dtype() != DType::I32 && tensor.dtype() != DType::I64)
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("I32") " or " DTYPE("I64"), name,
         term_of(tensor.dtype()));
}

// Offsets, whose elements length_of(operand, index, 0) reads.
Operand offsets_operand(const Tensor& offsets) {
  Operand operand;
  set_operand(operand, offsets, {0, -1, -1, -1});
  return operand;
}

void check_offsets_shape(const Tensor& offsets, const char* name) {
  require_whole_numbers(offsets, name);
  if (offsets.rank() != 1 || offsets.dim(0) < 1) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected (B + 1): the first row of each batch element, and the total", name,
         to_string(offsets.shape()).c_str());
  }
}

// Offsets begin at 0, never fall, and end at the number of rows.
void check_offsets(const Operand& offsets, int64_t batch, const char* name, const char* rows_name, int64_t num_rows) {
  int64_t before = 0;
  for (int64_t i = 0; i <= batch; ++i) {
    const int64_t offset = length_of(offsets, i, 0);
    if (i == 0 && offset != 0) fail(Status::InvalidArgument, "%s[0] is %" PRId64 ", expected 0", name, offset);
    if (offset < before) {
      fail(Status::InvalidArgument,
           "%s[%" PRId64 "] is %" PRId64 ", below %" PRId64 " before it: expected offsets that never fall", name, i,
           offset, before);
    }
    before = offset;
  }
  if (before != num_rows) {
    fail(Status::InvalidArgument, "%s[%" PRId64 "] is %" PRId64 ", expected %" PRId64 ", the number of rows of %s",
         name, batch, before, num_rows, rows_name);
  }
}

// Positions of rows: (batch, num_rows), or packed (num_rows), of queries or keys.
struct PositionRows {
  const char* name;
  const char* rows;  // the words for them
  const char* dims;
  int64_t batch;
  int64_t num_rows;
  bool is_packed;
  int64_t last_position;
};

Operand positions_operand(const Tensor& positions, const PositionRows& of, bool reads) {
  require_whole_numbers(positions, of.name);
  const Shape expected = of.is_packed ? Shape{of.num_rows} : Shape{of.batch, of.num_rows};
  if (!(positions.shape() == expected)) {
    if (of.is_packed) {
      fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, one for each row of the packed %s",
           of.name, to_string(positions.shape()).c_str(), to_string(expected).c_str(), of.rows);
    }
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, %s", of.name,
         to_string(positions.shape()).c_str(), to_string(expected).c_str(), of.dims);
  }
  Operand operand;
  if (of.is_packed)
    set_operand(operand, positions, {-1, -1, 0, -1});
  else
    set_operand(operand, positions, {0, -1, 1, -1});
  if (!reads) operand.data = nullptr;
  return operand;
}

// Those of rows 0 .. count - 1 of an element, or of the packed rows.
void check_positions(const Operand& positions, const PositionRows& of, int64_t b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = length_of(positions, b, i);
    if (position >= 0 && position <= of.last_position) continue;
    if (of.is_packed) {
      fail(Status::InvalidArgument, "%s[%" PRId64 "] is %" PRId64 ", expected a position from 0 to %" PRId64, of.name,
           i, position, of.last_position);
    }
    fail(Status::InvalidArgument, "%s[%" PRId64 ", %" PRId64 "] is %" PRId64 ", expected a position from 0 to %" PRId64,
         of.name, b, i, position, of.last_position);
  }
}

// Of all rows, or those of a table of padded elements.
void check_all_positions(const Operand& positions, const PositionRows& of, const Sequence* padded) {
  if (positions.data == nullptr) return;
  for (int64_t b = 0; b < (of.is_packed ? 1 : of.batch); ++b)
    check_positions(positions, of, b, padded == nullptr ? of.num_rows : padded[b].query_count);
}

// One batch element whose queries end at the position of its last key.
Sequence sequence_at(int64_t query_begin, int64_t query_count, int64_t key_begin, int64_t key_count) {
  Sequence sequence;
  sequence.query_begin = query_begin;
  sequence.query_count = query_count;
  sequence.key_begin = key_begin;
  sequence.key_count = key_count;
  sequence.query_position = key_count - query_count;
  return sequence;
}

// `of_keys` are the key offsets, or the query offsets if there are none.
void fill_packed_table(KeyLimits& limits, const CallSequences& sequences, const Tensor& of_keys, int64_t batch) {
  const Operand queries = offsets_operand(*sequences.query_offsets);
  const Operand keys = offsets_operand(of_keys);
  check_offsets(queries, batch, kQueryOffsets, INPUT("queries"), limits.num_queries);
  check_offsets(keys, batch, sequences.key_offsets == nullptr ? kQueryOffsets : kKeyOffsets, INPUT("keys"),
                limits.num_keys);
  limits.num_queries = limits.num_keys = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t first_query = length_of(queries, b, 0);
    const int64_t first_key = length_of(keys, b, 0);
    sequences.table[b] = sequence_at(first_query, length_of(queries, b + 1, 0) - first_query, first_key,
                                     length_of(keys, b + 1, 0) - first_key);
    limits.num_queries = std::max(limits.num_queries, sequences.table[b].query_count);
    limits.num_keys = std::max(limits.num_keys, sequences.table[b].key_count);
  }
}

void fill_padded_table(KeyLimits& limits, const CallSequences& sequences, const Operand& lens, int64_t batch,
                       bool keys_are_queries) {
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = length_of(lens, b, 0);
    sequences.table[b] = sequence_at(0, length, 0, keys_are_queries ? length : limits.num_keys);
  }
}

}  // namespace

int64_t packed_batch(const SequenceInputs& sequences, bool keys_are_queries) {
  if (sequences.query_lens != nullptr) {
    fail(Status::InvalidArgument,
         "%s is set, but so is %s, which says where the rows of packed queries end: expected one of them " WORD("NULL"),
         kQueryLens, kQueryOffsets);
  }
  check_offsets_shape(*sequences.query_offsets, kQueryOffsets);
  const int64_t batch = sequences.query_offsets->dim(0) - 1;
  if (keys_are_queries && sequences.key_offsets == nullptr) return batch;
  if (sequences.key_offsets == nullptr) {
    fail(Status::InvalidArgument,
         "%s is " WORD("NULL") ", but %s is set and " INPUT("keys") " has rows of its own: expected " ARGUMENT(
             "dims") " (%" PRId64 ")",
         kKeyOffsets, kQueryOffsets, batch + 1);
  }
  check_offsets_shape(*sequences.key_offsets, kKeyOffsets);
  if (sequences.key_offsets->dim(0) != batch + 1) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, but %s has %s: expected the same number of batch elements", kKeyOffsets,
         to_string(sequences.key_offsets->shape()).c_str(), kQueryOffsets,
         to_string(sequences.query_offsets->shape()).c_str());
  }
  return batch;
}

Operand key_positions_operand(const SequenceInputs& sequences, int64_t batch, int64_t num_rows, bool reads) {
  const PositionRows rows = {.name = kKeyPositions,
                             .rows = "keys",
                             .dims = "(B, K)",
                             .batch = batch,
                             .num_rows = num_rows,
                             .is_packed = sequences.is_packed(),
                             .last_position = kMaxPosition};
  const Operand positions = positions_operand(*sequences.key_positions, rows, reads);
  check_all_positions(positions, rows, nullptr);
  return positions;
}

void set_sequences(KeyLimits& limits, const CallSequences& sequences, int64_t batch, bool keys_are_queries,
                   bool reads) {
  if (sequences.key_offsets != nullptr && !sequences.is_packed()) {
    fail(Status::InvalidArgument, "%s is set, but %s is " WORD("NULL") ": expected both, or neither", kKeyOffsets,
         kQueryOffsets);
  }
  const PositionRows rows = {.name = kPositions,
                             .rows = "queries",
                             .dims = "(B, Q)",
                             .batch = batch,
                             .num_rows = limits.num_queries,
                             .is_packed = sequences.is_packed(),
                             .last_position = sequences.last_position};
  if (sequences.positions != nullptr) limits.positions = positions_operand(*sequences.positions, rows, reads);
  // Those of padding are not read.
  const bool is_padded = sequences.query_lens != nullptr && !sequences.is_packed();
  if (!is_padded) check_all_positions(limits.positions, rows, nullptr);
  if (!sequences.has_table()) return;
  limits.has_table = 1;
  if (sequences.is_packed()) {
    // Without key_offsets the keys are the queries. With them, also those of self-attention have rows of their own.
    const Tensor* of_keys = sequences.key_offsets != nullptr ? sequences.key_offsets : sequences.query_offsets;
    if (!reads || !sequences.query_offsets->has_data() || !of_keys->has_data()) return;
    fill_packed_table(limits, sequences, *of_keys, batch);
  } else {
    require_whole_numbers(*sequences.query_lens, kQueryLens);
    if (!(sequences.query_lens->shape() == Shape{batch})) {
      fail(Status::InvalidArgument,
           "%s has " ARGUMENT("dims") " %s, expected (%" PRId64 "), one length for each batch element", kQueryLens,
           to_string(sequences.query_lens->shape()).c_str(), batch);
    }
    const Operand lens = lengths_operand(*sequences.query_lens, kQueryLens,
                                         {batch, limits.num_queries, limits.num_queries, "queries"}, reads);
    if (lens.data == nullptr) return;
    fill_padded_table(limits, sequences, lens, batch, keys_are_queries);
    check_all_positions(limits.positions, rows, sequences.table);
  }
  limits.table = sequences.table;
}

}  // namespace heed
