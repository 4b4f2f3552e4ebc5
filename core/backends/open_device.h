// SPDX-License-Identifier: Apache-2.0
// An open device of a backend; failures are thrown as exceptions.
#pragma once

#include "backends/backend.h"
#include "base/call_progress.h"

namespace heed {

struct OpenDevice {
  const Backend* backend = nullptr;
  BackendDevice* device = nullptr;

  bool knows(const Op& op) const { return (backend->operations & bit_of(op.kind)) != 0; }
  // The backend must know the operation.
  Plan plan(const Op& op) const {
    Plan plan;
    Failure failure;
    if (backend->plan(device, &op, &plan, &failure) != Status::Ok) throw failure;
    return plan;
  }
  // `progress`: null, or that of the call, which the CPU's loops report.
  void run(const Op& op, const Plan& plan, void* scratch, CallProgress* progress) const {
    if (progress == nullptr) return run(op, plan, scratch);
    const CallProgress::Scope of_operation(progress);
    run(op, plan, scratch);
  }
  void run(const Op& op, const Plan& plan, void* scratch) const {
    Failure failure;
    if (backend->run(device, &op, &plan, scratch, &failure) != Status::Ok) throw failure;
  }
};

}  // namespace heed
