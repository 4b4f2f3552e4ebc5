// SPDX-License-Identifier: Apache-2.0
#include "families/model_rope.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/family.h"
#include "families/load_accept.h"
#include "families/model_numbers.h"
#include "families/model_settings.h"

namespace heed {
namespace {

constexpr UnsupportedFeature kDynamic = {
    feature::kRotary,
    "rotary positions of type \"dynamic\", whose frequencies change with the length while keys are cached"};
constexpr UnsupportedFeature kOtherType = {feature::kRotary, "rotary positions of a type that heed does not know"};
constexpr UnsupportedFeature kSeveralAxes = {feature::kRotary, "rotary positions on several axes"};
constexpr UnsupportedFeature kIncomplete = {feature::kRotary,
                                            "rotary positions whose settings are incomplete or out of range"};

const char* name_of(RotaryLayout layout) {
  return layout == RotaryLayout::Interleaved ? CONSTANT("HEED_ROPE_INTERLEAVED") : CONSTANT("HEED_ROPE_HALF");
}

// Reads the settings of one layer.
class RopeReader {
 public:
  RopeReader(const ModelSettings& settings, const Positions& family, std::optional<bool> is_sliding, int64_t head_size)
      : settings_(settings), family_(family), is_sliding_(is_sliding), head_size_(head_size) {
    model_.options.layout = family.layout;
  }

  RopeReading read() {
    if (!find_object()) return {};
    read_base();
    read_size();
    if (const UnsupportedFeature* unsupported = read_scaling()) return {std::nullopt, unsupported, {}};
    try {
      fill_in_defaults();
    } catch (const Error& error) {
      return {std::nullopt, &kIncomplete, error.marked};
    }
    return {std::move(model_), nullptr, {}};
  }

 private:
  // Sets where the numbers of this kind of layer are. Returns false if the kind has to be known.
  bool find_object() {
    const std::string parameters = std::string(name_of(Setting::RopeParameters)) + ".";
    const std::string full = parameters + "full_attention";
    const std::string sliding = parameters + "sliding_attention";
    const bool is_by_kind = settings_.is_object_at(full) || settings_.is_object_at(sliding);
    if (is_by_kind || family_.window_base.otherwise != 0) {
      if (!is_sliding_) return false;
      is_sliding_apart_ = *is_sliding_;
    }
    if (is_by_kind) {
      object_ = (is_sliding_apart_ ? sliding : full) + ".";
      is_sliding_apart_ = false;
    } else if (settings_.is_object_at(name_of(Setting::RopeParameters))) {
      object_ = parameters;
    } else {
      object_ = std::string(name_of(Setting::RopeScaling)) + ".";
    }
    return true;
  }

  std::optional<double> number(const char* name) const { return settings_.number_at(object_ + name); }
  // In the object or, in earlier files, beside it.
  std::optional<double> number(Setting inner, std::initializer_list<Setting> beside) const {
    const std::optional<double> value = number(name_of(inner));
    return value ? value : settings_.number(beside);
  }
  double number_or(const char* name, double otherwise) const { return number(name).value_or(otherwise); }

  void read_base() {
    std::optional<double> base;
    if (is_sliding_apart_) {
      base = settings_.number({Setting::RopeLocalBaseFreq, Setting::LocalRopeTheta});
    } else {
      base = number(Setting::RopeTheta, {Setting::RopeTheta, Setting::RotaryEmbBase, Setting::GlobalRopeTheta});
    }
    const From& by_record = is_sliding_apart_ ? family_.window_base : family_.base;
    model_.options.base = base ? static_cast<float>(*base) : by_record.otherwise;
  }

  void read_size() {
    int64_t& size = model_.options.rotary_size;
    // GPT-J and CodeGen state the size itself.
    if (const std::optional<int64_t> stated = settings_.count({Setting::RotaryDim})) {
      size = *stated;
      return;
    }
    const double factor = number(Setting::PartialRotaryFactor, {Setting::PartialRotaryFactor, Setting::RotaryPct})
                              .value_or(static_cast<double>(family_.part.otherwise));
    // A size of 0 would mean the whole head, and one that is too large or no number is refused as such.
    const double rotated = static_cast<double>(head_size_) * factor;
    size = rotated >= 1 && rotated <= static_cast<double>(head_size_) ? static_cast<int64_t>(rotated) : 1;
  }

