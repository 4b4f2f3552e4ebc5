// SPDX-License-Identifier: Apache-2.0
#include "errors/said_lines.h"

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <set>

#include "../../bindings/swig/said.h"

namespace heed::errors_test {
namespace {

std::set<std::string> lines;

std::string said_in(Language language) {
  std::array<char, SAID_CAPACITY> text{};
  say(language, heed_last_error(), text.data(), text.size());
  EXPECT_LT(std::string(text.data()).size(), text.size() - 1) << "has no room in the buffer: " << heed_last_error();
  return text.data();
}

}  // namespace

void keep_said() {
  std::string line = std::string(heed_last_error()) + "\t" + said_in(kJava) + "\t" + said_in(kCsharp) + "\t";
  heed_role role = HEED_ROLE_TEXT;
  size_t size = 0;
  for (int32_t i = 0; const char* text = heed_message_part(heed_last_error(), i, &role, &size); ++i) {
    if (role != HEED_ROLE_TEXT) line += std::to_string(role) + ":" + std::string(text, size) + "\x1f";
  }
  lines.insert(line);
}

void write_said(const std::string& path) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << "\n";
  EXPECT_FALSE(lines.empty());
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace heed::errors_test
