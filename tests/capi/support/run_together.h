// SPDX-License-Identifier: Apache-2.0
// Threads that start at the same time, as far as possible.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

namespace heed::capi_test {

// Runs work(0), work(1), ... each on its own thread, and waits for all of them.
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
