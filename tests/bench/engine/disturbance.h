// SPDX-License-Identifier: Apache-2.0
// Whether other processes, or the host of this machine, took processor time from a measurement. What they take of the
// memory's bandwidth cannot be seen.
#ifndef HEED_BENCH_DISTURBANCE_H
#define HEED_BENCH_DISTURBANCE_H

namespace bench {

// Watches used_processors() from its construction on.
class DisturbanceWatch {
 public:
  DisturbanceWatch();
  [[nodiscard]] bool disturbed() const;

 private:
  struct Seconds {
    double wall = 0;
    double own = 0;     // of this process
    double busy = 0;    // of anybody, on the watched processors
    double stolen = 0;  // by the host
  };
  [[nodiscard]] Seconds read() const;

  int threads_;
  Seconds start_;
};

}  // namespace bench

#endif  // HEED_BENCH_DISTURBANCE_H
