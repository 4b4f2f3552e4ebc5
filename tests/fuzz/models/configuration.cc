// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "fuzz/models/edits.h"
#include "fuzz/models/golden.h"

namespace heed::fuzz {
namespace {

using Json = nlohmann::json;

const Json& one_of(const std::vector<Json>& values, Bytes& bytes) {
  return values[static_cast<size_t>(bytes.next()) % values.size()];
}

std::string pointer_in(const Json& settings, Bytes& bytes) {
  const Json flat = settings.flatten();
  // flatten() makes of an empty object one member with the pointer "", which is that of the whole.
  if (settings.empty()) return "/model_type";
  return std::next(flat.begin(), bytes.next() % static_cast<int64_t>(flat.size())).key();
}

std::string pointer_of_any_model(Bytes& bytes) {
  const auto& known = known_values();
  const int64_t choice = 256 * bytes.next() + bytes.next();
  return std::next(known.begin(), choice % static_cast<int64_t>(known.size()))->first;
}

Json changed(const Json& value, Bytes& bytes) {
  if (!value.is_number()) return Json::array({value, value});
  const double number = value.get<double>();
  switch (bytes.below(4)) {
    case 0: return number + 1;
    case 1: return number - 1;
    case 2: return 2 * number;
    default: return number / 2;
  }
}

// `before`: the value that is replaced; null if there is none.
Json new_value(const std::string& pointer, const Json& before, Bytes& bytes) {
  static const std::vector<Json> kNumbers = {
      0,    1,    2,     3,         4,          5,         8,     16,   32,   4096,  -1, 0.5, 1e-5, 1.5,
      1e30, -2.5, 1e308, 536870912, 4294967297, INT64_MAX, 65537, 1e-9, 1000, 10000, 6,  7,   12,   INT64_MIN};
  static const std::vector<Json> kWords = {nullptr,
                                           true,
                                           false,
                                           "",
                                           "none",
                                           "relu",
                                           "gelu",
                                           "gelu_new",
                                           "silu",
                                           "quick_gelu",
                                           "gated-gelu",
                                           "full_attention",
                                           "sliding_attention",
                                           "absolute",
                                           "relative_key",
                                           "default",
                                           "linear",
                                           "dynamic",
                                           "yarn",
                                           "llama3",
                                           "longrope",
                                           "a\nb\t\x7f",
                                           Json::array(),
                                           Json::object(),
                                           Json::array({"full_attention", "sliding_attention"}),
                                           Json::array({1.0, 2.0, 3.0})};
  switch (bytes.below(4)) {
    case 0: return one_of(kNumbers, bytes);
    case 1: return one_of(kWords, bytes);
    case 2: return changed(before, bytes);
    default: break;
  }
  const auto& known = known_values();
  const auto values = known.find(pointer);
  return values == known.end() ? one_of(kWords, bytes) : one_of(values->second, bytes);
}

// Characters that are not UTF-8 are replaced.
std::string text_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

void Configuration::edit(Bytes& bytes) {
  const uint8_t choice = bytes.next();
  const std::string text = choice % 2 == 0 ? pointer_in(settings_, bytes) : pointer_of_any_model(bytes);
  const Json::json_pointer pointer(text);
  try {
    const bool is_there = settings_.contains(pointer);
    if (is_there && choice % 16 >= 14) {
      const Json::json_pointer parent = pointer.parent_pointer();
      if (settings_[parent].is_object()) settings_[parent].erase(pointer.back());
      return;
    }
    const Json before = is_there ? settings_[pointer] : Json();
    settings_[pointer] = new_value(text, before, bytes);
  } catch (const Json::exception&) {
    // The path leads into a number or beyond a list: nothing changes.
  }
}

void Configuration::append(std::string_view text) { appended_ = text; }

std::string Configuration::text() const {
  if (appended_.starts_with('{') || appended_.starts_with('[')) return appended_;
  const Json members = Json::parse("{" + appended_ + "}", nullptr, false);
  if (members.is_object()) {
    Json all = settings_;
    all.update(members);
    return text_of(all);
  }
  std::string text = text_of(settings_);
  if (!appended_.empty() && text.size() > 2) text.insert(1, appended_ + ",");
  return text;
}

}  // namespace heed::fuzz
