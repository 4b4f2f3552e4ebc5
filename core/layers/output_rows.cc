// SPDX-License-Identifier: Apache-2.0
#include "layers/output_rows.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <memory>

#include "base/error.h"
#include "layers/host_sequences.h"
#include "ops/embedding.h"
#include "ops/embedding_backward.h"
#include "ops/lengths.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"

namespace heed {
namespace {

constexpr const char* kOutputRows = INPUT("output_rows");
constexpr const char* kNumLastRows = INPUT("num_last_rows");

// The rows of a batch element along the axis of all rows.
struct RowsOfElement {
  int64_t first;
  int64_t count;
};

Operand numbers_of(Schedule& schedule, const Tensor* tensor) {
  Operand operand;
  if (tensor == nullptr) return operand;
  const Tensor& on_host = schedule.on_host(*tensor);
  if (on_host.rank() == 1)
    set_operand(operand, on_host, {0, -1, -1, -1});
  else
    set_operand(operand, on_host, {0, -1, 1, -1});
  return operand;
}

// Lengths and offsets have been checked, by the first attention.
RowsOfElement rows_of_element(const Operand& lens, const Operand& offsets, int64_t b, int64_t num_rows) {
  if (lens.data != nullptr) return {0, length_of(lens, b, 0)};
  if (offsets.data == nullptr) return {0, num_rows};
  const int64_t first = length_of(offsets, b, 0);
  return {first, length_of(offsets, b + 1, 0) - first};
}

int64_t wanted_row(const Operand& given, int64_t b, int64_t i, const RowsOfElement& element) {
  const int64_t row = length_of(given, b, i);
  if (row >= 0 && row < element.count) return row;
  fail(Status::InvalidArgument,
       "%s[%" PRId64 ", %" PRId64 "] is %" PRId64 ", expected the number of a visible row of batch element %" PRId64
       ", 0 to %" PRId64,
       kOutputRows, b, i, row, b, element.count - 1);
}

}  // namespace

void check_output_rows(const WantedOutput& wanted) {
  if (wanted.num_last_rows != 0 && wanted.rows != nullptr) {
    fail(Status::InvalidArgument, "%s is %" PRId64 ", but %s is set: expected one of them", kNumLastRows,
         wanted.num_last_rows, kOutputRows);
  }
  if (wanted.num_last_rows < 0) {
    fail(Status::InvalidArgument, "%s is %" PRId64 ", expected 0 for all rows, or above", kNumLastRows,
         wanted.num_last_rows);
  }
  if (wanted.rows == nullptr) return;
  if (wanted.rows->dtype() != DType::I32 && wanted.rows->dtype() != DType::I64) {
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("I32") " or " DTYPE("I64"), kOutputRows,
         term_of(wanted.rows->dtype()));
  }
}

