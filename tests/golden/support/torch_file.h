// SPDX-License-Identifier: Apache-2.0
// A file data/torch_*.safetensors, read without heed: the names of its cases, the options of each, and its tensors as numbers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace heed::golden {

class TorchFile {
 public:
  // `name`: such as "torch_rotary".
  explicit TorchFile(const std::string& name);

  const std::string& name() const { return name_; }
  // In the order in which they were made.
  std::vector<std::string> cases() const;
  nlohmann::json options_of(const std::string& name) const;

  // Of all tensors, in order of their bytes.
  std::vector<std::string> tensors() const;
  bool has(const std::string& tensor) const { return header_.contains(tensor); }
  bool is_bool(const std::string& tensor) const { return header_.at(tensor).at("dtype") == "BOOL"; }
  std::vector<int64_t> dims(const std::string& tensor) const;
  // F64, F32, I64, I32 or BOOL.
  std::vector<double> numbers(const std::string& tensor) const;

 private:
  std::string name_;
  nlohmann::json header_;
  nlohmann::json metadata_;
  std::string data_;
};

}  // namespace heed::golden
