// SPDX-License-Identifier: Apache-2.0
// Prepares text from outside (paths, tensor names) for an error message. A message is one line of ASCII of limited
// length, but a name from a file may have any bytes and any length.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace heed {

// Long enough for usual paths and names. A sentence with three of them fits into the buffer of an error.
inline constexpr size_t kMaxShownText = 120;

// Bytes other than printable ASCII become \xHH, as do quotation marks, which would end the name in the sentence. If the
// result is too long, its middle is replaced by "...".
inline std::string shown(std::string_view text) {
  constexpr size_t kHead = kMaxShownText / 3;
  constexpr size_t kTail = kMaxShownText - kHead - 3;
  const auto append_escaped = [](std::string& result, char c) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20u && byte < 0x7Fu && byte != '"') {
      result += c;
    } else {
      result.append("\\x").append(1, kDigits[byte >> 4u]).append(1, kDigits[byte & 15u]);
    }
  };
  std::string whole;
  for (size_t i = 0; i < text.size() && whole.size() <= kMaxShownText; ++i) append_escaped(whole, text[i]);
  if (whole.size() <= kMaxShownText) return whole;

  // Does not cut an escape in two.
  std::string head;
  std::string escaped;
  for (size_t i = 0; head.size() + escaped.size() <= kHead; ++i) {
    head += escaped;
    escaped.clear();
    append_escaped(escaped, text[i]);
  }
  std::string tail;
  escaped.clear();
  for (size_t i = text.size(); tail.size() + escaped.size() <= kTail;) {
    tail.insert(0, escaped);
    escaped.clear();
    append_escaped(escaped, text[--i]);
  }
  return head + "..." + tail;
}

// Copies a sentence, cut to fit the capacity; each byte that is not printable ASCII becomes \xhh. Allocates nothing.
inline void copy_printable(char* destination, size_t capacity, const char* text) noexcept {
  size_t length = 0;
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    const bool printable = byte >= 0x20 && byte < 0x7f;
    const size_t width = printable ? 1 : 4;
    if (length + width >= capacity) break;
    if (printable) {
      destination[length] = *text;
    } else {
      std::snprintf(destination + length, width + 1, "\\x%02x", byte);
    }
    length += width;
  }
  destination[length] = '\0';
}

// Appends to the text in an array, cut to fit. Allocates nothing.
template <size_t capacity>
void append_text(char (&text)[capacity], const char* added) noexcept {
  const size_t length = std::strlen(text);
  std::snprintf(text + length, capacity - length, "%s", added);
}

// shown() between quotation marks.
inline std::string in_quotes(std::string_view text) { return "\"" + shown(text) + "\""; }

}  // namespace heed