OutputRows find_output_rows(Schedule& schedule, const InputValues& inputs, int64_t batch, int64_t num_rows,
                            Purpose purpose) {
  const WantedOutput& wanted = *inputs.wanted_output;
  if (wanted.rows != nullptr && (wanted.rows->rank() != 2 || wanted.rows->dim(0) != batch)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected (%" PRId64 ", n)", kOutputRows,
         to_string(wanted.rows->shape()).c_str(), batch);
  }
  OutputRows found;
  found.count = wanted.rows != nullptr ? wanted.rows->dim(1) : wanted.num_last_rows;
  auto& limits = schedule.arena().make<KeyLimits>(unlimited(found.count, found.count));
  limits.has_table = 1;
  found.limits = &limits;
  const SequenceInputs& sequences = *inputs.sequences;
  const auto has_data = [](const Tensor* tensor) { return tensor == nullptr || tensor->has_data(); };
  if (purpose == Purpose::Shapes || !has_data(sequences.query_lens) || !has_data(sequences.query_offsets) ||
      !has_data(wanted.rows))
    return found;
  const Operand lens = numbers_of(schedule, sequences.query_lens);
  const Operand offsets = numbers_of(schedule, sequences.query_offsets);
  const Operand given = numbers_of(schedule, wanted.rows);
  auto* const rows = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(batch * found.count));
  auto* const table = schedule.arena().allocate_for<Sequence>(static_cast<size_t>(batch));
  std::uninitialized_fill_n(table, batch, limits.sequence);
  for (int64_t b = 0; b < batch; ++b) {
    const RowsOfElement element = rows_of_element(lens, offsets, b, num_rows);
    if (element.count == 0) table[b].query_count = 0;
    if (given.data == nullptr && element.count > 0 && element.count < found.count) {
      fail(Status::InvalidArgument,
           "%s is %" PRId64 ", but batch element %" PRId64 " has %" PRId64 " rows, expected as many at most, or 0 rows",
           kNumLastRows, found.count, b, element.count);
    }
    for (int64_t i = 0; i < found.count; ++i) {
      int64_t row = -1;
      if (element.count > 0)
        row = element.first +
              (given.data != nullptr ? wanted_row(given, b, i, element) : element.count - found.count + i);
      rows[b * found.count + i] = static_cast<int32_t>(row);
    }
  }
  found.rows = rows;
  limits.table = table;
  return found;
}

namespace {

// The numbers of the wanted rows in one table of all rows; null if they are not read.
const int32_t* numbers_of_rows(Schedule& schedule, const OutputRows& output_rows, int64_t batch, int64_t num_rows,
                               bool packed) {
  if (output_rows.rows == nullptr) return nullptr;
  // Rows of all batch elements lie one behind the other.
  auto* const ids = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(batch * output_rows.count));
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < output_rows.count; ++i) {
      const int32_t row = output_rows.rows[b * output_rows.count + i];
      ids[b * output_rows.count + i] = row < 0 || packed ? row : static_cast<int32_t>(b * num_rows + row);
    }
  }
  return ids;
}

}  // namespace

void add_output_rows(Schedule& schedule, const OutputRows& output_rows, const Value& from, const Value& to) {
  const bool packed = from.rank() == 2;
  const int64_t batch = to.dim(0);
  const int64_t num_rows = from.dim(packed ? 0 : 1);
  auto& problem = schedule.add<EmbeddingProblem>("take wanted rows");
  const int64_t sizes[] = {batch, output_rows.count, to.dim(2)};
  std::copy_n(sizes, 3, problem.sizes + kElementwiseRank - 3);
  schedule.set_operand(problem.table, from, {-1, -1, packed ? 0 : 1, packed ? 1 : 2});
  schedule.set_elementwise(problem.output, to);
  problem.num_table_rows = packed ? num_rows : batch * num_rows;
  problem.ids = numbers_of_rows(schedule, output_rows, batch, num_rows, packed);
  problem.has_gaps = problem.ids != nullptr && std::any_of(problem.ids, problem.ids + batch * output_rows.count,
                                                           [](int32_t row) { return row < 0; })
                         ? 1
                         : 0;
}

void add_output_rows_backward(Schedule& schedule, const OutputRows& output_rows, const Value& of_wanted,
                              const Value& of_all) {
  const bool packed = of_all.rank() == 2;
  const int64_t batch = of_wanted.dim(0);
  const int64_t num_rows = of_all.dim(packed ? 0 : 1);
  auto& problem = schedule.add<EmbeddingBackwardProblem>("gradient of all rows");
  const int64_t sizes[] = {batch, output_rows.count, of_wanted.dim(2)};
  std::copy_n(sizes, 3, problem.sizes + kElementwiseRank - 3);
  schedule.set_elementwise(problem.output_gradient, of_wanted);
  schedule.set_operand(problem.table_gradient, of_all, {-1, -1, packed ? 0 : 1, packed ? 1 : 2});
  problem.num_table_rows = packed ? num_rows : batch * num_rows;
  problem.ids = numbers_of_rows(schedule, output_rows, batch, num_rows, packed);
}

}  // namespace heed
