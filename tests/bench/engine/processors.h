// SPDX-License-Identifier: Apache-2.0
// Which processors the threads of a measurement run on: the calling thread on the first, all others, whose libraries they
// may be, on the next ones. Left to the system two of them often share one while another idles.
#ifndef HEED_BENCH_PROCESSORS_H
#define HEED_BENCH_PROCESSORS_H

#include <vector>

namespace bench {

// Those that this process may use at its start, in order.
const std::vector<int>& processors();

// From now on the calling thread has the first processor, and `threads` are used altogether.
void use_processors(int threads);
std::vector<int> used_processors();

// While it exists, threads that are started stay on the other used processors.
class StartingThreads {
 public:
  StartingThreads();
  StartingThreads(const StartingThreads&) = delete;
  StartingThreads& operator=(const StartingThreads&) = delete;
  ~StartingThreads();
};

}  // namespace bench

#endif  // HEED_BENCH_PROCESSORS_H
