// SPDX-License-Identifier: Apache-2.0
#include "platform/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace heed::platform {
namespace {

constinit std::atomic<uint32_t> number = 1;

// When heed is loaded, not on first use: then another thread could fork before the handler is registered. glibc removes
// the handler when heed is unloaded.
__attribute__((constructor)) void count_forks() {
  ::pthread_atfork(nullptr, nullptr, [] { number.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

// Counted at forks, since getpid would be a system call each time.
uint32_t process_number() noexcept { return number.load(std::memory_order_relaxed); }

int64_t process_id() noexcept { return ::getpid(); }

const char* safe_environment(const char* name) noexcept { return ::secure_getenv(name); }

}  // namespace heed::platform
