// SPDX-License-Identifier: Apache-2.0
// heed's own threads as the system sees them.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace heed {

// The thread sanitizer ends a child that makes threads where its parent had some.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kForkedChildMayHaveThreads = false;
#else
inline constexpr bool kForkedChildMayHaveThreads = true;
#endif

enum class WorkerThreads { All, Asleep };

// Those of this process, by their name.
inline int count_worker_threads(WorkerThreads which = WorkerThreads::All) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    // number (name) state ...; empty where the thread has ended meanwhile.
    std::string number, name, state;
    std::ifstream(task.path() / "stat") >> number >> name >> state;
    if (name == "(heed-worker)" && (which == WorkerThreads::All || state == "S")) ++count;
  }
  return count;
}

// Those that were joined may be seen a moment longer, and those that were made get their name when they begin.
inline bool worker_threads_come_to(int expected, WorkerThreads which = WorkerThreads::All) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count_worker_threads(which) != expected) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace heed
