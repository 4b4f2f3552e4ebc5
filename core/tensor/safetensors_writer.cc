// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/safetensors.h"

namespace heed {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and elements are written as they lie");

namespace {

// The data begins at a multiple of this, the size of the largest element: readers map files and need aligned elements.
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
  if (num_bytes > 0 && tensor.data == nullptr && tensor.read == nullptr) fail_tensor(path, tensor, "has no data");
  return num_bytes;
}

std::string quoted(const char* path, const NamedTensor& tensor) {
  try {
    return nlohmann::json(tensor.name).dump();
  } catch (const nlohmann::json::type_error&) {
    fail_tensor(path, tensor, "has a name that is not UTF-8");
  }
}

// Orders tensors by element size, largest first, so that each tensor is aligned to its elements without gaps. Then by
// name, so that equal tensors give equal files.
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

// The contents of a file, in order.
struct FileContents {
  std::string header;
  std::vector<const NamedTensor*> tensors;
  uint64_t num_bytes = 0;
};

FileContents contents_of(const char* path, std::span<const NamedTensor> given, std::span<const FileText> texts) {
  const std::vector<const NamedTensor*> tensors = in_file_order(path, given);
  // Hugging Face's loaders refuse a file without this metadata, which names the framework of its layout.
  std::string header = R"({"__metadata__":{"format":"pt")";
  for (const FileText& text : texts)
    header += "," + nlohmann::json(text.name).dump() + ":" + nlohmann::json(text.text).dump();
  header += "}";
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
  uint64_t num_bytes = 0;
  if (__builtin_add_overflow(sizeof(uint64_t) + header.size(), offset, &num_bytes))
    fail_tensor(path, *tensors.back(), "makes the file's size overflow");
  return {header, tensors, num_bytes};
}

bool is_read(const NamedTensor& tensor) { return tensor.data == nullptr && tensor.read != nullptr; }

// Visits the parts of the file in order: write(source, num_bytes) gets bytes that are in memory, and read(tensor, num_bytes)
// a tensor whose elements its own function writes (NamedTensor::read).
template <typename Write, typename Read>
void write_contents(const char* path, const FileContents& contents, Write write, Read read) {
  const uint64_t header_length = contents.header.size();
  write(&header_length, sizeof header_length);
  write(contents.header.data(), contents.header.size());
  for (const NamedTensor* tensor : contents.tensors) {
    const size_t num_bytes = num_bytes_of(path, *tensor);
    if (is_read(*tensor))
      read(*tensor, num_bytes);
    else
      write(tensor->data, num_bytes);
  }
}

}  // namespace

void save_safetensors(const char* path, std::span<const NamedTensor> tensors, std::span<const FileText> texts) {
  const FileContents contents = contents_of(path, tensors, texts);
  // The elements of one tensor at a time. Allocated first, so that without memory no file is made.
  size_t most = 0;
  for (const NamedTensor& tensor : tensors) {
    if (is_read(tensor)) most = std::max<size_t>(most, num_bytes_of(path, tensor));
  }
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(most);
  AtomicFile file(path);
  write_contents(
      path, contents, [&](const void* source, size_t num_bytes) { file.write(source, num_bytes); },
      [&](const NamedTensor& tensor, size_t num_bytes) {
        tensor.read(buffer.get());
        file.write(buffer.get(), num_bytes);
      });
  file.commit();
}

size_t save_safetensors_to_memory(void* destination, size_t capacity, std::span<const NamedTensor> tensors,
                                  std::span<const FileText> texts) {
  constexpr const char* kName = "memory";
  const FileContents contents = contents_of(kName, tensors, texts);
  if (destination == nullptr) return contents.num_bytes;
  if (capacity < contents.num_bytes) {
    fail(Status::InvalidArgument, "capacity is %zu, expected at least %llu bytes", capacity,
         static_cast<unsigned long long>(contents.num_bytes));
  }
  auto* next = static_cast<std::byte*>(destination);
  write_contents(
      kName, contents,
      [&](const void* source, size_t num_bytes) {
        if (num_bytes > 0) std::memcpy(next, source, num_bytes);
        next += num_bytes;
      },
      [&](const NamedTensor& tensor, size_t num_bytes) {
        tensor.read(next);
        next += num_bytes;
      });
  return contents.num_bytes;
}

}  // namespace heed
