// SPDX-License-Identifier: Apache-2.0
// The CPU in the place of a device that cannot do an operation: operands are copied to the host, and results back.
#pragma once

#include "backends/backend.h"
#include "backends/operation.h"
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

  // How the CPU does a problem whose operands the device has; `on_device` is the device's own plan, whose reasons the
  // result has.
  template <typename Problem>
  Plan plan(const Problem& problem, const Plan& on_device) const;

  // Does it. The operands are in `memory`, in which results are when this returns; it allocates host memory for all of
  // them.
  template <typename Problem>
  void run(const Memory& memory, const Problem& problem, const Plan& plan) const;

 private:
  OpenDevice cpu_;
};

}  // namespace heed
