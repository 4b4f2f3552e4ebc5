// SPDX-License-Identifier: Apache-2.0
// What every Team must do: run each task once, with a valid worker index, and never two tasks of one worker at the same
// time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/engine/parallel.h"

namespace heed::cpu {

// So many operations that a loop gets all workers.
inline constexpr double kMuch = 1e12;

// Calls function(task, worker) for each task of a loop on as many threads as an operation would use.
template <typename Function>
Status run_tasks(Team& team, int64_t num_tasks, double flops, Failure* failure, const Function& function) {
  const auto call = [](const void* erased, int64_t task, int32_t worker) {
    (*static_cast<const Function*>(erased))(task, worker);
  };
  const Loop loop = {.call = call, .function = &function, .num_tasks = num_tasks, .flops = flops};
  return run_on(team, loop, Workers::num_wanted(num_tasks, flops, team.num_workers()), failure);
}

// Runs a loop that counts how often each task runs, and returns its status.
inline Status expect_each_task_once(Team& team, int64_t num_tasks, Failure* failure, double flops = kMuch) {
  std::vector<int> times(static_cast<size_t>(num_tasks), 0);
  std::vector<std::atomic<bool>> is_working(static_cast<size_t>(team.num_workers()));
  const Status status = run_tasks(team, num_tasks, flops, failure, [&](int64_t task, int32_t worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, team.num_workers());
    EXPECT_FALSE(is_working[static_cast<size_t>(worker)].exchange(true))
        << "worker " << worker << " runs two tasks at the same time";
    ++times[static_cast<size_t>(task)];
    is_working[static_cast<size_t>(worker)] = false;
  });
  for (size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], 1) << "task " << i;
  return status;
}

inline void expect_each_task_once(Team& team, int64_t num_tasks, double flops = kMuch) {
  Failure failure;
  EXPECT_EQ(expect_each_task_once(team, num_tasks, &failure, flops), Status::Ok) << failure.text;
}

}  // namespace heed::cpu
