// SPDX-License-Identifier: Apache-2.0
// Threads that begin at once, as nearly as threads can.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace heed::capi_test {

// Runs work(0), work(1), ... each on a thread of its own, and waits for all.
template <typename Work>
void run_together(int num_threads, Work work) {
  std::atomic<int> num_waiting{num_threads};
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) {
    threads.emplace_back([&, i] {
      --num_waiting;
      while (num_waiting > 0) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace heed::capi_test
