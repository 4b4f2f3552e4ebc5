// SPDX-License-Identifier: Apache-2.0
#include "families/model_config.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/shown_text.h"
#include "families/model_numbers.h"

namespace heed {
namespace {

// The text in place of a number that JSON does not have, without the quotes.
constexpr std::string_view kNotFinite = "\x7F";

// Python writes numbers that JSON does not allow, such as NaN for a setting without a value. Each is replaced by a
// text that no setting has.
void replace_what_is_no_json(std::string& text) {
  constexpr std::string_view kWords[] = {"-Infinity", "Infinity", "NaN"};
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_in_string) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        is_in_string = false;
      continue;
    }
    if (text[i] == '"') is_in_string = true;
    for (const std::string_view word : kWords) {
      if (text.compare(i, word.size(), word) != 0) continue;
      std::string replacement = "\"" + std::string(kNotFinite) + "\"";
      replacement.resize(word.size(), ' ');
      text.replace(i, word.size(), replacement);
      i += word.size() - 1;
      break;
    }
  }
}

// `what` follows the name of the file in the sentence.
[[noreturn]] void fail_config(const std::string& shown_path, const std::string& what) {
  fail(Status::CorruptFile, "\"%s\" %s", shown_path.c_str(), what.c_str());
}

// Whole numbers have all their digits.
std::string text_of(double number) {
  constexpr double kMostExact = 1e15;
  const bool is_whole = number == std::floor(number) && std::abs(number) < kMostExact;
  return is_whole ? std::to_string(static_cast<int64_t>(number)) : number_text(number);
}

std::string no_json(size_t position) { return "is not JSON in UTF-8 at its byte " + std::to_string(position); }

}  // namespace

std::string path_of_member(const std::string& path, std::string_view name) {
  std::string whole = path;
  if (!whole.empty()) whole += '.';
  return whole += name;
}

// Reads the JSON as a sequence of events; the parser does not recurse, however deep the nesting.
class ModelConfigParser : public JsonEvents {
 public:
  using Kind = ModelConfig::Kind;
  using Setting = ModelConfig::Setting;

  explicit ModelConfigParser(const std::string& path) : shown_path_(shown(path)) {}

  std::vector<Setting> take_settings() {
    std::sort(settings_.begin(), settings_.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    const auto twice = std::adjacent_find(settings_.begin(), settings_.end(),
                                          [](const auto& a, const auto& b) { return a.path == b.path; });
    if (twice != settings_.end()) fail_config(shown_path_, "has \"" + shown(twice->path) + "\" twice");
    return std::move(settings_);
  }

  bool null() override { return add({{}, Kind::Null, 0, {}}); }
  bool boolean(bool value) override { return add({{}, Kind::Flag, value ? 1.0 : 0.0, {}}); }
  bool number_integer(number_integer_t value) override {
    return add({{}, Kind::Number, static_cast<double>(value), {}});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add({{}, Kind::Number, static_cast<double>(value), {}});
  }
  bool number_float(number_float_t value, const string_t&) override { return add({{}, Kind::Number, value, {}}); }
  bool string(string_t& value) override {
    return value == kNotFinite ? add({{}, Kind::NotFinite, 0, {}}) : add({{}, Kind::Text, 0, std::move(value)});
  }
  bool binary(binary_t&) override { return true; }

  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }

  bool start_object(size_t) override { return start(Kind::Object); }
  bool start_array(size_t) override { return start(Kind::Array); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail_config(shown_path_, no_json(position));
  }

 private:
  struct Level {
    bool is_array = false;
    bool is_kept = true;
    std::string path;
    size_t num_elements = 0;
  };

  // The path of the next value in the innermost level.
  std::string next_path() {
    Level& level = levels_.back();
    return path_of_member(level.path, level.is_array ? std::to_string(level.num_elements++) : key_);
  }

