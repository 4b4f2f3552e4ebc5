// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include <cstdio>
#include <memory>

int main() {
  heed_context* created = nullptr;
  if (heed_context_create(nullptr, &created) != HEED_OK) {
    std::fprintf(stderr, "%s\n", heed_last_error());
    return 1;
  }
  const std::unique_ptr<heed_context, void (*)(heed_context*)> context(created, heed_context_destroy);
  std::printf("heed %s from C++\n", heed_version_string());
  return 0;
}
