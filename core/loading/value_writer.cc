// SPDX-License-Identifier: Apache-2.0
#include "loading/value_writer.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/rounding.h"
#include "ops/linear.h"
#include "tensor/copy.h"

namespace heed {
namespace {

// The bytes of a piece. Together with its packed form it fits the second-level cache, and reading it takes much longer
// than the system call itself.
constexpr int64_t kPieceBytes = int64_t{256} << 10;
// A transposed piece is kTransposedRunBytes wide, so that it writes whole cache lines, and has kTransposedRows rows, so
// that each read, a part of one row of the file, is 8 or 16 KB. kTransposedRows is no multiple of a large power of two:
// otherwise the rows of the piece would map to the same cache sets.
constexpr int64_t kTransposedRunBytes = 64;
constexpr int64_t kTransposedRows = 4080;
static_assert(kTransposedRows % kPackedRows == 0);

// Keeps the first exception of all tasks, since a task must not throw.
class TaskFailure {
 public:
  bool is_any() const { return is_any_.load(std::memory_order_relaxed); }

  // Call it in a catch block.
  void keep() noexcept {
    if (is_any_.exchange(true, std::memory_order_relaxed)) return;
    try {
      throw;
    } catch (const Error& error) {
      error_ = error;
    } catch (const std::bad_alloc&) {
      is_out_of_memory_ = true;
    } catch (...) {
      error_.status = Status::Internal;
    }
  }

  // Call it after all tasks have finished.
  void rethrow() const {
    if (!is_any()) return;
    if (is_out_of_memory_) throw std::bad_alloc();
    throw Error(error_);
  }

 private:
  std::atomic<bool> is_any_ = false;
  bool is_out_of_memory_ = false;
  Error error_;
};

int64_t aligned(int64_t num_bytes) {
  return static_cast<int64_t>(round_up_to_alignment(static_cast<size_t>(num_bytes)));
}
int64_t height_of(const WeightBlock& block) { return block.end_row - block.first_row; }
int64_t width_of(const WeightBlock& block) { return block.end_input - block.first_input; }

class ValueWriter {
 public:
  // Writes to `packed` if it is given, otherwise to `value`, which has data then.
  ValueWriter(std::shared_ptr<const Context> context, const ElementSource& source, const Tensor& value,
              std::shared_ptr<Storage> packed)
      : context_(std::move(context)),
        source_(source),
        value_(value),
        packed_(std::move(packed)),
        num_rows_(value.rank() == 2 ? value.dim(0) : 1),
        num_columns_(value.dim(value.rank() - 1)),
        size_(static_cast<int64_t>(size_of(value.dtype()))),
        source_size_(static_cast<int64_t>(size_of(source.dtype()))) {}

  void write() {
    if (value_.num_elements() == 0) return;
    const bool has_rows = source_.column_stride() == 1 || num_columns_ == 1;
    if (!has_rows && source_.row_stride() == 1)
      write_transposed();
    else
      write_rows(has_rows);
  }

 private:
  bool converts() const { return source_.dtype() != value_.dtype(); }
  std::byte* address(int64_t row, int64_t column) const { return value_.element(row * num_columns_ + column); }

  // Calls function(task, buffer) for each task; each worker has a buffer of buffer_bytes.
  template <typename Function>
  void run(int64_t num_tasks, int64_t buffer_bytes, const Function& function) {
    const int64_t each = aligned(buffer_bytes);
    const int64_t num_buffers = num_tasks == 1 ? 1 : context_->num_threads();
    std::shared_ptr<Storage> buffers;
    if (each > 0) buffers = Storage::allocate(context_, static_cast<size_t>(each * num_buffers), Contents::Undefined);
    const double num_bytes = 2 * static_cast<double>(value_.num_bytes());  // each is read and written
    TaskFailure failure;
    context_->for_each(num_tasks, num_bytes, [&](int64_t task, int32_t worker) {
      if (failure.is_any()) return;
      try {
        // The host may cancel its own threads, which run these tasks.
        const platform::NoCancellation no_cancellation;
        function(task, buffers == nullptr ? nullptr : buffers->begin() + each * worker);
      } catch (...) {
        failure.keep();
      }
    });
    failure.rethrow();
  }

