// SPDX-License-Identifier: Apache-2.0
#include "capi/support/files.h"

#include <fstream>
#include <iterator>

#include "support/platform/files.h"

namespace heed::capi_test {

TemporaryFolder::TemporaryFolder(const std::string& prefix) : folder_(make_unique_folder(prefix)) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path(name), std::ios::binary) << bytes;
  return path(name);
}

std::vector<std::string> TemporaryFolder::file_names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
  return names;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string safetensors(const std::string& header, size_t num_data_bytes) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(uint64_t{header.size()} >> shift & 0xFFu);
  return bytes + header + std::string(num_data_bytes, '\0');
}

}  // namespace heed::capi_test
