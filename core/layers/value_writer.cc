// SPDX-License-Identifier: Apache-2.0
#include "layers/value_writer.h"

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

class ValueWriter {
 public:
  // `packed` is null if the parameter has no packed form.
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
    const auto each = static_cast<int64_t>(round_up_to_alignment(static_cast<size_t>(buffer_bytes)));
    const int64_t num_buffers = num_tasks == 1 ? 1 : context_->num_threads();
    std::shared_ptr<Storage> buffers;
    if (each > 0) buffers = Storage::allocate(context_, static_cast<size_t>(each * num_buffers), Contents::Undefined);
    const double num_bytes =
        static_cast<double>(value_.num_bytes()) * (packed_ == nullptr ? 2 : 4);  // each is read and written
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
    const int64_t row_bytes = num_columns_ * size_;
    int64_t rows = std::max<int64_t>(1, kPieceBytes / row_bytes);
    if (packed_ != nullptr) {
      // A multiple of 48 rows, which are whole packed panels in every ISA, unless the rows are too long.
      constexpr int64_t kWholePanels = 48;
      rows = rows < kWholePanels ? kPackedRows : rows / kWholePanels * kWholePanels;
    }
    rows = std::min(rows, num_rows_);
    const int64_t piece = has_rows && converts() ? std::min(rows * num_columns_ * source_size_, kPieceBytes) : 0;
    run(divide_up(num_rows_, rows), piece, [&](int64_t task, std::byte* buffer) {
      const int64_t first = task * rows;
      const int64_t end = std::min(num_rows_, first + rows);
      if (!has_rows)
        gather(first, end);
      else if (converts())
        convert(first, end, piece / source_size_, buffer);
      else
        copy(first, end);
      if (packed_ == nullptr) return;
      LinearPart part = weight_part(value_);
      part.weight.data = address(first, 0);
      context_->pack(part, num_columns_, {first, end, 0, num_columns_}, packed_->begin());
    });
  }

  void copy(int64_t first, int64_t end) const {
    const int64_t stride = source_.row_stride();
    std::byte* const to = address(first, 0);
    const ElementRows rows = source_.rows(first * stride, end - first, stride, num_columns_, to);
    if (rows.data == to) return;
    for (int64_t row = first; row < end; ++row) {
      std::memcpy(address(row, 0), rows.data + (row - first) * rows.stride * size_,
                  static_cast<size_t>(num_columns_ * size_));
    }
  }

  // `buffer` holds num_elements elements of the source.
  void convert(int64_t first, int64_t end, int64_t num_elements, std::byte* buffer) const {
    const int64_t stride = source_.row_stride();
    const int64_t count = std::min(num_columns_, num_elements);
    const int64_t num_rows = std::max<int64_t>(1, num_elements / num_columns_);
    for (int64_t row = first; row < end; row += num_rows) {
      for (int64_t column = 0; column < num_columns_; column += count) {
        const int64_t in_row = std::min(count, num_columns_ - column);
        const int64_t in_piece = std::min(num_rows, end - row);
        const ElementRows rows = source_.rows(row * stride + column, in_piece, stride, in_row, buffer);
        convert_rows(rows, in_piece, in_row, address(row, column), num_columns_);
      }
    }
  }

  void convert_rows(ElementRows rows, int64_t num_rows, int64_t count, std::byte* to, int64_t to_stride) const {
    for (int64_t row = 0; row < num_rows; ++row) {
      convert_elements(value_.dtype(), to + row * to_stride * size_, size_, source_.dtype(),
                       rows.data + row * rows.stride * source_size_, source_size_, count);
    }
  }

  void gather(int64_t first, int64_t end) const {
    for (int64_t row = first; row < end; ++row) {
      const ElementRows from = source_.rows(row * source_.row_stride(), 1, 0, 1, nullptr);
      convert_elements(value_.dtype(), address(row, 0), size_, source_.dtype(), from.data,
                       source_.column_stride() * source_size_, num_columns_);
    }
  }

  // For sources with contiguous columns.
  void write_transposed() {
    const int64_t run_length = std::min(num_columns_, kTransposedRunBytes / size_);
    const int64_t rows = std::min(num_rows_, kTransposedRows);
    const int64_t num_runs = divide_up(num_columns_, run_length);
    const int64_t read_bytes = run_length * rows * source_size_;
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
      context_->transpose(value_.dtype(), turned.data, turned.stride, num_columns, num_rows, address(row, column),
                          num_columns_);
      if (packed_ == nullptr) return;
      LinearPart part = weight_part(value_);
      part.weight.data = const_cast<std::byte*>(turned.data);
      part.weight.strides[2] = 1;
      part.weight.strides[3] = turned.stride;
      context_->pack(part, num_columns_, {row, row + num_rows, column, column + num_columns}, packed_->begin());
    });
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
  Tensor value = Tensor::undefined(context, dtype, shape, subject);
  std::shared_ptr<Storage> packed = parameter.allocate_packed(context, value);
  touch_block(*context, fresh, value.data(), value.num_bytes());
  if (packed != nullptr) touch_block(*context, fresh, packed->begin(), packed->num_bytes());
  ValueWriter(context, source, value, packed).write();
  return {std::move(value), std::move(packed)};
}

}  // namespace heed
