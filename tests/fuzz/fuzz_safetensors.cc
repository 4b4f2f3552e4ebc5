// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .safetensors file: it is refused with a message, or every tensor can be read, from bytes inside the
// file.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "fuzz/support/file_input.h"
#include "fuzz/support/header.h"
#include "fuzz/support/require.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

namespace heed::fuzz {
namespace {

constexpr size_t kLengthBytes = 8;

// The number of bytes of a tensor; unsupported tensors must be refused.
size_t read_tensor(const SafetensorsFile& file, const std::string& name) {
  require(file.contains(name), "a tensor of the list is contained");
  try {
    const SafetensorsEntry* entry = file.find(name);
    require(entry != nullptr && entry->name == name, "a tensor of the list is found");
    size_t num_bytes = size_of(entry->dtype);
    for (int32_t axis = 0; axis < entry->shape.rank; ++axis) num_bytes *= static_cast<size_t>(entry->shape[axis]);
    require(num_bytes == entry->num_bytes, "shape and dtype give the bytes of " + name);
    row_major_strides(entry->shape, entry->dtype);  // Throws if no tensor can have this shape.
    // Memory of exactly this size, so that a sanitizer finds writes after its end.
    std::vector<uint8_t> contents(entry->num_bytes);
    file.read(*entry, contents.data());
    return entry->num_bytes;
  } catch (const Error& error) {
    require(error.status == Status::Unsupported, error.text);
    require_refusal(error);
    return 0;
  }
}

void read_file(std::span<const uint8_t> bytes) {
  try {
    const SafetensorsFile file(std::make_unique<MemorySource>(bytes.data(), bytes.size()));
    size_t num_bytes = 0;
    for (size_t i = 0; i < file.num_tensors(); ++i) {
      require(i == 0 || file.name(i - 1) < file.name(i), "names are sorted and differ");
      num_bytes += read_tensor(file, std::string(file.name(i)));
    }
    require(num_bytes <= bytes.size() - kLengthBytes, "no byte belongs to two tensors");
    require(file.contains("a") == (file.find("a") != nullptr), "what is contained is found");
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

  read_file(heed::fuzz::after_length_of_header(bytes));
  return 0;
}