  // For sources with contiguous rows; or, without has_rows, for sources where neither axis is contiguous: those are
  // converted element by element.
  void write_rows(bool has_rows) {
    int64_t rows = std::max<int64_t>(1, kPieceBytes / (num_columns_ * size_));
    int64_t columns = num_columns_;
    if (packed_ != nullptr) {
      // Whole panels, or if the rows are too long, the least that can be packed, in parts.
      if (rows >= kWholePanelRows) {
        rows = rows / kWholePanelRows * kWholePanelRows;
      } else {
        rows = kPackedRows;
        columns = std::min(columns, kPieceBytes / (rows * size_));
      }
    }
    rows = std::min(rows, num_rows_);
    const int64_t num_parts = divide_up(num_columns_, columns);
    // What is read follows at an aligned address.
    const int64_t piece_bytes = packed_ == nullptr ? 0 : aligned(rows * columns * size_);
    const int64_t read_bytes = has_rows && converts() ? std::min(rows * columns * source_size_, kPieceBytes) : 0;
    run(divide_up(num_rows_, rows) * num_parts, piece_bytes + read_bytes, [&](int64_t task, std::byte* buffer) {
      const int64_t row = task / num_parts * rows;
      const int64_t column = task % num_parts * columns;
      const WeightBlock block = {row, std::min(num_rows_, row + rows), column,
                                 std::min(num_columns_, column + columns)};
      std::byte* const to = packed_ == nullptr ? address(row, 0) : buffer;
      const ElementRows read =
          has_rows ? read_rows(block, to, buffer + piece_bytes, read_bytes / source_size_) : gather(block, to);
      if (packed_ != nullptr)
        pack(block, read, 1);
      else if (read.data != to)
        copy(block, read, to);
    });
  }

  // The elements of the block in the value's dtype: in `to`, without gaps, or in the source. To convert them, `buffer` has
  // num_elements elements of the source.
  ElementRows read_rows(const WeightBlock& block, std::byte* to, std::byte* buffer, int64_t num_elements) const {
    const int64_t stride = source_.row_stride();
    const int64_t width = width_of(block);
    if (!converts())
      return source_.rows(block.first_row * stride + block.first_input, height_of(block), stride, width, to);
    const int64_t count = std::min(width, num_elements);
    const int64_t num_rows = std::max<int64_t>(1, num_elements / width);
    for (int64_t row = block.first_row; row < block.end_row; row += num_rows) {
      for (int64_t column = block.first_input; column < block.end_input; column += count) {
        const int64_t in_row = std::min(count, block.end_input - column);
        const int64_t in_piece = std::min(num_rows, block.end_row - row);
        const ElementRows rows = source_.rows(row * stride + column, in_piece, stride, in_row, buffer);
        convert_rows(rows, in_piece, in_row,
                     to + ((row - block.first_row) * width + column - block.first_input) * size_, width);
      }
    }
    return {to, width};
  }

  void convert_rows(ElementRows rows, int64_t num_rows, int64_t count, std::byte* to, int64_t to_stride) const {
    for (int64_t row = 0; row < num_rows; ++row) {
      convert_elements(value_.dtype(), to + row * to_stride * size_, size_, source_.dtype(),
                       rows.data + row * rows.stride * source_size_, source_size_, count);
    }
  }

  // As read_rows, for a source where neither axis is contiguous.
  ElementRows gather(const WeightBlock& block, std::byte* to) const {
    const int64_t width = width_of(block);
    for (int64_t row = block.first_row; row < block.end_row; ++row) {
      const int64_t first = row * source_.row_stride() + block.first_input * source_.column_stride();
      convert_elements(value_.dtype(), to + (row - block.first_row) * width * size_, size_, source_.dtype(),
                       source_.rows(first, 1, 0, 1, nullptr).data, source_.column_stride() * source_size_, width);
    }
    return {to, width};
  }

