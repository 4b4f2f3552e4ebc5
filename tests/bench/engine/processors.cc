// SPDX-License-Identifier: Apache-2.0
// The affinity of the calling thread, which those that it starts inherit.
#include "processors.h"

#include <sched.h>

#include <algorithm>

namespace bench {
namespace {

size_t num_used = 1;

void stay_on(const std::vector<int>& allowed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : allowed) CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

const std::vector<int>& processors() {
  static const std::vector<int> kAll = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::vector<int> all;
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &set)) all.push_back(processor);
    }
    return all;
  }();
  return kAll;
}

void use_processors(int threads) {
  num_used = std::min(static_cast<size_t>(threads), processors().size());
  stay_on({processors()[0]});
}

std::vector<int> used_processors() {
  return {processors().begin(), processors().begin() + static_cast<long>(num_used)};
}

StartingThreads::StartingThreads() {
  const std::vector<int> used = used_processors();
  if (used.size() > 1) stay_on({used.begin() + 1, used.end()});
}

StartingThreads::~StartingThreads() { stay_on({processors()[0]}); }

}  // namespace bench
