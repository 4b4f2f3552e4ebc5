// SPDX-License-Identifier: Apache-2.0
// Which processors the threads of a measurement run on: the calling thread on the first, all others, whose libraries
// they may be, on the next ones. Left to the system two of them often share one while another idles.
#ifndef HEED_BENCH_PROCESSORS_H
#define HEED_BENCH_PROCESSORS_H

#include <vector>

namespace bench {

// Those that this process may use at its start, in order.
const std::vector<int>& processors();

// From now on the calling thread has the first processor, and `threads` are used altogether.
void use_processors(int threads);
std::vector<int> used_processors();

// Of this process, the calling one among them; those that wait awake run as well. Their processor times would tell it
// too late: they are counted in ticks.
int num_threads_running();

// The calling thread stays on the used processor of that number, modulo their count.
void stay_on_processor(int number);

// Where the calling thread may run while it exists; then it is where it was.
class Stay {
 public:
  explicit Stay(const std::vector<int>& allowed);
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay();

 private:
  std::vector<int> before_;
};

// On all used processors, for those who count them.
class OnAllProcessors : Stay {
 public:
  OnAllProcessors();
};

// On all used processors but the first: there the threads that are started meanwhile stay.
class StartingThreads : Stay {
 public:
  StartingThreads();
};

}  // namespace bench

#endif  // HEED_BENCH_PROCESSORS_H
