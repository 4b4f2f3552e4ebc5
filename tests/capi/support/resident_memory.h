// SPDX-License-Identifier: Apache-2.0
// The resident memory of the process (resident set size), as Linux counts it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace heed::capi_test {

// 0 where the system does not tell.
inline size_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  size_t total = 0;
  size_t resident = 0;
  const int num_read = std::fscanf(file, "%zu %zu", &total, &resident);
  std::fclose(file);
  return num_read == 2 ? resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

// Why resident_bytes says nothing here of what was freed; null where it does.
inline const char* why_residency_is_unknown() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "the sanitizers keep what is freed";
#else
  return resident_bytes() == 0 ? "no /proc" : nullptr;
#endif
}

}  // namespace heed::capi_test
