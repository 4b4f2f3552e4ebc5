// SPDX-License-Identifier: Apache-2.0
// Headers of files whose length is written before them. A mutation would hardly change header and length together, so fuzzers
// write the length before their input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace heed::fuzz {

// The length of the header, which ends at the first zero byte.
inline size_t header_length(std::span<const uint8_t> bytes) {
  const void* zero = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  return zero == nullptr ? bytes.size() : static_cast<size_t>(static_cast<const uint8_t*>(zero) - bytes.data());
}

// Makes a .safetensors file of an input that begins with the header: puts the header's length before it.
inline std::vector<uint8_t> after_length_of_header(std::span<const uint8_t> bytes) {
  const uint64_t length = header_length(bytes);
  std::vector<uint8_t> file(sizeof length);
  std::memcpy(file.data(), &length, sizeof length);
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

}  // namespace heed::fuzz
