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
#include "families/setting.h"

namespace heed {

// Limits of the memory that reading a configuration may allocate. Configurations of large models have 2 MB, mostly
// names of labels, which are not kept.
inline constexpr uint64_t kMaxModelConfig = 16'000'000;
inline constexpr size_t kMaxModelSettings = 65'536;
// More deeply nested settings are not kept: all settings that heed reads are in the first three levels.
inline constexpr size_t kMaxModelSettingDepth = 6;

// Where in the object of a model its settings are.
enum class SettingLevels : uint8_t {
  One,
  All,  // also in the objects within it
};

// The members of a JSON object and of the objects and arrays in it, each with its path, such as
// "text_config.layer_types.0".
class ModelConfig {
 public:
  // Reads the whole configuration. Throws CorruptFile, naming the source, if it is not a JSON object, has a member
  // twice or exceeds the limits above.
  explicit ModelConfig(const ByteSource& source);

  // The name of the source for error sentences.
  const std::string& path() const { return path_; }

  // Whether there is a setting of this path that is not null.
  bool has(std::string_view setting) const { return find(setting) != nullptr; }
  // Whether there is a setting of this path that is null.
  bool is_null(std::string_view setting) const;
  bool is_object(std::string_view setting) const;
  // No value if there is no setting of this path or it is of another kind. NaN, which JSON lacks, is the text "".
  std::optional<double> number(std::string_view setting) const;
  std::optional<bool> flag(std::string_view setting) const;
  std::optional<std::string_view> text(std::string_view setting) const;

  // The path of a setting of the object `model`, "" for the whole. On all levels: if the setting is not there, or null, that of the
  // first in an object within it.
  std::string path_in(const std::string& model, std::string_view path, SettingLevels levels) const;
  // Whether there is a list at this path.
  bool is_list(std::string_view setting) const;
  // The value at this path for sentences: `"text"`, `3`, `null`, `a list`, `an object`.
  std::string text_of_value(std::string_view setting) const;
  // The names of the members of the object, or the indices in the list, at this path.
  std::vector<std::string> members(std::string_view setting) const;

  // The names of the members of the whole object that say something: neither null, false, an empty text, list nor object.
  std::vector<std::string> names_in_use() const;

  // Removes the members of the whole object, and what is in them, of whose name `is_kept` is not true.
  template <typename Predicate>
  void keep(const Predicate& is_kept) {
    const auto is_removed = [&](std::string_view path) { return !is_kept(path.substr(0, path.find('.'))); };
    std::erase_if(settings_, [&](const Setting& setting) { return is_removed(setting.path); });
    std::erase_if(models_, [&](const std::string& model) { return !model.empty() && is_removed(model); });
  }

  // The paths of the objects with a non-empty member "model_type", each the configuration of one model. "" is the whole
  // file.
  const std::vector<std::string>& models() const { return models_; }

 private:
  friend class ModelConfigParser;

  enum class Kind {
    Object,
    Array,
    Null,
    Flag,
    Number,
    NotFinite,  // NaN or an infinity, which JSON does not have
    Text
  };
  struct Setting {
    std::string path;
    Kind kind = Kind::Null;
    double number = 0;
    std::string text;
    bool is_inner = false;  // of an object or an array in the configuration
  };

  // Null if there is no setting of this path.
  const Setting* find_any(std::string_view setting) const;
  // Null also for a JSON null.
  const Setting* find(std::string_view setting) const;

  std::string path_;
  std::vector<Setting> settings_;  // sorted
  std::vector<std::string> models_;
};

// The path of a member of the object, or an element of the list, at `path`; "": the whole configuration.
std::string path_of_member(const std::string& path, std::string_view name);

// Reads the config.json in a folder. Returns nothing if there is none; throws Io if it cannot be read.
std::optional<ModelConfig> find_model_config(const std::string& folder);

// ---- the JSON that settings must have: written in another way, one would be read as its default -----------------------

// Whether the value at this path is of that JSON. A whole number may be written as 12.0.
bool is_json(const ModelConfig& config, const std::string& path, Json json);

// Throws InvalidArgument, naming the path and the value, unless it is of that JSON. `may_be_null`: or null.
void require_json(const ModelConfig& config, const std::string& path, Json json, bool may_be_null);

// Throws InvalidArgument if the value at this path is a number, a truth value or a text in the place of another of them: of
// files for layers, whose models may have lists where others have one number.
void refuse_another_scalar(const ModelConfig& config, const std::string& path, Setting setting);

}  // namespace heed
