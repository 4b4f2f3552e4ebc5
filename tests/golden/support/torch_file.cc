// SPDX-License-Identifier: Apache-2.0
#include "golden/support/torch_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace heed::golden {
namespace {

template <typename T>
std::vector<double> as_doubles(const char* bytes, size_t num_bytes) {
  std::vector<double> numbers(num_bytes / sizeof(T));
  for (size_t i = 0; i < numbers.size(); ++i) {
    T number;
    std::memcpy(&number, bytes + i * sizeof number, sizeof number);
    numbers[i] = static_cast<double>(number);
  }
  return numbers;
}

}  // namespace

using Json = nlohmann::json;

TorchFile::TorchFile(const std::string& name) : name_(name) {
  std::ifstream file(HEED_SOURCE_DIR "/tests/golden/data/" + name + ".safetensors", std::ios::binary);
  uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string header(size, '\0');
  file.read(header.data(), static_cast<std::streamsize>(size));
  header_ = Json::parse(header);
  metadata_ = header_.at("__metadata__");
  header_.erase("__metadata__");
  data_.assign(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> TorchFile::cases() const {
  return Json::parse(metadata_.at("cases").get<std::string>()).get<std::vector<std::string>>();
}

Json TorchFile::options_of(const std::string& name) const { return Json::parse(metadata_.at(name).get<std::string>()); }

std::vector<std::string> TorchFile::tensors() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : header_.items()) names.push_back(name);
  return names;
}

std::vector<int64_t> TorchFile::dims(const std::string& tensor) const {
  return header_.at(tensor).at("shape").get<std::vector<int64_t>>();
}

std::vector<double> TorchFile::numbers(const std::string& tensor) const {
  const Json& entry = header_.at(tensor);
  const auto offsets = entry.at("data_offsets").get<std::vector<size_t>>();
  if (offsets[1] > data_.size()) throw std::runtime_error(name_ + ": " + tensor + " is beyond the end of the file");
  const char* const bytes = data_.data() + offsets[0];
  const size_t num_bytes = offsets[1] - offsets[0];
  const std::string dtype = entry.at("dtype");
  if (dtype == "F64") return as_doubles<double>(bytes, num_bytes);
  if (dtype == "F32") return as_doubles<float>(bytes, num_bytes);
  if (dtype == "I64") return as_doubles<int64_t>(bytes, num_bytes);
  if (dtype == "I32") return as_doubles<int32_t>(bytes, num_bytes);
  if (dtype == "BOOL") return as_doubles<uint8_t>(bytes, num_bytes);
  throw std::runtime_error(name_ + ": " + tensor + " has the dtype " + dtype);
}

}  // namespace heed::golden
