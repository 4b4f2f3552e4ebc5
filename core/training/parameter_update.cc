// SPDX-License-Identifier: Apache-2.0
#include "training/parameter_update.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/backend.h"
#include "base/rounding.h"
#include "tensor/copy.h"
#include "tensor/host_image.h"
#include "training/pieces.h"

namespace heed {
namespace {

// The blocks in which a packed weight is updated: each is unpacked into a buffer that fits the caches, updated there, and packed.
struct PackedBlocks {
  explicit PackedBlocks(const Shape& shape)
      : num_rows(shape[0]),
        num_columns(shape[1]),
        columns(std::max<int64_t>(1, std::min(num_columns, kColumns))),
        rows(std::max<int64_t>(1, kPieceElements / (kWholePanelRows * columns)) * kWholePanelRows),
        num_parts(divide_up(num_columns, columns)) {}

  int64_t count() const { return divide_up(num_rows, rows) * num_parts; }
  WeightBlock at(int64_t number) const {
    const int64_t row = number / num_parts * rows;
    const int64_t column = number % num_parts * columns;
    return {row, std::min(num_rows, row + rows), column, std::min(num_columns, column + columns)};
  }

  // Whole rows, where they have no more elements: the gradient and the state of a block are then adjacent. Parts of rows, whose next
  // part is elsewhere, took twice as long to read.
  static constexpr int64_t kColumns = 1024;
  static_assert(kColumns % kPackedRows == 0);

  int64_t num_rows;
  int64_t num_columns;
  int64_t columns;
  int64_t rows;
  int64_t num_parts;
};

float* state_at(const std::optional<Tensor>& tensor, int64_t element) {
  return tensor ? reinterpret_cast<float*>(tensor->data()) + element : nullptr;
}

}  // namespace

ParameterUpdate::ParameterUpdate(const std::shared_ptr<Context>& context, const Parameter& parameter,
                                 const Tensor& gradient, std::optional<Tensor> first, std::optional<Tensor> second)
    : parameter_(&parameter),
      is_shared_(parameter.is_shared()),
      gradient_(host_copy(gradient)),
      value_(parameter.forms()),
      on_host_(value_.tensor),
      first_(std::move(first)),
      second_(std::move(second)) {
  const ParameterValue& own = parameter.forms();
  const Shape& shape = own.tensor.shape();
  if (!context->is_host()) {
    value_.tensor = Tensor::undefined(context, DType::F32, shape);
    value_.packed = own.packed == nullptr ? nullptr : parameter.allocate_packed(context, DType::F32, shape);
    on_host_ = host_copy(own.tensor);
    copy_state();
  } else if (own.packed != nullptr) {
    is_packed_ = true;
    if (is_shared_) value_.packed = parameter.allocate_packed(context, DType::F32, shape);
  } else if (is_shared_) {
    is_copied_ = true;
    value_.tensor = Tensor::undefined(context, DType::F32, shape);
    on_host_ = value_.tensor;
  }
}

ParameterUpdate::ParameterUpdate(const std::shared_ptr<Context>& context, const Tensor& value, const Tensor& gradient,
                                 std::optional<Tensor> first, std::optional<Tensor> second)
    : parameter_(nullptr),
      is_shared_(false),
      gradient_(host_copy(gradient)),
      value_{value, nullptr},
      on_host_(host_copy(value)),
      first_(std::move(first)),
      second_(std::move(second)) {
  if (!context->is_host()) copy_state();
}

void ParameterUpdate::copy_state() {
  if (first_) first_ = converted_copy(first_->memory(), *first_, DType::F32);
  if (second_) second_ = converted_copy(second_->memory(), *second_, DType::F32);
}

int64_t ParameterUpdate::num_pieces() const {
  return is_packed_ ? PackedBlocks(gradient_.shape()).count() : divide_up(num_elements(), kPieceElements);
}

int64_t ParameterUpdate::buffer_elements() const {
  if (!is_packed_) return 0;
  const PackedBlocks blocks(gradient_.shape());
  return blocks.rows * blocks.columns;
}

void ParameterUpdate::run(const Context& context, int64_t piece, float* buffer) const {
  if (is_packed_)
    run_block(context, piece, buffer);
  else
    run_range(context, piece);
}

void ParameterUpdate::run_elements(const Context& context, float* elements, int64_t first, int64_t count) const {
  context.update({.gradient = reinterpret_cast<const float*>(gradient_.data()) + first,
                  .parameter = elements,
                  .first = state_at(first_, first),
                  .second = state_at(second_, first),
                  .count = count,
                  .sgd = sgd,
                  .adam = adam});
}

void ParameterUpdate::run_block(const Context& context, int64_t number, float* buffer) const {
  const Shape& shape = gradient_.shape();
  const WeightBlock block = PackedBlocks(shape).at(number);
  const int64_t width = block.end_input - block.first_input;
  LinearPart part = weight_part(DType::F32, shape);
  part.weight.data = buffer;
  part.weight.strides[2] = width;
  context.unpack(part, shape[1], block, parameter_->packed());
  for (int64_t row = block.first_row; row < block.end_row; ++row)
    run_elements(context, buffer + (row - block.first_row) * width, row * shape[1] + block.first_input, width);
  context.pack(part, shape[1], block, value_.packed->begin());
  void* const transposed = parameter_->transposed();
  if (transposed == nullptr) return;
  LinearPart across = weight_part(DType::F32, {shape[1], shape[0]});
  across.weight.data = buffer;
  across.weight.strides[2] = 1;
  across.weight.strides[3] = width;
  context.pack(across, shape[0], {block.first_input, block.end_input, block.first_row, block.end_row}, transposed);
}

void ParameterUpdate::run_range(const Context& context, int64_t number) const {
  const PieceRange range = range_of_piece(number, num_elements());
  auto* const elements = reinterpret_cast<float*>(on_host_.data()) + range.first;
  if (is_copied_) {
    const auto* const own = reinterpret_cast<const float*>(parameter_->value().data()) + range.first;
    std::memcpy(elements, own, static_cast<size_t>(range.count) * sizeof(float));
  }
  run_elements(context, elements, range.first, range.count);
}

void ParameterUpdate::write_to_device(const Context& context) const {
  copy_tensor(value_.tensor, on_host_);
  if (value_.packed == nullptr) return;
  const Shape& shape = value_.tensor.shape();
  LinearPart part = weight_part(DType::F32, shape);
  part.weight.data = value_.tensor.data();
  context.pack(part, shape[1], {0, shape[0], 0, shape[1]}, value_.packed->begin());
}

void ParameterUpdate::commit(const Context& context, Layer* layer, size_t index, std::optional<Tensor>& first,
                             std::optional<Tensor>& second) noexcept {
  first = std::move(first_);
  second = std::move(second_);
  if (layer == nullptr) return;
  // In host memory the transposed form has been written, too.
  if (context.is_host())
    layer->set_updated_value(index, std::move(value_));
  else
    layer->set_value(index, std::move(value_));
}

}  // namespace heed
