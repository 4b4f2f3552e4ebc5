// SPDX-License-Identifier: Apache-2.0
#include "platform/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace heed::platform {
namespace {

constinit std::atomic<uint32_t> number = 1;

// Registered when heed is loaded, not on first use, since another thread could fork before the first use. glibc removes
// the handler when heed is unloaded.
__attribute__((constructor)) void count_forks() {
  ::pthread_atfork(nullptr, nullptr, [] { number.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace

// Counts the forks, since getpid would take a system call each time.
uint32_t process_number() noexcept { return number.load(std::memory_order_relaxed); }

int64_t process_id() noexcept { return ::getpid(); }

const char* safe_environment(const char* name) noexcept { return ::secure_getenv(name); }

}  // namespace heed::platform
