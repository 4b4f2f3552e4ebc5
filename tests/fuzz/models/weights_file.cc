// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz/models/edits.h"

namespace heed::fuzz {
namespace {

constexpr std::pair<const char*, int64_t> kSizes[] = {{"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8},
                                                      {"I32", 4}, {"I64", 8}, {"U8", 1},   {"BOOL", 1}};
// So few elements that a file stays small. A tensor of more keeps its place in the file, which then contradicts its dims.
constexpr int64_t kMostElements = 1 << 15;

int64_t size_of(const std::string& dtype) {
  for (const auto& [name, size] : kSizes) {
    if (dtype == name) return size;
  }
  return 4;
}

// The number of bytes of a tensor; nothing if it is too large for a file.
std::optional<size_t> num_bytes_of(const std::vector<int64_t>& dims, const std::string& dtype) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || dim > kMostElements || count * dim > kMostElements) return std::nullopt;
    count *= dim;
  }
  return static_cast<size_t>(count * size_of(dtype));
}

std::string without_first_module(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

// The name in the next layer.
std::string with_next_digit(std::string name) {
  const size_t digit = name.find_first_of("0123456789");
  if (digit != std::string::npos) name[digit] = static_cast<char>(name[digit] == '9' ? '0' : name[digit] + 1);
  return name;
}

void change_dims(std::vector<int64_t>& dims, Bytes& bytes) {
  const int64_t kind = bytes.below(8);
  if (kind == 0) dims.push_back(1);
  if (kind == 1) dims.insert(dims.begin(), 1);
  if (dims.empty()) return;
  const int64_t axis = bytes.below(8) % static_cast<int64_t>(dims.size());
  int64_t& dim = dims[static_cast<size_t>(axis)];
  switch (kind) {
    case 2: dims.erase(dims.begin() + axis); break;
    case 3: std::reverse(dims.begin(), dims.end()); break;
    case 4: dim = bytes.size(64); break;
    case 5: dim -= dim > 0 ? 1 : 0; break;
    case 6: dim *= dim < kMostElements ? 2 : 1; break;
    case 7: dim /= 2; break;
    default: break;
  }
}

}  // namespace

WeightsFile::WeightsFile(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  data_ = bytes.substr(sizeof length + length);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(sizeof length, length));
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    tensors_.push_back({name, tensor["dtype"], tensor["shape"], tensor["data_offsets"][0], tensor["data_offsets"][1]});
  }
}

void WeightsFile::rename_all(Bytes& bytes) {
  const bool removes = bytes.flag();
  // Those of the first module, or all.
  const std::string first = bytes.flag() ? "" : tensors_.front().name.substr(0, tensors_.front().name.find('.'));
  for (StoredTensor& tensor : tensors_) {
    if (tensor.name.starts_with(first))
      tensor.name = removes ? without_first_module(tensor.name) : "model." + tensor.name;
  }
}

void WeightsFile::edit(Bytes& bytes) {
  const int64_t kind = bytes.below(8);
  if (tensors_.empty()) return;
  if (kind == 0) return rename_all(bytes);
  const size_t choice = static_cast<size_t>(bytes.next()) % tensors_.size();
  StoredTensor& tensor = tensors_[choice];
  switch (kind) {
    case 1: tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(choice)); break;
    case 2: tensor.name = bytes.flag() ? without_first_module(tensor.name) : with_next_digit(tensor.name); break;
    case 3: {
      StoredTensor copy = tensor;
      copy.name = with_next_digit(copy.name);
      tensors_.push_back(std::move(copy));
      break;
    }
    case 4: std::swap(tensor.name, tensors_[static_cast<size_t>(bytes.next()) % tensors_.size()].name); break;
    case 5: tensor.dtype = kSizes[static_cast<size_t>(bytes.below(std::size(kSizes)))].first; break;
    default: change_dims(tensor.dims, bytes); break;
  }
}

std::string WeightsFile::bytes() const {
  std::string header;
  std::string data;
  for (const StoredTensor& tensor : tensors_) {
    std::string dims;
    for (const int64_t dim : tensor.dims) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    std::string part = data_.substr(tensor.first, tensor.end - tensor.first);
    if (const std::optional<size_t> size = num_bytes_of(tensor.dims, tensor.dtype)) part.resize(*size);
    header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)" +
              dims + R"(],"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + part.size()) + "]}";
    data += part;
  }
  header += header.empty() ? "{}" : "}";
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + header + data;
}

}  // namespace heed::fuzz
