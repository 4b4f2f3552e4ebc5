// SPDX-License-Identifier: Apache-2.0
#include "support/platform/processors.h"

#include <sched.h>

#include <fstream>
#include <sstream>

namespace heed {

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  return processors;
}

bool stay_on_processor(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

std::set<std::string> processor_flags() {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; flags.empty() && std::getline(file, line);) {
    // The name of the line on x86, and on Arm.
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(word);
  }
  return flags;
}

}  // namespace heed
