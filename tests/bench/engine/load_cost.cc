// SPDX-License-Identifier: Apache-2.0
// load_cost LIBRARY: the time and resident memory to load heed in a new process and to create a context, as medians
// over several processes, in a JSON object. The program is not linked with heed, since that would load it before
// main().
#include <dlfcn.h>
#include <heed/heed.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "clock.h"

namespace {

[[noreturn]] void fail(const char* sentence) {
  std::fprintf(stderr, "%s\n", sentence);
  std::exit(1);
}

// Milliseconds to load, milliseconds to create a context, kilobytes for both.
using Cost = std::array<double, 3>;

double resident_kilobytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

Cost load(const char* path) {
  const double kilobytes = resident_kilobytes();
  const double start = bench::now();
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const double loaded = bench::now();
  if (library == nullptr) fail(dlerror());
  const auto create = reinterpret_cast<decltype(&heed_context_create)>(dlsym(library, "heed_context_create"));
  heed_context* context = nullptr;
  if (create == nullptr || create(nullptr, &context) != HEED_OK) fail("no context");
  const double opened = bench::now();
  return {1e3 * (loaded - start), 1e3 * (opened - loaded), resident_kilobytes() - kilobytes};
}

Cost load_in_new_process(const char* path) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) fail("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    const Cost cost = load(path);
    _exit(write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  close(ends[1]);
  Cost cost{};
  const bool arrived = read(ends[0], &cost, sizeof cost) == sizeof cost;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!arrived || status != 0) fail("loading failed");
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kProcesses = 21;
  if (argc != 2) fail("usage: load_cost LIBRARY");
  std::array<std::vector<double>, 3> costs;
  for (int i = 0; i < kProcesses; ++i) {
    const Cost cost = load_in_new_process(argv[1]);
    for (size_t k = 0; k < cost.size(); ++k) costs[k].push_back(cost[k]);
  }
  for (auto& cost : costs) std::sort(cost.begin(), cost.end());
  std::ifstream file(argv[1], std::ios::binary | std::ios::ate);
  std::printf("{\"load_ms\": %.3f, \"open_ms\": %.3f, \"resident_kb\": %.0f, \"file_kb\": %.0f}\n",
              costs[0][kProcesses / 2], costs[1][kProcesses / 2], costs[2][kProcesses / 2],
              static_cast<double>(file.tellg()) / 1024);
  return 0;
}
