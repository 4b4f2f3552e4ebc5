// SPDX-License-Identifier: Apache-2.0
// Detects whether other processes, or the host of this virtual machine, used processor time during a measurement. Their
// use of memory bandwidth cannot be detected.
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
    double busy = 0;    // of all processes, on the watched processors
    double stolen = 0;  // by the host
  };
  [[nodiscard]] Seconds read() const;

  int threads_;
  Seconds start_;
};

}  // namespace bench

#endif  // HEED_BENCH_DISTURBANCE_H
