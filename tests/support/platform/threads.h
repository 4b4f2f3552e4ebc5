// SPDX-License-Identifier: Apache-2.0
// Threads as the system sees them: their number, signals and cancellation.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace heed {

// The threads of this process.
int64_t num_threads();

enum class WorkerThreads { All, Asleep };

// heed's own threads in this process, recognized by their name.
int count_worker_threads(WorkerThreads which = WorkerThreads::All);

// Waits up to 10 seconds until there are so many. Threads that were joined are visible for a moment longer, and new
// threads get their name when they begin.
bool worker_threads_come_to(int expected, WorkerThreads which = WorkerThreads::All);

// Of SIGTERM, SIGINT, SIGPROF, SIGCHLD, SIGUSR1, SIGXFSZ, SIGSEGV, SIGBUS, SIGFPE and SIGILL those that the calling thread
// blocks, and those that are pending for it.
std::set<std::string> blocked_signals();
std::set<std::string> pending_signals();

// Runs `work` on a new thread that has been cancelled, so that it ends at its first point of cancellation: in work, or
// behind it. Returns whether it was ended so.
bool is_cancelled_in(const std::function<void()>& work);
// Such a point.
void cancellation_point();

}  // namespace heed
