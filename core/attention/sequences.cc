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

void set_positions(KeyLimits& limits, const CallSequences& sequences, int64_t batch, bool reads) {
  const Tensor& positions = *sequences.positions;
  require_whole_numbers(positions, kPositions);
  const bool is_packed = sequences.is_packed();
  const Shape expected = is_packed ? Shape{limits.num_queries} : Shape{batch, limits.num_queries};
  if (!(positions.shape() == expected)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, %s", kPositions,
         to_string(positions.shape()).c_str(), to_string(expected).c_str(),
         is_packed ? "one for each row of the packed queries" : "(B, Q)");
  }
  if (is_packed)
    set_operand(limits.positions, positions, {-1, -1, 0, -1});
  else
    set_operand(limits.positions, positions, {0, -1, 1, -1});
  if (!reads) limits.positions.data = nullptr;
  if (limits.positions.data == nullptr) return;
  for (int64_t b = 0; b < (is_packed ? 1 : batch); ++b) {
    for (int64_t q = 0; q < limits.num_queries; ++q) {
      const int64_t position = length_of(limits.positions, b, q);
      if (position >= 0 && position <= sequences.last_position) continue;
      if (is_packed) {
        fail(Status::InvalidArgument, "%s[%" PRId64 "] is %" PRId64 ", expected a position from 0 to %" PRId64,
             kPositions, q, position, sequences.last_position);
      }
      fail(Status::InvalidArgument,
           "%s[%" PRId64 ", %" PRId64 "] is %" PRId64 ", expected a position from 0 to %" PRId64, kPositions, b, q,
           position, sequences.last_position);
    }
  }
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

void set_sequences(KeyLimits& limits, const CallSequences& sequences, int64_t batch, bool keys_are_queries,
                   bool reads) {
  if (sequences.key_offsets != nullptr && !sequences.is_packed()) {
    fail(Status::InvalidArgument, "%s is set, but %s is " WORD("NULL") ": expected both, or neither", kKeyOffsets,
         kQueryOffsets);
  }
  if (sequences.positions != nullptr) set_positions(limits, sequences, batch, reads);
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
  }
  limits.table = sequences.table;
}

}  // namespace heed
