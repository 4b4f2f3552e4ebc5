// SPDX-License-Identifier: Apache-2.0
// The functions of a backend's table for each kind of problem, with failures as exceptions.
#pragma once

#include "backends/backend.h"

namespace heed {

// Which of a table's functions plan and run a problem.
template <typename Problem>
struct OperationOf;
template <>
struct OperationOf<LinearProblem> {
  static constexpr auto kPlan = &Backend::plan_linear;
  static constexpr auto kRun = &Backend::run_linear;
};
template <>
struct OperationOf<AttentionProblem> {
  static constexpr auto kPlan = &Backend::plan_attention;
  static constexpr auto kRun = &Backend::run_attention;
};
template <>
struct OperationOf<SoftmaxProblem> {
  static constexpr auto kPlan = &Backend::plan_softmax;
  static constexpr auto kRun = &Backend::run_softmax;
};
template <>
struct OperationOf<DropoutProblem> {
  static constexpr auto kPlan = &Backend::plan_dropout;
  static constexpr auto kRun = &Backend::run_dropout;
};

// An open device of a backend; `device` is its state.
struct OpenDevice {
  const Backend* backend = nullptr;
  BackendDevice* device = nullptr;

  template <typename Problem>
  Plan plan(const Problem& problem) const {
    Plan plan;
    Failure failure;
    if ((backend->*OperationOf<Problem>::kPlan)(device, &problem, &plan, &failure) != Status::Ok) throw failure;
    return plan;
  }
  template <typename Problem>
  void run(const Problem& problem, const Plan& plan, void* scratch) const {
    Failure failure;
    if ((backend->*OperationOf<Problem>::kRun)(device, &problem, &plan, scratch, &failure) != Status::Ok) throw failure;
  }
};

}  // namespace heed
