// SPDX-License-Identifier: Apache-2.0
// Operations that are one loop over tasks: what the plan says about the loop, and the loop as the plan says.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/engine/parallel.h"
#include "backends/cpu/engine/scratch.h"
#include "backends/plan.h"

namespace heed::cpu {

// What plan_loop decides and run_loop follows.
struct LoopChoice {
  double flops = 0;  // of all tasks
  ScratchLayout scratch;
};

// Plans a loop over num_tasks tasks of together `flops` FLOPs. The number is a double, because plans are also made for
// shapes that are too large to run.
inline void plan_loop(Plan& plan, double num_tasks, double flops, int32_t num_workers) {
  plan.num_tasks = static_cast<int64_t>(std::min(num_tasks, 0x1p62));
  plan.num_threads = Workers::num_wanted(plan.num_tasks, flops, num_workers);
  set_choice(plan, LoopChoice{flops, {}});
}

// Calls function(task) for each task of a plan by plan_loop, as Workers::for_each does.
template <typename Function>
void run_loop(const Plan& plan, const Workers& workers, const Function& function) {
  workers.for_each(plan.num_tasks, plan.num_threads, choice_of<LoopChoice>(plan).flops, function);
}

// Plans such a loop, each worker of which needs worker_bytes of scratch memory, and all of them shared_bytes, a double as above.
inline void plan_loop_with_scratch(Plan& plan, double num_tasks, double flops, size_t worker_bytes, int32_t num_workers,
                                   double shared_bytes = 0) {
  plan_loop(plan, num_tasks, flops, num_workers);
  const ScratchLayout layout = {.worker_bytes = worker_bytes,
                                .shared_bytes = static_cast<size_t>(std::min(shared_bytes, 0x1p60)),
                                .num_workers = Workers::num_with_scratch(num_tasks, flops, num_workers)};
  plan.scratch_bytes = layout.num_bytes();
  set_choice(plan, LoopChoice{flops, layout});
}

// The memory that all workers of a plan by plan_loop_with_scratch share.
inline std::byte* shared_scratch(const Plan& plan, void* memory) {
  return Scratch(choice_of<LoopChoice>(plan).scratch, memory).shared();
}

// Calls function(task, own) for each task of a plan by plan_loop_with_scratch; `own` is the worker's part of the memory.
template <typename Function>
void run_loop_with_scratch(const Plan& plan, const Workers& workers, void* memory, const Function& function) {
  const auto& choice = choice_of<LoopChoice>(plan);
  const Scratch scratch(choice.scratch, memory);
  workers.for_each(scratch, plan.num_tasks, plan.num_threads, choice.flops, function);
}

}  // namespace heed::cpu