  bool add(Setting setting) {
    if (num_deeper_ > 0) return true;
    if (levels_.empty()) fail_config(shown_path_, "is no JSON object, expected a model's settings");
    if (!levels_.back().is_kept) return true;
    setting.path = next_path();
    setting.is_inner = levels_.size() > 1;
    if (settings_.size() == kMaxModelSettings)
      fail_config(shown_path_, "has more than " + std::to_string(kMaxModelSettings) + " settings");
    settings_.push_back(std::move(setting));
    return true;
  }

  bool start(Kind kind) {
    if (levels_.size() > kMaxModelSettingDepth) {
      ++num_deeper_;
      return true;
    }
    Level level;
    level.is_array = kind == Kind::Array;
    if (levels_.empty()) {
      if (level.is_array) return add({});
      levels_.push_back(std::move(level));
      return true;
    }
    // There may be very many names of labels, and they do not affect the computation.
    level.is_kept =
        levels_.size() < kMaxModelSettingDepth && levels_.back().is_kept && key_ != "id2label" && key_ != "label2id";
    if (level.is_kept) {
      const size_t before = settings_.size();
      add({{}, kind, 0, {}});
      level.path = settings_[before].path;
    }
    levels_.push_back(std::move(level));
    return true;
  }

  bool end() {
    if (num_deeper_ > 0) {
      --num_deeper_;
    } else {
      levels_.pop_back();
    }
    return true;
  }

  std::string shown_path_;
  std::vector<Setting> settings_;
  // At most kMaxModelSettingDepth + 1 levels; deeper ones are only counted, in num_deeper_.
  std::vector<Level> levels_;
  size_t num_deeper_ = 0;
  std::string key_;
};

ModelConfig::ModelConfig(const ByteSource& source) : path_(source.name()) {
  const std::string shown_path = shown(path_);
  const uint64_t num_bytes = source.num_bytes();
  if (num_bytes > kMaxModelConfig) {
    fail_config(shown_path, "has " + std::to_string(num_bytes) + " bytes, expected at most " +
                                std::to_string(kMaxModelConfig) + " of a model's settings");
  }
  std::string text(num_bytes, '\0');
  source.read(0, text.data(), text.size());
  // The parser would take a zero byte as the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) fail_config(shown_path, no_json(zero));
  replace_what_is_no_json(text);
  ModelConfigParser parser(path_);
  read_json(text, parser);
  settings_ = parser.take_settings();
  constexpr std::string_view kModelType = "model_type";
  for (const Setting& setting : settings_) {
    if (setting.kind != Kind::Text || setting.text.empty()) continue;
    if (setting.path == kModelType) {
      models_.insert(models_.begin(), std::string());
    } else if (setting.path.ends_with(".model_type")) {
      models_.push_back(setting.path.substr(0, setting.path.size() - kModelType.size() - 1));
    }
  }
}

const ModelConfig::Setting* ModelConfig::find_any(std::string_view setting) const {
  const auto at = std::lower_bound(settings_.begin(), settings_.end(), setting,
                                   [](const Setting& one, std::string_view wanted) { return one.path < wanted; });
  return at != settings_.end() && at->path == setting ? &*at : nullptr;
}

const ModelConfig::Setting* ModelConfig::find(std::string_view setting) const {
  const Setting* found = find_any(setting);
  return found != nullptr && found->kind != Kind::Null ? found : nullptr;
}

bool ModelConfig::is_null(std::string_view setting) const {
  const Setting* found = find_any(setting);
  return found != nullptr && found->kind == Kind::Null;
}

bool ModelConfig::is_object(std::string_view setting) const {
  const Setting* found = find(setting);
  return found != nullptr && found->kind == Kind::Object;
}

