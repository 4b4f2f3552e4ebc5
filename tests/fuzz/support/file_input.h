// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of file formats have in common: inputs are files, and files are refused in a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "base/error.h"
#include "fuzz/support/require.h"

namespace heed::fuzz {

inline void require_refusal(const Error& error) {
  const std::string text = error.text;
  require(error.status == Status::CorruptFile || error.status == Status::Unsupported, text);
  require(text.size() > 10 && text.find("\"memory\"") != std::string::npos, "a sentence names the file: " + text);
}

// The length of a header that is everything before the first zero byte. A fuzzer puts it in front of its input, which a
// mutation would have to change together with the header.
inline size_t header_length(std::span<const uint8_t> bytes) {
  const void* zero = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  return zero == nullptr ? bytes.size() : static_cast<size_t>(static_cast<const uint8_t*>(zero) - bytes.data());
}

}  // namespace heed::fuzz
