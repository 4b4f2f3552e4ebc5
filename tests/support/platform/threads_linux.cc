// SPDX-License-Identifier: Apache-2.0
#include "support/platform/threads.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace heed {
namespace {

constexpr const char* kTasks = "/proc/self/task";

std::set<std::string> names_of(const sigset_t& signals) {
  constexpr struct {
    int signal;
    const char* name;
  } kSignals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},   {SIGPROF, "SIGPROF"}, {SIGCHLD, "SIGCHLD"},
                  {SIGUSR1, "SIGUSR1"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},
                  {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"}};
  std::set<std::string> names;
  for (const auto& [signal, name] : kSignals) {
    if (sigismember(&signals, signal) == 1) names.insert(name);
  }
  return names;
}

}  // namespace

int64_t num_threads() { return static_cast<int64_t>(std::distance(std::filesystem::directory_iterator(kTasks), {})); }

int count_worker_threads(WorkerThreads which) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator(kTasks)) {
    // number (name) state ...; empty if the thread has ended meanwhile.
    std::string number, name, state;
    std::ifstream(task.path() / "stat") >> number >> name >> state;
    if (name == "(heed-worker)" && (which == WorkerThreads::All || state == "S")) ++count;
  }
  return count;
}

bool worker_threads_come_to(int expected, WorkerThreads which) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (count_worker_threads(which) != expected) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::set<std::string> blocked_signals() {
  sigset_t signals = {};
  ::pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  return names_of(signals);
}

std::set<std::string> pending_signals() {
  sigset_t signals = {};
  ::sigpending(&signals);
  return names_of(signals);
}

bool is_cancelled_in(const std::function<void()>& work) {
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    ::pthread_cancel(::pthread_self());
    (*static_cast<const std::function<void()>*>(argument))();
    ::pthread_testcancel();
    return nullptr;
  };
  if (::pthread_create(&thread, nullptr, run, const_cast<std::function<void()>*>(&work)) != 0) return false;
  void* result = nullptr;
  return ::pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED;
}

void cancellation_point() { ::pthread_testcancel(); }

}  // namespace heed
