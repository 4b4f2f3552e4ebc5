// SPDX-License-Identifier: Apache-2.0
// The folder of a model that a fuzzer changes.
#pragma once

#include <map>
#include <string>

#include "capi/support/files.h"

namespace heed::fuzz {

// Lies beside the fuzzer's program, since libFuzzer runs in another folder, and is removed at the end.
class ModelFolder {
 public:
  ModelFolder();

  std::string path() const { return folder_.path(""); }
  // Writes the file anew if it has other bytes. Returns its path.
  std::string write(const std::string& name, const std::string& bytes);

 private:
  capi_test::TemporaryFolder folder_;
  std::map<std::string, std::string> written_;
};

}  // namespace heed::fuzz
