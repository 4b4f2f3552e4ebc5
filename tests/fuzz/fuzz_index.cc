// SPDX-License-Identifier: Apache-2.0
// Any bytes as the index of a model in several files: it is refused with a message, or gives a list of names, each in a
// file whose name is a plain file name without a folder.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "fuzz/support/file_input.h"
#include "fuzz/support/require.h"
#include "tensor/file_kind.h"
#include "tensor/safetensors_index.h"

namespace heed::fuzz {
namespace {

void check_file(std::string_view file) {
  require(!file.empty() && file != "." && file != "..", "a file has a name");
  require(file.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos, "a file lies in the folder");
}

void read_index(std::span<const uint8_t> bytes) {
  const MemorySource source(bytes.data(), bytes.size());
  begins_as_json_object(source);
  try {
    refuse_other_kind(source, FileFormat::Npy);
  } catch (const Error& error) {
    require_refusal(error);
  }
  try {
    const SafetensorsIndex index = read_safetensors_index(source, {});
    for (size_t i = 0; i < index.files.size(); ++i) {
      require(i == 0 || index.files[i - 1] < index.files[i], "files are sorted and differ");
      check_file(index.files[i]);
    }
    std::vector<bool> is_used(index.files.size());
    for (size_t i = 0; i < index.names.size(); ++i) {
      require(i == 0 || index.names[i - 1].name < index.names[i].name, "names are sorted and differ");
      require(index.names[i].file < index.files.size(), "a name is in a file of the list");
      require(*index.names[i].name.end() == '\0', "a name is a C string");
      is_used[index.names[i].file] = true;
    }
    for (const bool used : is_used) require(used, "every file has a tensor");
  } catch (const Error& error) {
    require_refusal(error);
  }
  part_name_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace
}  // namespace heed::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  const std::span<const uint8_t> bytes(data, num_bytes);
  heed::fuzz::read_index(bytes);

  // The bytes once more as the members of the map.
  constexpr std::string_view kBegin = R"({"weight_map":{)";
  std::vector<uint8_t> index(kBegin.begin(), kBegin.end());
  index.insert(index.end(), bytes.begin(), bytes.end());
  index.insert(index.end(), 2, '}');
  heed::fuzz::read_index(index);
  return 0;
}
