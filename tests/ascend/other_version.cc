// SPDX-License-Identifier: Apache-2.0
// A plugin of another version: the one member of the table that every version has.
#include <cstdint>

extern "C" __attribute__((visibility("default"))) const int32_t* heed_backend() {
  static const int32_t kVersion = 5;
  return &kVersion;
}
