// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/copy.h"
#include "tensor/float_texts.h"
#include "tensor/host_memory.h"

namespace heed {
namespace {

constexpr int64_t kMaxElements = 1000;
// How many elements of an axis are printed at each of its ends, if the tensor has more than kMaxElements.
constexpr int64_t kEdge = 3;
constexpr size_t kWidth = 75;
constexpr std::string_view kLeftOut = "...";

// Copies the elements that are printed: of an axis that is longer in the source than in the target, both ends.
void copy_edges(const Tensor& target, const Tensor& source, int32_t axis) {
  if (axis == target.rank()) {
    copy_tensor(target, source);
  } else if (target.dim(axis) == source.dim(axis)) {
    copy_edges(target, source, axis + 1);
  } else {
    for (const auto& [to, from] : {std::pair<int64_t, int64_t>{0, 0}, {kEdge, source.dim(axis) - kEdge}})
      copy_edges(target.slice(axis, to, kEdge), source.slice(axis, from, kEdge), axis + 1);
  }
}

// The shown elements in row-major order, as numbers of a wider type.
template <typename Number>
std::vector<Number> shown_elements(const Tensor& tensor, const Shape& shown, DType dtype) {
  const Tensor elements = Tensor::undefined(host_memory_of(tensor.memory()), dtype, shown);
  copy_edges(elements, tensor, 0);
  std::vector<Number> numbers(static_cast<size_t>(elements.num_elements()));
  read_tensor(elements, numbers.data());
  return numbers;
}

std::vector<std::string> integer_texts(std::span<const int64_t> numbers) {
  std::vector<std::string> texts;
  size_t width = 0;
  for (const int64_t number : numbers) width = std::max(width, texts.emplace_back(std::to_string(number)).size());
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

std::vector<std::string> shown_texts(const Tensor& tensor, const Shape& shown) {
  if (is_floating(tensor.dtype())) {
    const std::vector<double> numbers = shown_elements<double>(tensor, shown, DType::F64);
    if (shown.rank == 0) return {single_text(numbers[0], tensor.dtype())};
    return aligned_texts(numbers, tensor.dtype());
  }
  const std::vector<int64_t> numbers = shown_elements<int64_t>(tensor, shown, DType::I64);
  if (tensor.dtype() != DType::Bool) return integer_texts(numbers);
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const int64_t number : numbers) texts.emplace_back(number == 0 ? "False" : shown.rank == 0 ? "True" : " True");
  return texts;
}

// The brackets and lines of a printed array: a row is broken before it is too wide.
class Rows {
 public:
  // `shown`: the number of elements that are shown of each axis; if it is less than the size, half of them at each end.
  Rows(const Shape& shape, const Shape& shown, std::vector<std::string> elements)
      : shape_(shape), shown_(shown), elements_(std::move(elements)) {
    append(0);
  }

  std::string text() && { return std::move(text_); }

 private:
  void append(int32_t axis) {
    if (axis == shown_.rank) {
      text_ += elements_[next_++];
      return;
    }
    text_ += '[';
    if (axis == shown_.rank - 1) {
      append_row(axis);
    } else {
      append_parts(axis);
    }
    text_ += ']';
  }

  void append_parts(int32_t axis) {
    const std::string line_end = std::string(static_cast<size_t>(shown_.rank - 1 - axis), '\n') +
                                 std::string(static_cast<size_t>(axis) + 1, ' ');
    for (int64_t i = 0; i < shown_[axis]; ++i) {
      if (i > 0) text_ += line_end;
      if (is_left_out_before(axis, i)) text_.append(kLeftOut).append(line_end);
      append(axis + 1);
    }
  }

  void append_row(int32_t axis) {
    const size_t indent = static_cast<size_t>(axis) + 1;
    // Leaves room for the closing bracket of each axis.
    const size_t width = kWidth - indent;
    size_t column = indent;
    for (int64_t i = 0; i < shown_[axis]; ++i) {
      if (is_left_out_before(axis, i)) column = append_word(kLeftOut, column, indent, width);
      column = append_word(elements_[next_++], column, indent, width);
    }
  }

  // Appends a word to the row, or to a new line if it does not fit. Returns the column after it.
  size_t append_word(std::string_view word, size_t column, size_t indent, size_t width) {
    // A space precedes all words but the first of a line.
    size_t start = column == indent ? column : column + 1;
    if (start + word.size() > width && column > indent) {
      text_.erase(text_.find_last_not_of(' ') + 1);
      text_ += '\n';
      text_.append(indent, ' ');
      start = indent;
    } else if (start > column) {
      text_ += ' ';
    }
    text_ += word;
    return start + word.size();
  }

  bool is_left_out_before(int32_t axis, int64_t i) const {
    return shown_[axis] < shape_[axis] && i == shown_[axis] / 2;
  }

  const Shape& shape_;
  const Shape& shown_;
  const std::vector<std::string> elements_;
  std::string text_;
  size_t next_ = 0;
};

}  // namespace

std::string elements_text(const Tensor& tensor) {
  if (tensor.num_elements() == 0) return "[]";
  Shape shown = tensor.shape();
  if (tensor.num_elements() > kMaxElements) {
    for (int32_t axis = 0; axis < shown.rank; ++axis) shown[axis] = std::min(shown[axis], 2 * kEdge);
  }
  return Rows(tensor.shape(), shown, shown_texts(tensor, shown)).text();
}

}  // namespace heed
