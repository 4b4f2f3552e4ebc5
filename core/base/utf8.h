// SPDX-License-Identifier: Apache-2.0
// Whether text is UTF-8, as names in files have to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heed {

// Without overlong forms and surrogates, up to U+10FFFF.
inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    const int num_more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4) return false;
    uint32_t point = first & (0x3Fu >> static_cast<unsigned>(num_more));
    for (int k = 0; k < num_more; ++k) {
      if (i == text.size()) return false;
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xC0u) != 0x80u) return false;
      point = point << 6u | (next & 0x3Fu);
    }
    const uint32_t least = num_more == 3 ? 0x10000 : num_more == 2 ? 0x800 : 0x80;
    if (point < least || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
  }
  return true;
}

}  // namespace heed
