// SPDX-License-Identifier: Apache-2.0
// The processors on which the threads of a measurement run: the calling thread on the first, all others, of whichever
// library, on the next ones. Otherwise the system often runs two of them on one processor while another is idle.
#ifndef HEED_BENCH_PROCESSORS_H
#define HEED_BENCH_PROCESSORS_H

#include <vector>

namespace bench {

// The processors that this process could use when it started, in order.
const std::vector<int>& processors();

// From now on the calling thread runs on the first processor, and `threads` processors are used in total.
void use_processors(int threads);
std::vector<int> used_processors();

// The number of running threads of this process, including the caller and threads that spin. Counted by their states,
// since their processor times change only by ticks.
int num_threads_running();

// Binds the calling thread to the used processor of this number, modulo their count.
void stay_on_processor(int number);

// Sets the affinity of the calling thread in its scope, and restores it afterwards.
class Stay {
 public:
  explicit Stay(const std::vector<int>& allowed);
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
  ~Stay();

 private:
  std::vector<int> before_;
};

// All used processors, for libraries that count the processors.
class OnAllProcessors : Stay {
 public:
  OnAllProcessors();
};

// All used processors but the first: threads that are started in its scope stay there.
class StartingThreads : Stay {
 public:
  StartingThreads();
};

}  // namespace bench

#endif  // HEED_BENCH_PROCESSORS_H
