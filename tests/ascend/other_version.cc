// SPDX-License-Identifier: Apache-2.0
// A plugin of another version. It has only the version, the one member that every version of the table has.
#include <cstdint>

extern "C" __attribute__((visibility("default"))) const int32_t* heed_backend() {
  static const int32_t kVersion = 5;
  return &kVersion;
}
