// SPDX-License-Identifier: Apache-2.0
// Files that a test writes in a temporary folder, which is removed afterwards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heed::capi_test {

class TemporaryFolder {
 public:
  // `prefix`: the path of a folder, and the beginning of the name in it.
  explicit TemporaryFolder(const std::string& prefix = "capi-tmp-");
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  // The path of a file in the folder; the file need not exist.
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const;

  std::vector<std::string> file_names() const;

 private:
  std::filesystem::path folder_;
};

std::string read_file(const std::string& path);

// A .safetensors file: the length of the header, the header, and num_data_bytes zeros.
std::string safetensors(const std::string& header, size_t num_data_bytes);

}  // namespace heed::capi_test
