// SPDX-License-Identifier: Apache-2.0
// What every Team must do: run each task once, with a valid worker index, and never two tasks of one worker at the same
// time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/parallel.h"

namespace heed::cpu {

// So many operations that a loop gets all workers.
inline constexpr double kMuch = 1e12;

// Runs a loop that counts how often each task runs, and returns its status.
inline Status expect_each_task_once(Team& team, int64_t num_tasks, Failure* failure, double flops = kMuch) {
  std::vector<int> times(static_cast<size_t>(num_tasks), 0);
  std::vector<std::atomic<bool>> is_working(static_cast<size_t>(team.num_workers()));
  const Workers workers(team, failure);
  workers.for_each(num_tasks, flops, [&](int64_t task, int32_t worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, team.num_workers());
    EXPECT_FALSE(is_working[static_cast<size_t>(worker)].exchange(true))
        << "worker " << worker << " runs two tasks at the same time";
    ++times[static_cast<size_t>(task)];
    is_working[static_cast<size_t>(worker)] = false;
  });
  for (size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], 1) << "task " << i;
  return workers.status();
}

inline void expect_each_task_once(Team& team, int64_t num_tasks, double flops = kMuch) {
  Failure failure;
  EXPECT_EQ(expect_each_task_once(team, num_tasks, &failure, flops), Status::Ok) << failure.text;
}

}  // namespace heed::cpu
