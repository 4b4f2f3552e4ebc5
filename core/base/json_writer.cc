// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <cinttypes>
#include <cstdio>

#include "base/decimal_text.h"

namespace heed {

void JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += style_ == JsonStyle::Indented ? ": " : ":";
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
}

void JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!first_) new_line();
  text_ += bracket;
  first_ = false;
}

void JsonWriter::put(std::string_view token) {
  separate();
  text_ += token;
}

void JsonWriter::put_float(float number) { put(ShortestText(number).c_str()); }

void JsonWriter::put_signed(int64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%" PRId64, number);
  put(digits);
}

void JsonWriter::put_unsigned(uint64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%" PRIu64, number);
  put(digits);
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ > 0) {
    if (!first_) text_ += ',';
    new_line();
  }
  first_ = false;
}

void JsonWriter::new_line() {
  if (style_ == JsonStyle::Compact) return;
  text_ += '\n';
  text_.append(2 * depth_, ' ');
}

void JsonWriter::quote(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') text_ += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      text_ += escape;
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

}  // namespace heed
