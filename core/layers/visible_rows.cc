// SPDX-License-Identifier: Apache-2.0
#include "layers/visible_rows.h"

#include <algorithm>
#include <cinttypes>
#include <initializer_list>
#include <utility>

#include "base/decimal_text.h"
#include "base/error.h"
#include "ops/embedding.h"
#include "tensor/element.h"

namespace heed {
namespace {

bool is_visible(const Tensor& mask, const char* name, int64_t b, int64_t row) {
  const double element = element_of(mask, b * mask.stride(0) + row * mask.stride(1));
  if (element == 0 || element == 1) return element != 0;
  fail(Status::InvalidArgument,
       "%s[%" PRId64 ", %" PRId64
       "] is %s, expected 1, or 0 for a row that is hidden; numbers that are added to scores "
       "go to " INPUT("bias"),
       name, b, row, DecimalText(element, 9).c_str());
}

// Where the rows of an array are: along row_axis, of each batch element and, if the array has them, of each head.
struct RowPlaces {
  RowPlaces(const Value& value, int32_t row_axis)
      : batch(value.dim(0)),
        num_heads(row_axis == 2 ? value.dim(1) : 1),
        num_rows(value.dim(row_axis)),
        batch_stride(value.stride(0)),
        head_stride(row_axis == 2 ? value.stride(1) : 0),
        row_stride(value.stride(row_axis)) {}

  // Whether all rows lie one behind the other, and their numbers fit the ids of a table.
  bool is_one_table() const {
    return (num_heads == 1 || head_stride == num_rows * row_stride) &&
           (batch == 1 || batch_stride == num_heads * num_rows * row_stride) &&
           static_cast<double>(batch) * static_cast<double>(num_heads) * static_cast<double>(num_rows) <= INT32_MAX;
  }

  int64_t batch;
  int64_t num_heads;
  int64_t num_rows;
  int64_t batch_stride;
  int64_t head_stride;
  int64_t row_stride;
};

// Adds one lookup of rows: `num_rows` of them, each of `size` elements. `offset` and `strides` are those of the output.
EmbeddingProblem& add_lookup(Schedule& schedule, const char* operation, const Value& from, int64_t first,
                             int64_t row_stride, int64_t stride, int64_t num_table_rows, const int32_t* ids,
                             const Value& to, int64_t offset, std::initializer_list<std::pair<int64_t, int64_t>> axes) {
  auto& problem = schedule.add<EmbeddingProblem>(operation);
  auto axis = static_cast<size_t>(kElementwiseRank) - axes.size();
  schedule.set_array(problem.output, to, offset);
  for (const auto& [size, of_output] : axes) {
    problem.sizes[axis] = size;
    problem.output.strides[axis++] = of_output;
  }
  problem.ids = ids;
  problem.num_table_rows = num_table_rows;
  schedule.set_array(problem.table, from, first);
  problem.table.strides[2] = row_stride;
  problem.table.strides[3] = stride;
  return problem;
}

}  // namespace

VisibleRows read_visible_rows(Schedule& schedule, const Tensor* mask, const char* name, int64_t batch, int64_t num_rows,
                              const MaskReading& reading) {
  VisibleRows visible;
  if (mask == nullptr) return visible;
  visible = {.mask = mask,
             .name = name,
             .batch = batch,
             .num_rows = num_rows,
             .has_holes = reading.may_have_holes.value_or(true)};
  if (!(mask->shape() == Shape{batch, num_rows})) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s, one element for each row", name,
         to_string(mask->shape()).c_str(), to_string(Shape{batch, num_rows}).c_str());
  }
  if (!reading.reads || !mask->has_data()) return visible;
  const Tensor& on_host = schedule.on_host(*mask);
  CallArena& arena = schedule.arena();
  const auto num_elements = static_cast<size_t>(batch * num_rows);
  auto* const counts = arena.allocate_for<int64_t>(static_cast<size_t>(batch));
  auto* const rows = arena.allocate_for<int32_t>(num_elements);
  auto* const places = arena.allocate_for<int32_t>(num_elements);
  bool has_holes = false;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t count = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      const bool sees = is_visible(on_host, name, b, row);
      places[b * num_rows + row] = static_cast<int32_t>(sees ? count : num_rows - 1);
      if (!sees) continue;
      has_holes = has_holes || row != count;
      rows[b * num_rows + count++] = static_cast<int32_t>(row);
    }
    std::fill(rows + b * num_rows + count, rows + (b + 1) * num_rows, 0);
    counts[b] = count;
  }
  visible.counts = counts;
  visible.has_holes = reading.may_have_holes.value_or(has_holes);
  if (visible.has_holes) {
    visible.rows = rows;
    visible.places = places;
  }
  return visible;
}

