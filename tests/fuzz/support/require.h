// SPDX-License-Identifier: Apache-2.0
// The assertion of fuzzers: if it fails, the process ends, and the fuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace heed::fuzz {

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::abort();
}

}  // namespace heed::fuzz
