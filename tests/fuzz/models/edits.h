// SPDX-License-Identifier: Apache-2.0
// Changes of a model's files, which the bytes of an input choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/support/bytes.h"

namespace heed::fuzz {

// The text of a config.json.
class Configuration {
 public:
  explicit Configuration(nlohmann::json settings) : settings_(std::move(settings)) {}

  // Removes, adds or replaces one setting.
  void edit(Bytes& bytes);
  // The text of an object, which is the whole configuration, or of members, which replace others of their names. Other text
  // is put before the members.
  void append(std::string_view text);

  const nlohmann::json& settings() const { return settings_; }
  std::string text() const;

 private:
  nlohmann::json settings_;
  std::string appended_;
};

// A .safetensors file.
class WeightsFile {
 public:
  explicit WeightsFile(const std::string& bytes);

  // Removes, adds, renames or reshapes one tensor, or renames all.
  void edit(Bytes& bytes);

  std::string bytes() const;

 private:
  struct StoredTensor {
    std::string name;
    std::string dtype;
    std::vector<int64_t> dims;
    // Of its bytes in the file that was given.
    size_t first;
    size_t end;
  };

  void rename_all(Bytes& bytes);

  std::vector<StoredTensor> tensors_;
  std::string data_;
};

}  // namespace heed::fuzz
