// SPDX-License-Identifier: Apache-2.0
#include "fuzz/support/model_folder.h"

#include <filesystem>
#include <system_error>

#include "fuzz/support/require.h"

namespace heed::fuzz {
namespace {

std::filesystem::path& folder_of_program() {
  static std::filesystem::path folder = ".";
  return folder;
}

}  // namespace

ModelFolder::ModelFolder() : folder_((folder_of_program() / "fuzz-model-").string()) {}

std::string ModelFolder::write(const std::string& name, const std::string& bytes) {
  const std::string path = folder_.path(name);
  std::string& written = written_[name];
  if (written == bytes) return path;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  folder_.write(name, bytes);
  require(capi_test::read_file(path) == bytes, "a file can be written: " + path);
  written = bytes;
  return path;
}

}  // namespace heed::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerInitialize(const int* /*num_arguments*/, char*** arguments) {
  heed::fuzz::folder_of_program() = std::filesystem::path((*arguments)[0]).parent_path();
  return 0;
}