std::string ModelConfig::path_in(const std::string& model, std::string_view path, SettingLevels levels) const {
  std::string whole = path_of_member(model, path);
  if (levels == SettingLevels::One || path.empty() || has(whole)) return whole;
  const std::string ending = "." + std::string(path);
  const std::string beginning = path_of_member(model, "");
  for (const Setting& setting : settings_) {
    if (setting.kind != Kind::Null && setting.path.starts_with(beginning) && setting.path.ends_with(ending))
      return setting.path;
  }
  return whole;
}

bool ModelConfig::is_list(std::string_view setting) const {
  const Setting* found = find(setting);
  return found != nullptr && found->kind == Kind::Array;
}

std::string ModelConfig::text_of_value(std::string_view setting) const {
  const Setting* found = find_any(setting);
  switch (found == nullptr ? Kind::Null : found->kind) {
    case Kind::Null: break;
    case Kind::Object: return "an object";
    case Kind::Array: return "a list";
    case Kind::Flag: return found->number != 0 ? "true" : "false";
    case Kind::Number: return text_of(found->number);
    case Kind::NotFinite: return "NaN or Infinity";
    case Kind::Text: return in_quotes(found->text);
  }
  return "null";
}

std::vector<std::string> ModelConfig::members(std::string_view setting) const {
  std::vector<std::string> names;
  const std::string beginning = std::string(setting) + ".";
  const auto first = std::ranges::lower_bound(settings_, beginning, {}, &Setting::path);
  for (auto at = first; at != settings_.end() && at->path.starts_with(beginning); ++at) {
    std::string name = at->path.substr(beginning.size());
    // Members of members come after them.
    const size_t dot = name.find('.');
    const bool is_inside = dot != std::string::npos && std::ranges::binary_search(names, name.substr(0, dot));
    if (!is_inside) names.push_back(std::move(name));
  }
  return names;
}

std::optional<double> ModelConfig::number(std::string_view setting) const {
  const Setting* found = find(setting);
  return found != nullptr && found->kind == Kind::Number ? std::optional(found->number) : std::nullopt;
}

std::optional<bool> ModelConfig::flag(std::string_view setting) const {
  const Setting* found = find(setting);
  return found != nullptr && found->kind == Kind::Flag ? std::optional(found->number != 0) : std::nullopt;
}

std::optional<std::string_view> ModelConfig::text(std::string_view setting) const {
  const Setting* found = find(setting);
  const bool is_text = found != nullptr && (found->kind == Kind::Text || found->kind == Kind::NotFinite);
  return is_text ? std::optional<std::string_view>(found->text) : std::nullopt;
}

std::vector<std::string> ModelConfig::names_in_use() const {
  const auto is_off = [&](const Setting& setting) {
    switch (setting.kind) {
      case Kind::Null: return true;
      case Kind::Flag: return setting.number == 0;
      case Kind::Text: return setting.text.empty();
      case Kind::Array:
      case Kind::Object: return members(setting.path).empty();
      case Kind::Number:
      case Kind::NotFinite: break;
    }
    return false;
  };
  std::vector<std::string> names;
  for (const Setting& setting : settings_) {
    if (!setting.is_inner && !is_off(setting)) names.push_back(setting.path);
  }
  return names;
}

