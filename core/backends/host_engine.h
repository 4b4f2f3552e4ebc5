// SPDX-License-Identifier: Apache-2.0
// Computes operations that a device does not support on the CPU: copies operands to the host, and results back.
#pragma once

#include "backends/backend.h"
#include "backends/open_device.h"
#include "base/memory.h"

namespace heed {

class HostEngine {
 public:
  // Opens the CPU with the device's options. Throws what opening the CPU throws.
  explicit HostEngine(const BackendOptions& options);
  HostEngine(const HostEngine&) = delete;
  HostEngine& operator=(const HostEngine&) = delete;
  ~HostEngine();

  int32_t num_threads() const;

  // Backend::update.
  void update(const UpdateArguments& arguments) const { cpu_.backend->update(cpu_.device, &arguments); }

  // How the CPU computes a problem with operands in the device's memory. The plan has the reasons (not_fastest) of
  // `on_device`, the plan of the device.
  Plan plan(const Op& op, const Plan& on_device) const;

  // Computes the problem. Its operands and results are in `memory`; the results are there when this function returns.
  // Allocates host memory for copies of all of them. If the progress stops the call, there are no results.
  void run(const Memory& memory, const Op& op, const Plan& plan, CallProgress* progress) const;

 private:
  OpenDevice cpu_;
};

}  // namespace heed
