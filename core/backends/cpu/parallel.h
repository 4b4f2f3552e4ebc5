// SPDX-License-Identifier: Apache-2.0
// How an operation spreads its work: independent items, of which each who takes part has a share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/backend.h"
#include "ops/cost.h"

namespace heed::cpu {

// A loop over items, whose function has lost its type; it stays where the caller has it.
struct Loop {
  void (*call)(const void* function, int64_t item, int32_t worker) = nullptr;
  const void* function = nullptr;
  int64_t num_items = 0;
  double flops = 0;  // of all items, estimated

  void run_alone() const {
    for (int64_t item = 0; item < num_items; ++item) call(function, item, 0);
  }
};

// The threads of a device. They run one parallel loop at a time. A loop that is started while another runs, by another
// thread or from within it, is run by its caller alone.
class Team {
 public:
  // At most so many take part, the caller included.
  virtual int32_t num_workers() const = 0;
  // Runs the loop with up to so many, at least 2; with fewer where they would come too late. All items are done when it
  // returns, after a failure too.
  virtual Status run(const Loop& loop, int32_t num_workers, Failure* failure) = 0;

 protected:
  ~Team() = default;
};

// Work in FLOPs: the longer of computing and reading.
inline double work_of(const Cost& cost) {
  // What a core computes in the time in which memory gives it a byte, when either is all it does.
  constexpr double kFlopsPerByte = 2.5;
  return std::max(cost.flops, kFlopsPerByte * cost.bytes);
}

// The team as an operation uses it.
class Workers {
 public:
  // The first failure of the team goes to `failure`, and makes the status.
  Workers(Team& team, Failure* failure) : team_(team), failure_(failure) {}

  // At most so many take part, the caller included: what each needs for itself is made so many times.
  int32_t num_workers() const { return team_.num_workers(); }

  // Calls function(task, worker) once for each task from 0 to num_tasks - 1, on at most num_threads threads, as
  // num_wanted() found it. The first of n workers takes the tasks 0, n, 2n and so on, the next 1, n + 1, 2n + 1, as long
  // as nobody is behind; so the largest belong first. 0 <= worker < num_workers(), and no two calls at a time have the
  // same one. Returns when all are done, and sees all that they wrote. `flops` estimates the whole: sleeping threads are
  // woken only for a loop that takes longer than waking them. One thread is the caller, as worker 0. The function must
  // not call for_each, and must not throw.
  template <typename Function>
  void for_each(int64_t num_tasks, int32_t num_threads, double flops, const Function& function) const {
    const auto wanted = static_cast<int32_t>(std::min<int64_t>({num_tasks, num_threads, num_workers()}));
    if (wanted <= 1) {
      for (int64_t task = 0; task < num_tasks; ++task) function(task, int32_t{0});
      return;
    }
    const Loop loop = {
        .call = [](const void* erased, int64_t item,
                   int32_t worker) { (*static_cast<const Function*>(erased))(item, worker); },
        .function = &function,
        .num_items = num_tasks,
        .flops = flops,
    };
    run(loop, wanted);
  }

  // The same on as many threads as the work is worth.
  template <typename Function>
  void for_each(int64_t num_tasks, double flops, const Function& function) const {
    for_each(num_tasks, num_wanted(num_tasks, flops, num_workers()), flops, function);
  }

  // Ok, or what the team has failed with; the work was done all the same.
  Status status() const { return status_; }

  // How many of num_workers need scratch for a loop of at most so many items and FLOPs: 1, the caller, where the loop is
  // too small to share; otherwise all, because any thread may join the loop under its own number.
  static int32_t num_with_scratch(double num_items, double flops, int32_t num_workers) {
    return num_items >= 2 && num_wanted(2, flops, num_workers) > 1 ? num_workers : 1;
  }

  // How many of so many workers such a loop is worth; at least 1.
  static int32_t num_wanted(int64_t num_items, double flops, int32_t num_workers) {
    const auto most = static_cast<double>(std::min<int64_t>(num_items, num_workers));
    return static_cast<int32_t>(std::max(1.0, std::min(most, flops / kFlopsPerWorker)));
  }

 private:
  // What one more worker must have to do: some 5 microseconds at 100 GFLOP/s, which a core reaches where half of its
  // time goes into loads and tails. A worker that is awake needs 1 or 2 to hear of the loop, and at its end as much for
  // its caller to hear of it; two such shares make the shortest loop that is spread.
  static constexpr double kFlopsPerWorker = 5e5;

  void run(const Loop& loop, int32_t wanted) const {
    Failure failure;
    const Status status = team_.run(loop, wanted, &failure);
    if (status == Status::Ok || status_ != Status::Ok) return;
    status_ = status;
    *failure_ = failure;
  }

  Team& team_;
  Failure* failure_;
  mutable Status status_ = Status::Ok;
};

}  // namespace heed::cpu
