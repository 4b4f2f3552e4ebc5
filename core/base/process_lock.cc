// SPDX-License-Identifier: Apache-2.0
#include "base/process_lock.h"

#include <pthread.h>

namespace heed {
namespace {

constinit std::atomic<uint32_t> number = 1;

// When heed is loaded: on first use, a fork by another thread could fall into it. glibc takes the handler away when
// heed is unloaded.
__attribute__((constructor)) void notice_forks() {
  ::pthread_atfork(nullptr, nullptr, [] { number.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

// Counted at forks, since asking for the process id would be a system call each time.
uint32_t process_number() noexcept { return number.load(std::memory_order_relaxed); }

}  // namespace heed
