// SPDX-License-Identifier: Apache-2.0
// Functions for the fuzzers of file formats: inputs are files, and wrong files must be refused with a message.
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

// The length of the header, which ends at the first zero byte. A fuzzer writes it before its input, since a mutation
// would hardly change header and length together.
inline size_t header_length(std::span<const uint8_t> bytes) {
  const void* zero = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  return zero == nullptr ? bytes.size() : static_cast<size_t>(static_cast<const uint8_t*>(zero) - bytes.data());
}

}  // namespace heed::fuzz
