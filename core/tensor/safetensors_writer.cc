// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/safetensors.h"

namespace heed {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and elements are written as they lie");

namespace {

// Readers map files and want elements aligned: the data begins at a multiple of this, which is the largest element.
constexpr size_t kAlignment = 8;

[[noreturn]] void fail_tensor(const char* path, const NamedTensor& tensor, const char* what) {
  fail(Status::InvalidArgument, R"(cannot write "%s": tensor "%s" %s)", shown(path).c_str(), shown(tensor.name).c_str(),
       what);
}

uint64_t num_bytes_of(const char* path, const NamedTensor& tensor) {
  uint64_t num_bytes = size_of(tensor.dtype);
  for (int32_t axis = 0; axis < tensor.shape.rank; ++axis) {
    const int64_t size = tensor.shape[axis];
    if (size < 0) fail_tensor(path, tensor, "has a negative size");
    if (__builtin_mul_overflow(num_bytes, static_cast<uint64_t>(size), &num_bytes)) {
      fail_tensor(path, tensor, "has sizes that overflow");
    }
  }
  if (num_bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail_tensor(path, tensor, "has sizes that overflow");
  }
  if (num_bytes > 0 && tensor.data == nullptr) fail_tensor(path, tensor, "has no data");
  return num_bytes;
}

std::string quoted(const char* path, const NamedTensor& tensor) {
  try {
    return nlohmann::json(tensor.name).dump();
  } catch (const nlohmann::json::type_error&) {
    fail_tensor(path, tensor, "has a name that is not UTF-8");
  }
}

// Larger elements first, so that each tensor is aligned to its own elements without gaps; then by name, so that equal
// tensors give equal files.
std::vector<const NamedTensor*> in_file_order(const char* path, std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  order.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i]->name == "__metadata__") fail_tensor(path, *order[i], "has the name of the file's metadata");
    if (i > 0 && order[i]->name == order[i - 1]->name) fail_tensor(path, *order[i], "is given twice");
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return size_of(a->dtype) > size_of(b->dtype); });
  return order;
}

std::string header_of(const char* path, const std::vector<const NamedTensor*>& tensors) {
  // Hugging Face's loaders refuse a file that does not say which framework's layout it has.
  std::string header = R"({"__metadata__":{"format":"pt"})";
  uint64_t offset = 0;
  for (const NamedTensor* tensor : tensors) {
    header += "," + quoted(path, *tensor) + R"(:{"dtype":")" + name_of(tensor->dtype) + R"(","shape":[)";
    for (int32_t axis = 0; axis < tensor->shape.rank; ++axis) {
      header += (axis > 0 ? "," : "") + std::to_string(tensor->shape[axis]);
    }
    header += R"(],"data_offsets":[)" + std::to_string(offset);
    if (__builtin_add_overflow(offset, num_bytes_of(path, *tensor), &offset)) {
      fail_tensor(path, *tensor, "makes the file's size overflow");
    }
    header += "," + std::to_string(offset) + "]}";
  }
  header += "}";
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (header.size() > kMaxSafetensorsHeader) {
    fail(Status::InvalidArgument, "cannot write \"%s\": the header would have %zu bytes, expected at most %llu",
         shown(path).c_str(), header.size(), static_cast<unsigned long long>(kMaxSafetensorsHeader));
  }
  return header;
}

}  // namespace

void save_safetensors(const char* path, std::span<const NamedTensor> tensors) {
  const std::vector<const NamedTensor*> order = in_file_order(path, tensors);
  const std::string header = header_of(path, order);
  const uint64_t header_length = header.size();

  AtomicFile file(path);
  file.write(&header_length, sizeof header_length);
  file.write(header.data(), header.size());
  for (const NamedTensor* tensor : order) file.write(tensor->data, num_bytes_of(path, *tensor));
  file.commit();
}

}  // namespace heed
