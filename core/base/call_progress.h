// SPDX-License-Identifier: Apache-2.0
// Reports of a call that may take long, to the host program, which can stop the call by its answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace heed {

// The members of heed_progress; without `report` nothing is reported.
struct Progress {
  int32_t (*report)(void* user, int64_t done, int64_t total) = nullptr;
  void* user = nullptr;
};

// The progress of one call, which is a row of parts. Made on the thread of the call, the only one that reports; other
// threads count what they have done.
class CallProgress {
 public:
  // `name`: the words for the progress in messages; `unit`: what is counted; both static. Reports the beginning. Throws as
  // end().
  CallProgress(const Progress& progress, const char* name, const char* unit, int64_t total);
  CallProgress(const CallProgress&) = delete;
  CallProgress& operator=(const CallProgress&) = delete;

  bool is_given() const { return progress_.report != nullptr; }

  // The next part of the call.
  void begin(int64_t count);
  // The part is done: reports it. Throws Cancelled if any report of the call has answered that it shall stop,
  // InvalidArgument if one has thrown an exception.
  void end();

  // From any thread: bytes of the part that have been read. More than the part has are the part. Reports at times on the
  // thread of the call, and then throws as end().
  void add_bytes(int64_t count);

  // For loops over tasks, from any thread: a task is done that took so many FLOPs. Reports at times on the thread of the
  // call. False if the call shall stop.
  bool finish_task(double flops) noexcept;
  // Then no further task is begun.
  bool is_stopped() const noexcept { return is_stopped_.load(std::memory_order_relaxed); }

  // The progress of the operation that the calling thread runs; null: none, or one that reports nothing.
  static CallProgress* of_operation() noexcept { return progress_of_operation; }

  // Sets of_operation() until the scope ends.
  class Scope {
   public:
    explicit Scope(CallProgress* progress) noexcept : before_(std::exchange(progress_of_operation, progress)) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { progress_of_operation = before_; }

   private:
    CallProgress* before_;
  };

 private:
  // Its address is another one on each thread.
  static constinit thread_local CallProgress* progress_of_operation;

  // So much work of the calling thread is between two reports: some milliseconds.
  static constexpr double kFlopsBetweenReports = 3e8;
  static constexpr int64_t kBytesBetweenReports = int64_t{1} << 20;

  bool is_on_own_thread() const noexcept;
  // The part counts as done only when it ends, so that only the last report has the total.
  int64_t done_so_far() const noexcept;
  void report(int64_t done) noexcept;
  void require_going() const;

  const Progress progress_;
  const char* const name_;
  const char* const unit_;
  const int64_t total_;
  const void* const thread_;
  int64_t before_part_ = 0;
  int64_t part_ = 0;
  int64_t reported_ = 0;
  double flops_ = 0;  // of the calling thread since the last report
  int32_t answer_ = 0;
  bool has_thrown_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<int64_t> in_part_ = 0;
};

}  // namespace heed
