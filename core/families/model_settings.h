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
#include "families/setting.h"

namespace heed {

class ModelSettings {
 public:
  // `model`: the path of the model's object in the configuration, which must outlive this object; "": the whole.
  ModelSettings(const ModelConfig& config, std::string model, SettingLevels levels = SettingLevels::One)
      : config_(config), model_(std::move(model)), levels_(levels) {}

  bool is_whole_model() const { return model_.empty(); }

  std::optional<double> number(Setting setting) const {
    return setting == Setting::None ? std::nullopt : as_written(setting, number_at(name_of(setting)));
  }
  // The first of these settings that is a number.
  std::optional<double> number(std::initializer_list<Setting> settings) const {
    for (const Setting setting : settings) {
      if (const std::optional<double> value = number(setting)) return value;
    }
    return std::nullopt;
  }
  // Of an element of a list.
  std::optional<double> number(Setting list, int64_t index) const { return number_at(path_of(list, index)); }
  std::optional<bool> flag(Setting setting) const { return as_written(setting, flag_at(name_of(setting))); }
  bool is_set(Setting setting) const { return flag(setting).value_or(false); }
  bool is_cleared(Setting setting) const { return !flag(setting).value_or(true); }
  // Whether the file says nothing of the setting, not even null.
  bool is_left_out(Setting setting) const {
    const std::string path = whole(name_of(setting));
    return !config_.has(path) && !config_.is_null(path);
  }
  std::string_view text(Setting setting) const {
    if (setting == Setting::None) return {};
    return as_written(setting, config_.text(whole(name_of(setting)))).value_or("");
  }
  std::string_view text(Setting list, int64_t index) const { return text_at(path_of(list, index)); }

  // The first of these settings that is a positive integer.
  std::optional<int64_t> count(std::initializer_list<Setting> settings) const {
    for (const Setting setting : settings) {
      if (const std::optional<int64_t> value = count_of(number(setting))) return value;
    }
    return std::nullopt;
  }
  std::optional<int64_t> count(Setting list, int64_t index) const { return count_of(number(list, index)); }

  // By the path within the model: of members of objects.
  std::optional<double> number_at(std::string_view path) const { return config_.number(whole(path)); }
  std::optional<bool> flag_at(std::string_view path) const { return config_.flag(whole(path)); }
  std::string_view text_at(std::string_view path) const { return config_.text(whole(path)).value_or(""); }
  bool is_object_at(std::string_view path) const { return config_.is_object(whole(path)); }

 private:
  static std::string path_of(Setting list, int64_t index) {
    return std::string(name_of(list)) + "." + std::to_string(index);
  }
  static std::optional<int64_t> count_of(std::optional<double> value) {
    constexpr double kMost = 1 << 30;
    if (value && *value > 0 && *value < kMost && *value == std::floor(*value)) return static_cast<int64_t>(*value);
    return std::nullopt;
  }
  // Refuses a value that is written in another way than it is read.
  template <typename T>
  std::optional<T> as_written(Setting setting, std::optional<T> value) const {
    if (!value) refuse_another_scalar(config_, whole(name_of(setting)), setting);
    return value;
  }
  std::string whole(std::string_view path) const { return config_.path_in(model_, path, levels_); }

  const ModelConfig& config_;
  std::string model_;
  SettingLevels levels_;
};

}  // namespace heed