  // The numbers of the scaling; returns why heed has none, otherwise null.
  const UnsupportedFeature* read_scaling() {
    if (is_sliding_apart_) return nullptr;
    std::string_view type = settings_.text_at(object_ + "rope_type");
    if (type.empty()) type = settings_.text_at(object_ + "type");
    RopeOptions& options = model_.options;
    if (number("mrope_section.0")) return &kSeveralAxes;
    if (type.empty() || type == "default") return nullptr;
    // Names of longrope in Phi-3's first files.
    if (type == "su" || (type == "yarn" && family_.yarn_is_longrope)) type = "longrope";
    if (type == "dynamic") return &kDynamic;
    const std::optional<double> factor = number("factor");
    options.factor = static_cast<float>(factor.value_or(length_ratio()));
    if (type == "linear") {
      options.scaling = RopeScaling::Linear;
    } else if (type == "llama3") {
      options.scaling = RopeScaling::Llama3;
      options.original_length = original_length();
      options.low_freq_factor = static_cast<float>(number_or("low_freq_factor", 1));
      options.high_freq_factor = static_cast<float>(number_or("high_freq_factor", 4));
    } else if (type == "yarn") {
      read_yarn();
    } else if (type == "longrope") {
      read_factors();
    } else {
      return &kOtherType;
    }
    return nullptr;
  }

  void read_yarn() {
    RopeOptions& options = model_.options;
    options.scaling = RopeScaling::Yarn;
    options.original_length = original_length();
    options.beta_fast = static_cast<float>(number_or("beta_fast", 0));
    options.beta_slow = static_cast<float>(number_or("beta_slow", 0));
    options.no_rounding = !settings_.flag_at(object_ + "truncate").value_or(true);
    if (const std::optional<double> attention_factor = number("attention_factor")) {
      options.attention_factor = static_cast<float>(*attention_factor);
      return;
    }
    const double mscale = number_or("mscale", 0);
    const double of_all = number_or("mscale_all_dim", 0);
    if (mscale == 0 || of_all == 0) return;
    const auto factor = static_cast<double>(options.factor);
    const auto magnitude = [&](double m) { return factor <= 1 ? 1.0 : 0.1 * m * std::log(factor) + 1; };
    options.attention_factor = static_cast<float>(magnitude(mscale) / magnitude(of_all));
  }

  // The model takes the long list in calls of more than original_length tokens, so a layer that is never longer has the
  // short one.
  void read_factors() {
    RopeOptions& options = model_.options;
    options.scaling = RopeScaling::Factors;
    const auto factor = static_cast<double>(options.factor);
    const auto original = static_cast<double>(original_length());
    double attention_factor = 1;
    if (factor > 1 && original > 1) attention_factor = std::sqrt(1 + std::log(factor) / std::log(original));
    attention_factor = number_or("attention_factor", attention_factor);
    options.factor = 0;
    options.original_length = original_length();
    const bool is_always_short = max_positions() != 0 && max_positions() <= original;
    if (!is_always_short) add_list("long_factor", "long_mscale", attention_factor);
    add_list("short_factor", "short_mscale", attention_factor);
  }

  // `magnitude`: the setting of Phi-3.5-MoE for the attention factor.
  void add_list(const char* setting, const char* magnitude, double attention_factor) {
    ModelRopeFactors list;
    list.setting = setting;
    list.attention_factor = static_cast<float>(number_or(magnitude, attention_factor));
    for (size_t i = 0;; ++i) {
      const std::optional<double> factor = number((std::string(setting) + "." + std::to_string(i)).c_str());
      if (!factor) break;
      list.factors.push_back(static_cast<float>(*factor));
    }
    model_.factors.push_back(std::move(list));
  }

  double max_positions() const { return settings_.number(Setting::MaxPositionEmbeddings).value_or(0); }

  int64_t original_length() const {
    constexpr double kMost = 1 << 30;
    const double length = number(Setting::OriginalMaxPositionEmbeddings,
                                 {Setting::OriginalMaxPositionEmbeddings, Setting::MaxPositionEmbeddings})
                              .value_or(0);
    return length >= 1 && length <= kMost ? static_cast<int64_t>(length) : 0;
  }

  // For a scaling without a factor of its own.
  double length_ratio() const {
    const int64_t original = original_length();
    return original == 0 ? 0 : max_positions() / static_cast<double>(original);
  }

