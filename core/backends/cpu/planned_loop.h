// SPDX-License-Identifier: Apache-2.0
// Operations that are one loop over tasks: what the plan says about the loop, and the loop as the plan says.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/parallel.h"
#include "backends/plan.h"

namespace heed::cpu {

// Plans a loop over num_tasks tasks of together `flops` FLOPs. The number is a double, because plans are also made for
// shapes that are too large to run.
inline void plan_loop(Plan& plan, double num_tasks, double flops, int32_t num_workers) {
  plan.num_tasks = static_cast<int64_t>(std::min(num_tasks, 0x1p62));
  plan.num_threads = Workers::num_wanted(plan.num_tasks, flops, num_workers);
  set_choice(plan, flops);
}

// Calls function(task, worker) for each task of a plan by plan_loop, as Workers::for_each does.
template <typename Function>
void run_loop(const Plan& plan, const Workers& workers, const Function& function) {
  workers.for_each(plan.num_tasks, plan.num_threads, choice_of<double>(plan), function);
}

}  // namespace heed::cpu
