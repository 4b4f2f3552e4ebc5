// SPDX-License-Identifier: Apache-2.0
// A Team with the caller as its only worker.
#pragma once

#include <cstdint>

#include "backends/cpu/engine/parallel.h"

namespace heed::cpu {

class LoneWorker final : public Team {
 public:
  int32_t num_workers() const override { return 1; }
  Status run(const Loop& loop, int32_t, Failure*) override {
    loop.run_alone();
    return Status::Ok;
  }
};

}  // namespace heed::cpu
