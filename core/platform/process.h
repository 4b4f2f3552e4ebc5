// SPDX-License-Identifier: Apache-2.0
// The process: its number, and its environment variables.
#pragma once

#include <cstdint>

namespace heed::platform {

// A number that differs between this process and its ancestors by fork; never 0. Takes no system call.
uint32_t process_number() noexcept;

// The system's process id, for file names.
int64_t process_id() noexcept;

// An environment variable; null if it is not set, and in programs that run with another user's rights, since these must
// not load files that their caller names.
const char* safe_environment(const char* name) noexcept;

}  // namespace heed::platform
