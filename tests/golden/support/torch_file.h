// SPDX-License-Identifier: Apache-2.0
// The metadata of a file data/torch_*.safetensors: the names of its cases, and the options of each.
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

 private:
  std::string name_;
  nlohmann::json metadata_;
};

}  // namespace heed::golden