  // A factor for each pair.
  void require_pairs(const ModelRopeFactors& list) const {
    const int64_t size = model_.options.rotary_size;
    if (static_cast<int64_t>(list.factors.size()) == size / 2) return;
    fail(Status::InvalidArgument,
         "%s has %zu numbers, expected %" PRId64 ", one for each pair of the %" PRId64
         " elements of a head that are rotated",
         marked(Role::Setting, object_ + list.setting).c_str(), list.factors.size(), size / 2, size);
  }

  void fill_in_defaults() {
    const RotaryLayout layout = model_.options.layout;
    model_.is_whole_head = model_.options.rotary_size == head_size_;
    if (model_.factors.empty()) {
      const RopeOptions given = model_.options;
      model_.options = with_defaults(given, head_size_);
      RopeOptions usual = given;
      usual.attention_factor = 0;
      const float usual_factor = with_defaults(usual, head_size_).attention_factor;
      model_.has_usual_attention_factor =
          is_close(static_cast<double>(model_.options.attention_factor), static_cast<double>(usual_factor));
    } else {
      model_.has_usual_attention_factor = false;
      RopeOptions options;
      for (const ModelRopeFactors& list : model_.factors) {
        require_pairs(list);
        options = model_.options;
        options.factors = list.factors;
        options.attention_factor = list.attention_factor;
        options = with_defaults(options, head_size_);
      }
      model_.options = options;
      model_.options.factors = {};
    }
    model_.options.layout = layout;
  }

