// SPDX-License-Identifier: Apache-2.0
// The CPU in the place of a device that cannot do an operation: operands are copied to the host, and results back.
#pragma once

#include "backends/backend.h"
#include "backends/open_device.h"
#include "base/memory.h"

namespace heed {

class HostEngine {
 public:
  // Opens the CPU with the device's options. Throws as that does.
  explicit HostEngine(const BackendOptions& options);
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;
  ~HostEngine();

  int32_t num_threads() const;

  // How the CPU computes a problem whose operands are in the device's memory. The plan gives the reasons of `on_device`,
  // the device's own plan.
  Plan plan(const Op& op, const Plan& on_device) const;

  // Computes it. The operands, and the results when this returns, are in `memory`. Allocates host memory for copies of
  // all of them.
  void run(const Memory& memory, const Op& op, const Plan& plan) const;

 private:
  OpenDevice cpu_;
};

}  // namespace heed
