// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of file formats require: inputs are files, and wrong files must be refused with a message.
#pragma once

#include <string>

#include "base/error.h"
#include "fuzz/support/require.h"

namespace heed::fuzz {

inline void require_refusal(const Error& error) {
  const std::string text = error.text;
  require(error.status == Status::CorruptFile || error.status == Status::Unsupported, text);
  require(text.size() > 10 && text.find("\"memory\"") != std::string::npos, "a sentence names the file: " + text);
}

}  // namespace heed::fuzz