  const ModelSettings& settings_;
  const Positions& family_;
  std::optional<bool> is_sliding_;
  int64_t head_size_;
  // The path of the settings' object, with a dot at its end.
  std::string object_;
  // A layer with a window whose base is a setting beside those of the other layers.
  bool is_sliding_apart_ = false;
  ModelRope model_;
};

bool is_list(std::span<const float> factors, const ModelRopeFactors& list) {
  return std::equal(factors.begin(), factors.end(), list.factors.begin(), list.factors.end(),
                    [](float a, float b) { return is_close(static_cast<double>(a), static_cast<double>(b)); });
}

// The numbers that a scaling has beside its kind.
struct Number {
  const char* name;
  double value;
};
std::vector<Number> numbers_of_pairs(const RopeOptions& options) {
  return {{"rotary_size", static_cast<double>(options.rotary_size)},
          {"rotary_offset", static_cast<double>(options.rotary_offset)},
          {"base", static_cast<double>(options.base)}};
}
std::vector<Number> numbers_of_scaling(const RopeOptions& options) {
  const auto as_double = [](float value) { return static_cast<double>(value); };
  std::vector<Number> numbers;
  const bool has_length = options.scaling == RopeScaling::Yarn || options.scaling == RopeScaling::Llama3;
  if (options.scaling != RopeScaling::None && options.scaling != RopeScaling::Factors)
    numbers.push_back({"factor", as_double(options.factor)});
  if (has_length) numbers.push_back({"original_length", static_cast<double>(options.original_length)});
  if (options.scaling == RopeScaling::Yarn) {
    numbers.push_back({"beta_fast", as_double(options.beta_fast)});
    numbers.push_back({"beta_slow", as_double(options.beta_slow)});
    numbers.push_back({"no_rounding", options.no_rounding ? 1.0 : 0.0});
  }
  if (options.scaling == RopeScaling::Llama3) {
    numbers.push_back({"low_freq_factor", as_double(options.low_freq_factor)});
    numbers.push_back({"high_freq_factor", as_double(options.high_freq_factor)});
  }
  numbers.push_back({"attention_factor", as_double(options.attention_factor)});
  return numbers;
}

std::string text_of(const Number& number) {
  if (std::string_view(number.name) != "no_rounding") return number_text(number.value);
  return number.value == 0 ? FLAG("no_rounding", "0") : FLAG("no_rounding", "1");
}

std::string member_text(const char* name, const std::string& value) {
  return marked(Role::Option, std::string("rope->") + name) + " " + value;
}

void append(std::string& text, const std::string& member) { text += (text.empty() ? "" : ", ") + member; }

// Appends the numbers that differ from what a layer has by itself, except those named.
void append_numbers(std::string& text, const std::vector<Number>& numbers, std::string_view except = {}) {
  constexpr Number kUsual[] = {{"rotary_offset", 0}, {"attention_factor", 1}, {"no_rounding", 0},     {"beta_fast", 32},
                               {"beta_slow", 1},     {"low_freq_factor", 1},  {"high_freq_factor", 4}};
  for (const Number& number : numbers) {
    const bool is_usual = std::any_of(std::begin(kUsual), std::end(kUsual), [&](const Number& usual) {
      return std::string_view(number.name) == usual.name && number.value == usual.value;
    });
    if (!is_usual && number.name != except) append(text, member_text(number.name, text_of(number)));
  }
}

// For example `"long_factor" or "short_factor"`.
std::string lists_text(const ModelRope& model) {
  std::string lists;
  for (const ModelRopeFactors& one : model.factors) lists += (lists.empty() ? "" : " or ") + in_quotes(one.setting);
  return lists;
}

// The scaling's own members, as far as a caller has to set them.
void append_scaling(std::string& text, const ModelRope& model) {
  append_numbers(text, numbers_of_scaling(model.options), model.has_usual_attention_factor ? "attention_factor" : "");
  if (!model.factors.empty()) append(text, member_text("factors", lists_text(model)));
}

}  // namespace

RopeReading read_rope(const ModelSettings& settings, const Positions& family, std::optional<bool> is_sliding,
                      int64_t head_size) {
  return RopeReader(settings, family, is_sliding, head_size).read();
}

std::vector<std::string> differences(const RopeOptions& layer, const ModelRope& model) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& member, const std::string& is, const std::string& expected) {
    found.push_back(marked(Role::Option, "rope->" + member) + " is " + is + ", expected " + expected);
  };
  const auto compare = [&](const std::vector<Number>& is, const std::vector<Number>& should) {
    for (size_t i = 0; i < should.size(); ++i) {
      if (!is_close(is[i].value, should[i].value)) add(should[i].name, text_of(is[i]), text_of(should[i]));
    }
  };
  RopeOptions expected = model.options;
  if (expected.layout != RotaryLayout::None && layer.layout != expected.layout)
    add("layout", name_of(layer.layout), name_of(expected.layout));
  compare(numbers_of_pairs(layer), numbers_of_pairs(expected));
  if (layer.scaling != expected.scaling) {
    std::string scaling = c_name_of(expected.scaling);
    append_scaling(scaling, model);
    add("scaling", c_name_of(layer.scaling), scaling);
    return found;
  }
  if (!model.factors.empty()) {
    // With short_factors a layer has both lists, the long one first.
    const bool has_both = !layer.short_factors.empty() && model.factors.size() == 2;
    const auto list = std::find_if(model.factors.begin(), has_both ? model.factors.begin() + 1 : model.factors.end(),
                                   [&](const ModelRopeFactors& one) { return is_list(layer.factors, one); });
    if (list != (has_both ? model.factors.begin() + 1 : model.factors.end())) {
      expected.attention_factor = list->attention_factor;
    } else {
      found.push_back(
          OPTION("rope->factors") " has other numbers than the model, expected its " + lists_text(model) +
          ": a " WORD("layer") " without " OPTION("rope->short_factors") " has one list, whatever the length");
    }
    if (has_both && !is_list(layer.short_factors, model.factors.back()))
      found.push_back(OPTION("rope->short_factors") " has other numbers than the model, expected its " +
                      in_quotes(model.factors.back().setting));
    if (has_both && layer.original_length != expected.original_length)
      add("original_length", std::to_string(layer.original_length), std::to_string(expected.original_length));
  }
  compare(numbers_of_scaling(layer), numbers_of_scaling(expected));
  return found;
}

std::string members_text(const ModelRope& model) {
  const RopeOptions& options = model.options;
  std::string text;
  if (options.layout != RotaryLayout::None) append(text, member_text("layout", name_of(options.layout)));
  if (options.scaling != RopeScaling::None) append(text, member_text("scaling", c_name_of(options.scaling)));
  append_numbers(text, numbers_of_pairs(options), model.is_whole_head ? "rotary_size" : "");
  append_scaling(text, model);
  return text;
}

std::string members_text(const RopeOptions& options) {
  std::string text = member_text("layout", name_of(options.layout));
  if (options.scaling != RopeScaling::None) append(text, member_text("scaling", c_name_of(options.scaling)));
  append_numbers(text, numbers_of_pairs(options));
  append_numbers(text, numbers_of_scaling(options));
  return text;
}

}  // namespace heed
