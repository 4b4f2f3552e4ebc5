// SPDX-License-Identifier: Apache-2.0
// The settings of one model in a configuration, which may describe several.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "families/model_config.h"

namespace heed {

class ModelSettings {
 public:
  // `model`: the path of the model's object in the configuration, which must outlive this object; "": the whole.
  ModelSettings(const ModelConfig& config, std::string model) : config_(config), model_(std::move(model)) {}

  bool is_whole_model() const { return model_.empty(); }

  std::optional<double> number(std::string_view name) const { return config_.number(path_of(name)); }
  // The first of these settings that is a number.
  std::optional<double> number(std::initializer_list<std::string> names) const {
    for (const std::string& name : names) {
      if (const std::optional<double> value = number(name)) return value;
    }
    return std::nullopt;
  }
  std::optional<bool> flag(std::string_view name) const { return config_.flag(path_of(name)); }
  bool is_set(std::string_view name) const { return flag(name).value_or(false); }
  bool is_cleared(std::string_view name) const { return !flag(name).value_or(true); }
  // Whether the file says nothing of the setting, not even null.
  bool is_left_out(std::string_view name) const {
    const std::string path = path_of(name);
    return !config_.has(path) && !config_.is_null(path);
  }
  bool is_object(std::string_view name) const { return config_.is_object(path_of(name)); }
  std::string_view text(std::string_view name) const { return config_.text(path_of(name)).value_or(""); }
  std::string_view text(const char* list, int64_t index) const { return text(list + ("." + std::to_string(index))); }

  // The first of these settings that is a positive integer.
  std::optional<int64_t> count(std::initializer_list<const char*> names) const {
    constexpr double kMost = 1 << 30;
    for (const char* name : names) {
      const std::optional<double> value = number(name);
      if (value && *value > 0 && *value < kMost && *value == std::floor(*value)) return static_cast<int64_t>(*value);
    }
    return std::nullopt;
  }

 private:
  std::string path_of(std::string_view name) const {
    return model_.empty() ? std::string(name) : model_ + "." + std::string(name);
  }

  const ModelConfig& config_;
  std::string model_;
};

}  // namespace heed
