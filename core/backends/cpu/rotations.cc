// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/rotations.h"

#include <algorithm>
#include <cstddef>

#include "backends/cpu/engine/planned_loop.h"
#include "base/rounding.h"

namespace heed::cpu {
namespace {

// Rows of a task, some microseconds.
constexpr int64_t kTaskRows = 64;
constexpr double kFlopsPerPair = 8;

int64_t most_rows(const RotationsProblem& problem) {
  return problem.of_keys != 0 ? problem.limits.num_keys : problem.limits.num_queries;
}

}  // namespace

Plan plan_rotations(const KernelTable& kernels, const RotationsProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "rotations";
  plan.isa = kernels.isa;
  const double tasks =
      static_cast<double>(problem.batch) * static_cast<double>(divide_up(most_rows(problem), kTaskRows));
  const double work = static_cast<double>(problem.batch) * static_cast<double>(most_rows(problem)) *
                      static_cast<double>(problem.num_pairs) * kFlopsPerPair;
  plan_loop(plan, tasks, work, num_workers);
  return plan;
}

void run_rotations(const RotationsProblem& problem, const Plan& plan, const Workers& workers) {
  const int64_t tasks_of_element = divide_up(most_rows(problem), kTaskRows);
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t b = task / tasks_of_element;
    const int64_t begin = task % tasks_of_element * kTaskRows;
    write_rotations(problem, b, begin, std::min(num_rotated_rows(problem, b), begin + kTaskRows));
  });
}

}  // namespace heed::cpu
