// SPDX-License-Identifier: Apache-2.0
// Writes JSON text, without nlohmann-json: a document of that library allocates in its destructor, and running out of
// memory there would end the process.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

enum class JsonStyle {
  Indented,  // for people
  Compact,   // without any space
};

// Calls follow the nesting of the text: for an object begin_object, then key and value alternately, then end_object;
// for an array begin_array, then values, then end_array.
class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style = JsonStyle::Indented) : style_(style) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

  void key(std::string_view name);
  void value(std::string_view text);

  // Integers, booleans and finite floats; a float gets the fewest digits that read back as the same float. The
  // constraint keeps string literals out, which would otherwise convert to bool and not to string_view.
  template <typename Number>
  requires std::integral<Number> || std::same_as<Number, float>
  void value(Number number) {
    if constexpr (std::same_as<Number, bool>) {
      put(number ? "true" : "false");
    } else if constexpr (std::same_as<Number, float>) {
      put_float(number);
    } else if constexpr (std::unsigned_integral<Number>) {
      put_unsigned(number);
    } else {
      put_signed(number);
    }
  }

  // A count that is kept in a double. Counts from 2^63 on occur only for shapes that are too large to run. They are
  // written as the largest int64_t, which every reader of 64-bit integers accepts.
  void count(double number) { value(number < 0x1p63 ? static_cast<int64_t>(number) : INT64_MAX); }
  void count(size_t number) { value(std::min<size_t>(number, INT64_MAX)); }

  template <typename Value>
  void member(std::string_view name, const Value& content) {
    key(name);
    value(content);
  }

  const std::string& text() const { return text_; }

 private:
  void begin(char bracket);
  void end(char bracket);
  void put(std::string_view token);
  void put_float(float number);
  void put_signed(int64_t number);
  void put_unsigned(uint64_t number);
  // Writes the comma, line break and indentation before the next value.
  void separate();
  void new_line();
  void quote(std::string_view text);

  JsonStyle style_;
  std::string text_;
  size_t depth_ = 0;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace heed
