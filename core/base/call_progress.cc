// SPDX-License-Identifier: Apache-2.0
#include "base/call_progress.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/error.h"
#include "platform/floating_point_environment.h"
#include "platform/threads.h"

namespace heed {

constinit thread_local CallProgress* CallProgress::progress_of_operation = nullptr;

CallProgress::CallProgress(const Progress& progress, const char* name, const char* unit, int64_t total)
    : progress_(progress), name_(name), unit_(unit), total_(total), thread_(&progress_of_operation) {
  if (!is_given()) return;
  report(0);
  require_going();
}

void CallProgress::begin(int64_t count) {
  part_ = count;
  in_part_.store(0, std::memory_order_relaxed);
}

void CallProgress::end() {
  before_part_ += std::exchange(part_, 0);
  if (!is_given()) return;
  if (!is_stopped() && before_part_ != reported_) report(before_part_);
  require_going();
}

void CallProgress::add_bytes(int64_t count) {
  if (!is_given()) return;
  in_part_.fetch_add(count, std::memory_order_relaxed);
  if (!is_on_own_thread()) return;
  if (!is_stopped() && done_so_far() - reported_ >= kBytesBetweenReports) report(done_so_far());
  require_going();
}

bool CallProgress::finish_task(double flops) noexcept {
  in_part_.fetch_add(1, std::memory_order_relaxed);
  if (is_on_own_thread() && !is_stopped()) {
    flops_ += flops;
    if (flops_ >= kFlopsBetweenReports) report(done_so_far());
  }
  return !is_stopped();
}

bool CallProgress::is_on_own_thread() const noexcept { return thread_ == &progress_of_operation; }

int64_t CallProgress::done_so_far() const noexcept {
  const int64_t most = std::max<int64_t>(0, part_ - 1);
  return before_part_ + std::min(in_part_.load(std::memory_order_relaxed), most);
}

void CallProgress::report(int64_t done) noexcept {
  flops_ = 0;
  reported_ = done;
  // A cancellation of the host's thread would unwind through the handler below.
  const platform::NoCancellation no_cancellation;
  const platform::FloatingPointEnvironment environment;
  // What the report computes with heed belongs to other calls.
  const Scope other_calls(nullptr);
  try {
    answer_ = progress_.report(progress_.user, done, total_);
  } catch (...) {
    has_thrown_ = true;
  }
  if (answer_ != 0 || has_thrown_) is_stopped_.store(true, std::memory_order_relaxed);
}

void CallProgress::require_going() const {
  if (!is_stopped()) return;
  if (has_thrown_) {
    fail(Status::InvalidArgument,
         "%s->report threw a C++ exception, expected it to return 0, or another number to stop the call", name_);
  }
  fail(Status::Cancelled,
       "%s->report returned %d after %" PRId64 " of %" PRId64 " %s, expected 0 to go on: the call was stopped", name_,
       answer_, reported_, total_, unit_);
}

}  // namespace heed
