// SPDX-License-Identifier: Apache-2.0
// Threads as the system reports them: their number, signals and cancellation.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace heed {

// The number of threads of this process.
int64_t num_threads();

enum class WorkerThreads { All, Asleep };

// The number of heed's own threads in this process, which are recognized by their name.
int count_worker_threads(WorkerThreads which = WorkerThreads::All);

// Waits up to 10 seconds until there are `expected` threads. Joined threads are visible for a moment longer, and new
// threads get their name only when they start.
bool worker_threads_come_to(int expected, WorkerThreads which = WorkerThreads::All);

// Those of SIGTERM, SIGINT, SIGPROF, SIGCHLD, SIGUSR1, SIGXFSZ, SIGSEGV, SIGBUS, SIGFPE and SIGILL that the calling
// thread blocks; and those that are pending for it.
std::set<std::string> blocked_signals();
std::set<std::string> pending_signals();

// Runs `work` on a new thread that has been cancelled, so that it ends at its next cancellation point, in `work` or
// after it. Returns whether the thread ended by cancellation.
bool is_cancelled_in(const std::function<void()>& work);
// A cancellation point.
void cancellation_point();

}  // namespace heed
