// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .npy file: it is refused with a message, or gives an array whose elements are the last bytes of the
// file.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"
#include "fuzz/support/file_input.h"
#include "fuzz/support/header.h"
#include "fuzz/support/require.h"
#include "tensor/npy.h"
#include "unit/plain_memory.h"

namespace heed::fuzz {
namespace {

void read_file(std::span<const uint8_t> bytes) {
  try {
    const heed::Tensor tensor = load_npy(plain_memory(), MemorySource(bytes.data(), bytes.size()));
    const auto num_bytes = static_cast<size_t>(tensor.num_elements()) * size_of(tensor.dtype());
    require(num_bytes <= bytes.size(), "the elements come from the file");
    // In either order of the file the elements are the same, so they are compared sorted.
    std::vector<uint8_t> loaded(num_bytes);
    if (num_bytes > 0) std::memcpy(loaded.data(), tensor.data(), num_bytes);
    std::vector<uint8_t> stored(bytes.end() - static_cast<std::ptrdiff_t>(num_bytes), bytes.end());
    std::sort(loaded.begin(), loaded.end());
    std::sort(stored.begin(), stored.end());
    require(loaded == stored, "the elements are those of the file");
  } catch (const Error& error) {
    require_refusal(error);
  }
}

}  // namespace
}  // namespace heed::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  using heed::fuzz::read_file;
  const std::span<const uint8_t> bytes(data, num_bytes);
  read_file(bytes);

  // The bytes once more after a valid beginning.
  const size_t length = heed::fuzz::header_length(bytes);
  if (length > 0xFFFF) return 0;
  std::vector<uint8_t> file = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  file.push_back(static_cast<uint8_t>(length & 0xFF));
  file.push_back(static_cast<uint8_t>(length >> 8));
  file.insert(file.end(), bytes.begin(), bytes.end());
  read_file(file);
  return 0;
}
