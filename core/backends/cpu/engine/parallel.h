// SPDX-License-Identifier: Apache-2.0
// Parallel work: an operation is a loop over independent tasks, and each worker that takes part runs a share of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/backend.h"
#include "backends/cpu/engine/scratch.h"
#include "base/call_progress.h"
#include "ops/cost.h"
#include "platform/floating_point_environment.h"

namespace heed::cpu {

// A loop over tasks. `function` is the caller's function object with its type erased; the caller keeps it.
struct Loop {
  void (*call)(const void* function, int64_t task, int32_t worker) = nullptr;
  const void* function = nullptr;
  int64_t num_tasks = 0;
  double flops = 0;                  // of all tasks, estimated
  CallProgress* progress = nullptr;  // null: not reported
  // Whether its tasks take subnormal numbers as 0: all workers do what the thread that begins the loop does.
  bool flushes_subnormals = false;

  // False if the call shall stop: then no further task is run.
  bool run(int64_t task, int32_t worker) const {
    if (progress != nullptr && progress->is_stopped()) return false;
    call(function, task, worker);
    return progress == nullptr || progress->finish_task(flops / static_cast<double>(num_tasks));
  }

  void run_alone() const {
    for (int64_t task = 0; task < num_tasks; ++task) {
      if (!run(task, 0)) return;
    }
  }
};

// The threads of a device. They run one parallel loop at a time. A loop that is started while another runs, by another
// thread or from within it, is run by its caller alone.
class Team {
 public:
  // The largest number of workers of a loop, its caller included.
  virtual int32_t num_workers() const = 0;
  // Runs the loop on at most num_workers workers (at least 2), fewer where some join too late. All tasks are done when
  // it returns, after a failure too, unless the loop's progress has stopped the call.
  virtual Status run(const Loop& loop, int32_t num_workers, Failure* failure) = 0;

 protected:
  ~Team() = default;
};

// Work in FLOPs: the longer of computing and reading.
inline double work_of(const Cost& cost) {
  // The FLOPs that a core computes while it reads one byte from memory, with each running at its full speed.
  constexpr double kFlopsPerByte = 2.5;
  return std::max(cost.flops, kFlopsPerByte * cost.bytes);
}

// Runs the loop on at most num_threads workers, a number of Workers::num_wanted. A failure of the team goes to `failure`.
// The tasks are done in both cases, unless the loop's progress has stopped the call.
inline Status run_on(Team& team, const Loop& loop, int32_t num_threads, Failure* failure) {
  const auto wanted = static_cast<int32_t>(std::min<int64_t>({loop.num_tasks, num_threads, team.num_workers()}));
  if (wanted > 1) return team.run(loop, wanted, failure);
  loop.run_alone();
  return Status::Ok;
}

// The team as an operation uses it.
class Workers {
 public:
  // The first failure of the team goes to `failure`, and makes the status.
  Workers(Team& team, Failure* failure) : team_(team), failure_(failure) {}

  // The largest number of workers of a loop, its caller included.
  int32_t num_workers() const { return team_.num_workers(); }

  // Calls function(task) once for each task from 0 to num_tasks - 1, on at most num_threads threads, a number that
  // num_wanted() returned. Worker w of n (of at most SharedLoop::kMaxShares) begins with the tasks w, w + n, w + 2n and
  // so on, then runs tasks that other workers have not begun; so the largest tasks should come first. Returns when all
  // tasks are done, and what they wrote is then visible to the caller. `flops` estimates the work of all tasks:
  // sleeping threads are woken only for a loop that takes longer than waking them. The function must not call for_each,
  // and must not throw. If the progress of the operation stops the call, tasks that have not begun are left out.
  template <typename Function>
  void for_each(int64_t num_tasks, int32_t num_threads, double flops, const Function& function) const {
    run_numbered(num_tasks, num_threads, flops, [&](int64_t task, int32_t) { function(task); });
  }

  // As above, with function(task, own): `own` is the worker's part of the scratch memory, which no other call has at the
  // same time. Where not every worker has a part, the caller runs all tasks.
  template <typename Function>
  void for_each(const Scratch& scratch, int64_t num_tasks, int32_t num_threads, double flops,
                const Function& function) const {
    const bool has_all = scratch.layout().num_workers >= num_workers();
    run_numbered(num_tasks, has_all ? num_threads : 1, flops,
                 [&](int64_t task, int32_t worker) { function(task, scratch.of_worker(worker)); });
  }

  // Ok, or the first failure of the team; the tasks are done in both cases, but for those that were left out.
  Status status() const { return status_; }

  // How many of num_workers need scratch memory for a loop with at most that number of tasks and FLOPs: 1, the caller,
  // where the loop is too small to share; otherwise all, because any thread may join the loop under its own number.
  static int32_t num_with_scratch(double num_tasks, double flops, int32_t num_workers) {
    return num_tasks >= 2 && num_wanted(2, flops, num_workers) > 1 ? num_workers : 1;
  }

  // How many of num_workers should run a loop of that work; at least 1.
  static int32_t num_wanted(int64_t num_tasks, double flops, int32_t num_workers) {
    const auto most = static_cast<double>(std::min<int64_t>(num_tasks, num_workers));
    return static_cast<int32_t>(std::max(1.0, std::min(most, flops / kFlopsPerWorker)));
  }

 private:
  // The least work that is worth one more worker: about 5 microseconds at 100 GFLOP/s, which a core reaches where half
  // of its time goes into loads and tails. A worker that is awake needs 1 to 2 microseconds to see that a loop has
  // begun, and the caller as long to see that it has ended. A loop of less than twice this work runs on its caller
  // alone.
  static constexpr double kFlopsPerWorker = 5e5;

  // function(task, worker): 0 <= worker < num_workers(), the caller is worker 0, and no two calls at a time have the
  // same worker.
  template <typename Function>
  void run_numbered(int64_t num_tasks, int32_t num_threads, double flops, const Function& function) const {
    CallProgress* const progress = CallProgress::of_operation();
    if (progress == nullptr && std::min<int64_t>(num_tasks, num_threads) <= 1) {
      for (int64_t task = 0; task < num_tasks; ++task) function(task, int32_t{0});
      return;
    }
    const Loop loop = {
        .call = [](const void* erased, int64_t task,
                   int32_t worker) { (*static_cast<const Function*>(erased))(task, worker); },
        .function = &function,
        .num_tasks = num_tasks,
        .flops = flops,
        .progress = progress,
        .flushes_subnormals = platform::FlushedSubnormals::are_flushed(),
    };
    Failure failure;
    const Status status = run_on(team_, loop, num_threads, &failure);
    if (status == Status::Ok || status_ != Status::Ok) return;
    status_ = status;
    *failure_ = failure;
  }

  Team& team_;
  Failure* failure_;
  mutable Status status_ = Status::Ok;
};

}  // namespace heed::cpu