void add_copies_of_rows(Schedule& schedule, const char* operation, const Value& from, const Value& to, int32_t row_axis,
                        const int32_t* rows, bool has_gaps) {
  const RowPlaces source(from, row_axis);
  const RowPlaces target(to, row_axis);
  // The elements of a row, if there is an axis behind row_axis.
  const bool is_row = from.rank() > row_axis + 1;
  const int64_t size = is_row ? from.dim(row_axis + 1) : 1;
  const int64_t stride = is_row ? from.stride(row_axis + 1) : 0;
  const int64_t to_stride = is_row ? to.stride(row_axis + 1) : 0;
  const int64_t num_lists = source.batch * source.num_heads;
  const Schedule::OnePhase one_phase(schedule);
  if (source.is_one_table()) {
    int32_t* ids = nullptr;
    if (rows != nullptr) {
      ids = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(num_lists * target.num_rows));
      int32_t* next = ids;
      for (int64_t list = 0; list < num_lists; ++list) {
        const int32_t* const of_element = rows + list / source.num_heads * target.num_rows;
        for (int64_t i = 0; i < target.num_rows; ++i)
          *next++ = of_element[i] < 0 ? -1 : static_cast<int32_t>(list * source.num_rows + of_element[i]);
      }
    }
    add_lookup(schedule, operation, from, 0, source.row_stride, stride, num_lists * source.num_rows, ids, to, 0,
               {{source.batch, target.batch_stride},
                {source.num_heads, target.head_stride},
                {target.num_rows, target.row_stride},
                {size, to_stride}})
        .has_gaps = has_gaps ? 1 : 0;
    return;
  }
  for (int64_t b = 0; b < source.batch; ++b) {
    for (int64_t h = 0; h < source.num_heads; ++h) {
      add_lookup(schedule, operation, from, b * source.batch_stride + h * source.head_stride, source.row_stride, stride,
                 source.num_rows, rows == nullptr ? nullptr : rows + b * target.num_rows, to,
                 b * target.batch_stride + h * target.head_stride,
                 {{target.num_rows, target.row_stride}, {size, to_stride}})
          .has_gaps = has_gaps ? 1 : 0;
    }
  }
}

void add_copies_of_pairs(Schedule& schedule, const char* operation, const Value& from, const Value& to,
                         const VisibleRows* rows, const VisibleRows* columns) {
  const int32_t row_axis = from.rank() - 2;
  const RowPlaces source(from, row_axis);
  const RowPlaces target(to, row_axis);
  const int64_t num_columns = from.dim(row_axis + 1);
  const int64_t stride = from.stride(row_axis + 1);
  const int64_t to_stride = to.stride(row_axis + 1);
  const bool is_read = (rows == nullptr || rows->is_read()) && (columns == nullptr || columns->is_read());
  const Schedule::OnePhase one_phase(schedule);
  for (int64_t b = 0; b < source.batch; ++b) {
    // A row of the table is an element, since each has a place of its own.
    int32_t* ids = nullptr;
    if (is_read) {
      ids = schedule.arena().allocate_for<int32_t>(static_cast<size_t>(source.num_rows * num_columns));
      int32_t* next = ids;
      for (int64_t i = 0; i < source.num_rows; ++i) {
        const int64_t row = rows != nullptr && rows->places != nullptr ? rows->places[b * source.num_rows + i] : i;
        for (int64_t j = 0; j < num_columns; ++j) {
          const bool moves = columns != nullptr && columns->places != nullptr && j < columns->num_rows;
          const int64_t column = moves ? columns->places[b * columns->num_rows + j] : j;
          *next++ = static_cast<int32_t>(row * num_columns + column);
        }
      }
    }
    for (int64_t h = 0; h < source.num_heads; ++h) {
      add_lookup(schedule, operation, from, b * source.batch_stride + h * source.head_stride, stride, 0,
                 source.num_rows * num_columns, ids, to, b * target.batch_stride + h * target.head_stride,
                 {{source.num_rows, target.row_stride}, {num_columns, to_stride}, {1, 0}});
    }
  }
}

}  // namespace heed
