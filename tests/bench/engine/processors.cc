// SPDX-License-Identifier: Apache-2.0
// Sets the affinity of the calling thread, which new threads inherit from it.
#include "processors.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace bench {
namespace {

// 0 means all, until use_processors() has been called.
size_t num_used = 0;

std::vector<int> allowed_now() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> allowed;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) allowed.push_back(processor);
  }
  return allowed;
}

void stay_on(const std::vector<int>& allowed) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : allowed) CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

std::vector<int> all_but_first(std::vector<int> used) {
  if (used.size() > 1) used.erase(used.begin());
  return used;
}

}  // namespace

const std::vector<int>& processors() {
  static const std::vector<int> kAll = allowed_now();
  return kAll;
}

void use_processors(int threads) {
  num_used = std::min(static_cast<size_t>(threads), processors().size());
  stay_on({processors()[0]});
}

std::vector<int> used_processors() {
  const std::vector<int>& all = processors();
  return num_used == 0 ? all : std::vector<int>(all.begin(), all.begin() + static_cast<long>(num_used));
}

int num_threads_running() {
  int running = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "stat");
    std::string text;
    std::getline(file, text);
    // The state comes after the name, which is in parentheses and may itself contain any. Empty for a thread that has
    // ended.
    const size_t end = text.rfind(") ");
    if (end != std::string::npos && text[end + 2] == 'R') ++running;
  }
  return running;
}

void stay_on_processor(int number) {
  const std::vector<int> used = used_processors();
  stay_on({used[static_cast<size_t>(number) % used.size()]});
}

Stay::Stay(const std::vector<int>& allowed) : before_(allowed_now()) { stay_on(allowed); }

Stay::~Stay() { stay_on(before_); }

OnAllProcessors::OnAllProcessors() : Stay(used_processors()) {}

StartingThreads::StartingThreads() : Stay(all_but_first(used_processors())) {}

}  // namespace bench
