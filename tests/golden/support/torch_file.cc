// SPDX-License-Identifier: Apache-2.0
#include "golden/support/torch_file.h"

#include <fstream>

namespace heed::golden {

using Json = nlohmann::json;

TorchFile::TorchFile(const std::string& name) : name_(name) {
  std::ifstream file(HEED_SOURCE_DIR "/tests/golden/data/" + name + ".safetensors", std::ios::binary);
  uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string header(size, '\0');
  file.read(header.data(), static_cast<std::streamsize>(size));
  metadata_ = Json::parse(header).at("__metadata__");
}

std::vector<std::string> TorchFile::cases() const {
  return Json::parse(metadata_.at("cases").get<std::string>()).get<std::vector<std::string>>();
}

Json TorchFile::options_of(const std::string& name) const { return Json::parse(metadata_.at(name).get<std::string>()); }

}  // namespace heed::golden