  void copy(const WeightBlock& block, ElementRows rows, std::byte* to) const {
    const auto row_bytes = static_cast<size_t>(width_of(block) * size_);
    for (int64_t row = 0; row < height_of(block); ++row) {
      std::memcpy(to + row * static_cast<int64_t>(row_bytes), rows.data + row * rows.stride * size_, row_bytes);
    }
  }

  // For sources with contiguous columns.
  void write_transposed() {
    const int64_t run_length = std::min(num_columns_, kTransposedRunBytes / size_);
    const int64_t rows = std::min(num_rows_, kTransposedRows);
    const int64_t num_runs = divide_up(num_columns_, run_length);
    const int64_t read_bytes = aligned(run_length * rows * source_size_);
    const int64_t converted_bytes = converts() ? run_length * rows * size_ : 0;
    run(num_runs * divide_up(num_rows_, rows), read_bytes + converted_bytes, [&](int64_t task, std::byte* buffer) {
      const int64_t column = task % num_runs * run_length;
      const int64_t row = task / num_runs * rows;
      const int64_t num_columns = std::min(run_length, num_columns_ - column);
      const int64_t num_rows = std::min(rows, num_rows_ - row);
      const int64_t stride = source_.column_stride();
      ElementRows turned = source_.rows(column * stride + row, num_columns, stride, num_rows, buffer);
      if (converts()) {
        convert_rows(turned, num_columns, num_rows, buffer + read_bytes, num_rows);
        turned = {buffer + read_bytes, num_rows};
      }
      if (packed_ != nullptr) {
        pack({row, row + num_rows, column, column + num_columns}, {turned.data, 1}, turned.stride);
      } else {
        context_->transpose(value_.dtype(), turned.data, turned.stride, num_columns, num_rows, address(row, column),
                            num_columns_);
      }
    });
  }

  // `column_stride`: the distance between two elements of one of the rows.
  void pack(const WeightBlock& block, ElementRows rows, int64_t column_stride) const {
    LinearPart part = weight_part(value_.dtype(), value_.shape());
    part.weight.data = const_cast<std::byte*>(rows.data);
    part.weight.strides[2] = rows.stride;
    part.weight.strides[3] = column_stride;
    context_->pack(part, num_columns_, block, packed_->begin());
  }

  std::shared_ptr<const Context> context_;
  const ElementSource& source_;
  const Tensor& value_;
  std::shared_ptr<Storage> packed_;
  int64_t num_rows_;
  int64_t num_columns_;
  int64_t size_;
  int64_t source_size_;
};

// On all threads, one chunk per task.
void touch_block(const Context& context, FreshMemory& fresh, void* block, size_t num_bytes) {
  if (!FreshMemory::is_for(context.host_allocator(), num_bytes)) return;
  context.for_each(static_cast<int64_t>(FreshMemory::count_chunks(block, num_bytes)), static_cast<double>(num_bytes),
                   [&](int64_t piece, int32_t) { fresh.touch(block, num_bytes, static_cast<size_t>(piece)); });
}

}  // namespace

ParameterValue write_value(const std::shared_ptr<const Context>& context, FreshMemory& fresh,
                           const Parameter& parameter, const ElementSource& source, DType dtype, const Shape& shape,
                           const char* subject) {
  Tensor value = Tensor::without_data(context, dtype, shape, subject);
  std::shared_ptr<Storage> packed = parameter.allocate_packed(context, dtype, shape);
  if (packed == nullptr) {
    value = Tensor::undefined(context, dtype, shape, subject);
    touch_block(*context, fresh, value.data(), value.num_bytes());
  } else {
    touch_block(*context, fresh, packed->begin(), packed->num_bytes());
  }
  ValueWriter(context, source, value, packed).write();
  return {std::move(value), std::move(packed)};
}

}  // namespace heed
