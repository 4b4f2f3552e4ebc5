// SPDX-License-Identifier: Apache-2.0
#include "attention/rope_text.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attention/rope.h"
#include "base/decimal_text.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace heed {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Reads the members that write_options writes. What it does not know it skips: the caller compares the text.
class RopeParser : public JsonEvents {
 public:
  // With the lists in memory of the parser.
  RopeOptions options() const {
    RopeOptions options = options_;
    options.factors = factors_;
    options.short_factors = short_factors_;
    return options;
  }

  bool null() override { return true; }
  bool binary(binary_t&) override { return true; }
  bool boolean(bool value) override {
    if (key_ == "no_rounding") options_.no_rounding = value;
    return true;
  }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= INT64_MAX ? integer(static_cast<int64_t>(value)) : number(static_cast<float>(value));
  }
  // The float whose text this is. Digits that were rounded to f64 first may become its neighbour.
  bool number_float(number_float_t value, const string_t& digits) override {
    const auto nearest = static_cast<float>(value);
    for (const float candidate : {nearest, std::nextafter(nearest, -kInfinity), std::nextafter(nearest, kInfinity)}) {
      if (digits == ShortestText(candidate).c_str()) return number(candidate);
    }
    return false;
  }
  bool string(string_t& text) override {
    if (key_ == "layout") options_.layout = text == "interleaved" ? RotaryLayout::Interleaved : RotaryLayout::Half;
    if (key_ == "scaling") {
      constexpr RopeScaling kScalings[] = {RopeScaling::None, RopeScaling::Linear, RopeScaling::Ntk,
                                           RopeScaling::Yarn, RopeScaling::Llama3, RopeScaling::Factors};
      for (const RopeScaling scaling : kScalings) {
        if (text == name_of(scaling)) options_.scaling = scaling;
      }
    }
    return true;
  }
  bool key(string_t& text) override {
    key_ = text;
    return true;
  }
  bool start_object(size_t) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool integer(int64_t value) {
    if (key_ == "rotary_size") options_.rotary_size = value;
    if (key_ == "rotary_offset") options_.rotary_offset = value;
    if (key_ == "original_length") options_.original_length = value;
    return number(static_cast<float>(value));
  }
  bool number(float value) {
    if (key_ == "base") options_.base = value;
    if (key_ == "factor") options_.factor = value;
    if (key_ == "beta_fast") options_.beta_fast = value;
    if (key_ == "beta_slow") options_.beta_slow = value;
    if (key_ == "low_freq_factor") options_.low_freq_factor = value;
    if (key_ == "high_freq_factor") options_.high_freq_factor = value;
    if (key_ == "attention_factor") options_.attention_factor = value;
    if (key_ == "factors") factors_.push_back(value);
    if (key_ == "short_factors") short_factors_.push_back(value);
    return true;
  }

  RopeOptions options_;
  std::vector<float> factors_;
  std::vector<float> short_factors_;
  std::string key_;
};

}  // namespace

bool is_rope_text(std::string_view text, int64_t head_size) {
  RopeParser parser;
  read_json(text, parser);
  JsonWriter json(JsonStyle::Compact);
  try {
    json.begin_object();
    write_options(with_defaults(parser.options(), head_size), json);
    json.end_object();
  } catch (const Error& error) {
    if (error.status != Status::InvalidArgument) throw;
    return false;
  }
  return json.text() == text;
}

}  // namespace heed
