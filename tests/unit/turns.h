// SPDX-License-Identifier: Apache-2.0
// A Team of many workers on one thread, for tests of how work is distributed.
#pragma once

#include <cstdint>

#include "backends/cpu/engine/parallel.h"

namespace heed::cpu {

// Task i is run by worker i % num_workers, on the caller's thread, from the last task to the first.
class Turns final : public Team {
 public:
  explicit Turns(int32_t num_workers) : num_workers_(num_workers) {}
  int32_t num_workers() const override { return num_workers_; }
  Status run(const Loop& loop, int32_t, Failure*) override {
    for (int64_t task = loop.num_tasks - 1; task >= 0; --task)
      loop.call(loop.function, task, static_cast<int32_t>(task % num_workers_));
    return Status::Ok;
  }

 private:
  int32_t num_workers_;
};

}  // namespace heed::cpu
