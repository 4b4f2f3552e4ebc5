// SPDX-License-Identifier: Apache-2.0
// A table of a backend's operations with typed functions; the `operations`, `plan` and `run` of Backend are generated
// from it.
#pragma once

#include <cstdint>

#include "backends/backend.h"

namespace heed {

// One operation of a backend.
struct Operation {
  OpKind kind;
  Status (*plan)(const BackendDevice* device, const Op& op, Plan* plan, Failure* failure);
  Status (*run)(BackendDevice* device, const Op& op, const Plan& plan, void* scratch, Failure* failure);
};

// The table's entry for an operation, from its functions for Problem: plan(device, problem, plan, failure) and
// run(device, problem, plan, scratch, failure).
template <typename Problem, auto typed_plan, auto typed_run>
constexpr Operation operation() {
  return {.kind = Problem().op.kind,
          .plan = [](const BackendDevice* device, const Op& op, Plan* plan,
                     Failure* failure) { return typed_plan(*device, problem_of<Problem>(op), plan, failure); },
          .run = [](BackendDevice* device, const Op& op, const Plan& plan, void* scratch,
                    Failure* failure) { return typed_run(*device, problem_of<Problem>(op), plan, scratch, failure); }};
}

template <size_t count>
constexpr uint64_t bits_of(const Operation (&operations)[count]) {
  uint64_t bits = 0;
  for (const Operation& operation : operations) bits |= bit_of(operation.kind);
  return bits;
}

// The entry of a kind, which must be in the table.
template <size_t count>
const Operation& operation_of(const Operation (&operations)[count], OpKind kind) {
  const Operation* found = operations;
  while (found->kind != kind) ++found;
  return *found;
}

}  // namespace heed
