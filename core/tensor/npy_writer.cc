// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/copy.h"
#include "tensor/dtype_term.h"
#include "tensor/host_image.h"
#include "tensor/npy.h"
#include "tensor/npy_format.h"

namespace heed {
namespace {

// NumPy pads a header with spaces until the elements begin at a multiple of 64 bytes. A header has at most kMaxRank
// sizes, and their product has at most 19 digits, so the elements always begin at byte 128.
constexpr size_t kDataOffset = 128;
constexpr size_t kTextOffset = 10;

std::string_view descr_of(DType dtype) {
  const std::string_view descr = npy_descr(dtype);
  if (!descr.empty()) return descr;
  fail(Status::Unsupported,
       ARGUMENT("tensor") " has " WORD("dtype") " %s, which .npy files do not have: copy it into " WORD(
           "a tensor") " of " DTYPE("F32") " first",
       term_of(dtype));
}

// A tuple in Python's notation; a tuple of one size ends with a comma.
std::string tuple_of(const Shape& shape) {
  std::string text = to_string(shape);
  if (shape.rank == 1) text.insert(text.size() - 1, ",");
  return text;
}

// Everything before the elements: magic string, version, the length of the text in two bytes, the text.
std::string header_of(const Tensor& tensor) {
  std::string header(kNpyMagic);
  for (const size_t byte : {size_t{1}, size_t{0}, kDataOffset - kTextOffset, size_t{0}}) {
    header += static_cast<char>(byte);
  }
  header.append("{'descr': '").append(descr_of(tensor.dtype())).append("', 'fortran_order': False, 'shape': ");
  header.append(tuple_of(tensor.shape())).append(", }");
  header.resize(kDataOffset - 1, ' ');
  return header + '\n';
}

}  // namespace

void save_npy(const char* path, const Tensor& saved) {
  saved.require_data(ARGUMENT("tensor"));
  const std::string header = header_of(saved);
  const Tensor tensor = host_copy(saved);

  AtomicFile file(path);
  file.write(header.data(), header.size());
  const bool is_boolean = tensor.dtype() == DType::Bool;
  if (tensor.is_row_major() && !is_boolean) {
    file.write(tensor.data(), tensor.num_bytes());
  } else {
    const int64_t most = std::min(npy_buffer_elements(tensor.dtype()), tensor.num_elements());
    std::vector<uint8_t> buffer(static_cast<size_t>(most) * size_of(tensor.dtype()));
    for (int64_t first = 0; first < tensor.num_elements(); first += most) {
      const int64_t count = std::min(most, tensor.num_elements() - first);
      read_elements(tensor, first, count, buffer.data());
      // In heed any non-zero byte is true; NumPy allows only 0 and 1.
      if (is_boolean) std::for_each_n(buffer.begin(), count, [](uint8_t& byte) { byte = byte != 0 ? 1 : 0; });
      file.write(buffer.data(), static_cast<size_t>(count) * size_of(tensor.dtype()));
    }
  }
  file.commit();
}

}  // namespace heed
