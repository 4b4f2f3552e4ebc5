// SPDX-License-Identifier: Apache-2.0
// A model's config.json, as Hugging Face writes it beside the weights: the settings of the whole model, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace heed {

// They bound what reading a configuration may allocate. Those of large models have 2 MB, mostly names of labels, which
// are not kept.
inline constexpr uint64_t kMaxModelConfig = 16'000'000;
inline constexpr size_t kMaxModelSettings = 65'536;
// Settings that lie deeper are not kept: no model has what heed asks for below the third level.
inline constexpr size_t kMaxModelSettingDepth = 6;

// The members of a JSON object and of the objects and arrays in it, each by its path: "text_config.layer_types.0".
class ModelConfig {
 public:
  // Reads all of it. Throws CorruptFile naming the source where it is no JSON object, says something twice or is larger
  // than the bounds above.
  explicit ModelConfig(const ByteSource& source);

  // As error sentences call it.
  const std::string& path() const { return path_; }

  // Whether there is a setting of this path that is not null.
  bool has(std::string_view setting) const { return find(setting) != nullptr; }
  bool is_object(std::string_view setting) const;
  // Nothing where there is none or it is of another kind.
  std::optional<double> number(std::string_view setting) const;
  std::optional<bool> flag(std::string_view setting) const;
  std::optional<std::string_view> text(std::string_view setting) const;

  // The paths of the objects in it that say what model they are of: that have a member "model_type" which is not empty.
  // "" for the whole.
  const std::vector<std::string>& models() const { return models_; }

 private:
  friend class ModelConfigParser;

  enum class Kind { Object, Array, Null, Flag, Number, Text };
  struct Setting {
    std::string path;
    Kind kind = Kind::Null;
    double number = 0;
    std::string text;
  };

  // NULL for null too.
  const Setting* find(std::string_view setting) const;

  std::string path_;
  std::vector<Setting> settings_;  // sorted
  std::vector<std::string> models_;
};

// The config.json in a folder. Nothing where there is none; throws Io where there is one that cannot be read.
std::optional<ModelConfig> find_model_config(const std::string& folder);

}  // namespace heed
