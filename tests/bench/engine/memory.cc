// SPDX-License-Identifier: Apache-2.0
// Reads the resident memory and its peak from /proc/self/status.
#include "memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "data.h"
#include "fail.h"
#include "heed_subject.h"
#include "processors.h"

namespace bench {
namespace {

int64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) == 0) return 1024 * std::stoll(line.substr(key.size() + 1));
  }
  fail("no " + key + " in /proc/self/status");
}

// A small call of the same kind, which loads the library's code into memory.
void call_small(BenchCase small) {
  small.lengths.clear();
  if (small.kind == Kind::kCache) {
    small.rows_of_call.clear();
    small.packed = false;
  }
  small.cold = false;
  small.batch = small.heads = small.kv_heads = small.rows = 1;
  small.queries = small.keys = small.head_size = small.value_size = small.embedding = small.inputs = small.outputs = 8;
  const Data data(small);
  HeedSubject heed(small, data, 1);
  heed.prepare();
  heed.call();
}

}  // namespace

int64_t extra_memory(const BenchCase& bench_case, int threads) {
  // Freed memory goes back to the system, so that reusing it cannot hide an allocation.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 64 << 10);
  use_processors(threads);
  call_small(bench_case);
  const Data data(bench_case);
  HeedSubject heed(bench_case, data, threads);
  malloc_trim(0);
  // 5 resets the peak to the current resident memory.
  std::ofstream("/proc/self/clear_refs") << "5";
  const int64_t before = status_bytes("VmRSS");
  heed.prepare();
  heed.call();
  heed.restore();
  heed.call();
  return status_bytes("VmHWM") - before;
}

int64_t extra_memory_of_process(const BenchCase& bench_case, int threads, const Options& options) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length < 0) fail("no /proc/self/exe");
  const std::string command = "'" + std::string(self, length) + "' --shapes '" + options.shapes + "' --memory-of '" +
                              bench_case.name + "' --threads " + std::to_string(threads);
  FILE* output = popen(command.c_str(), "r");
  long long num_bytes = -1;
  if (output == nullptr || std::fscanf(output, "%lld", &num_bytes) != 1) fail("this failed: " + command);
  pclose(output);
  return num_bytes;
}

}  // namespace bench
