// SPDX-License-Identifier: Apache-2.0
// Ends the benchmark with a message if it cannot go on.
#ifndef HEED_BENCH_FAIL_H
#define HEED_BENCH_FAIL_H

#include <heed/heed.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace bench {

[[noreturn]] inline void fail(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::exit(1);
}

inline void check(heed_status status) {
  if (status != HEED_OK) fail(heed_last_error());
}

}  // namespace bench

#endif  // HEED_BENCH_FAIL_H
