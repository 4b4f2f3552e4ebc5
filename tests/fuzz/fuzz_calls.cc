// SPDX-License-Identifier: Apache-2.0
// Any bytes as a program of C API calls.
#include "fuzz/calls/machine.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  heed::fuzz::Machine(heed::fuzz::Bytes({data, num_bytes})).run();
  return 0;
}