namespace {

// No sentence is of the others: sizes of images have one of their own, and no whole model has patterns or lists of lists.
const char* text_of(Json json) {
  switch (json) {
    case Json::Size:
    case Json::Pattern:
    case Json::Count: return "a whole number above 0";
    case Json::Index: return "a whole number of at least 0";
    case Json::Integer: return "a whole number";
    case Json::Number: return "a number";
    case Json::Above0: return "a number above 0";
    case Json::Flag: return "true or false";
    case Json::Word: return "a text";
    case Json::Words: return "a list of texts";
    case Json::Lists:
    case Json::Numbers: return "a list of numbers";
    case Json::Object: break;
  }
  return "an object";
}

// As ModelSettings::count.
constexpr double kMostOfCount = 1 << 30;

// What follows the kind of number that is expected: the bounds that this one exceeds.
std::string bounds_text(Json json, std::optional<double> number) {
  if (!number) return "";
  const bool is_count = json == Json::Count || json == Json::Index;
  if (is_count && *number >= kMostOfCount) return ", at most " + text_of(kMostOfCount - 1);
  const bool is_above_0 = json == Json::Above0 && *number > 0;
  return is_above_0 || json == Json::Number ? " in the range of F32" : "";
}

bool is_list_of(const ModelConfig& config, const std::string& path, Json elements) {
  return config.is_list(path) && std::ranges::all_of(config.members(path), [&](const std::string& index) {
           const std::string element = path_of_member(path, index);
           return elements == Json::Lists ? config.is_list(element) : is_json(config, element, elements);
         });
}

// Lists and objects say several numbers, as models of other kinds have them; NaN is of a setting without a number.
bool is_another_scalar(const ModelConfig& config, const std::string& path, Json json) {
  const bool is_number = config.number(path).has_value();
  const bool is_flag = config.flag(path).has_value();
  const bool is_text = !config.text(path).value_or("").empty();
  switch (json) {
    case Json::Count:
    case Json::Index:
    case Json::Integer:
    case Json::Number:
    case Json::Above0: return is_text || config.flag(path) == true;
    case Json::Flag: return is_text || is_number;
    case Json::Word: return is_number || is_flag;
    case Json::Words:
    case Json::Numbers:
    case Json::Lists:
    case Json::Size:
    case Json::Pattern:
    case Json::Object: break;
  }
  return false;
}

}  // namespace

bool is_json(const ModelConfig& config, const std::string& path, Json json) {
  const std::optional<double> number = config.number(path);
  const bool is_whole = number && *number == std::floor(*number);
  const bool is_index = is_whole && *number >= 0 && *number < kMostOfCount;
  const bool is_count = is_index && *number > 0;
  const bool is_float = number && std::abs(*number) <= double{FLT_MAX};
  const bool is_word = !config.text(path).value_or("").empty();
  switch (json) {
    case Json::Count: return is_count;
    case Json::Index: return is_index;
    case Json::Integer: return is_whole;
    case Json::Number: return is_float;
    // One that rounds to 0 would be the default.
    case Json::Above0: return is_float && static_cast<float>(*number) > 0;
    case Json::Flag: return config.flag(path).has_value();
    case Json::Word: return is_word;
    case Json::Words: return is_list_of(config, path, Json::Word);
    case Json::Numbers: return is_list_of(config, path, Json::Number);
    case Json::Lists: return is_list_of(config, path, Json::Lists);
    case Json::Size: return is_count || (config.members(path).size() == 2 && is_list_of(config, path, Json::Count));
    case Json::Pattern: return is_count || is_word;
    case Json::Object: break;
  }
  return config.is_object(path);
}

void refuse_another_scalar(const ModelConfig& config, const std::string& path, Setting setting) {
  if (!is_another_scalar(config, path, json_of(setting))) return;
  fail(Status::InvalidArgument,
       "%s says %s for the setting %s, expected %s; with accept \"config\" the names alone are asked",
       in_quotes(config.path()).c_str(), config.text_of_value(path).c_str(), in_quotes(path).c_str(),
       text_of(json_of(setting)));
}

void require_json(const ModelConfig& config, const std::string& path, Json json, bool may_be_null) {
  if (is_json(config, path, json) || (may_be_null && config.is_null(path))) return;
  fail(Status::InvalidArgument, "%s says %s for the setting %s, expected %s%s", in_quotes(config.path()).c_str(),
       config.text_of_value(path).c_str(), in_quotes(path).c_str(), text_of(json),
       bounds_text(json, config.number(path)).c_str());
}

std::optional<ModelConfig> find_model_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  if (!platform::file_exists(path.c_str())) return std::nullopt;
  return ModelConfig(FileSource(path.c_str()));
}

}  // namespace heed
