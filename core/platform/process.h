// SPDX-License-Identifier: Apache-2.0
// The process: its number, and its environment variables.
#pragma once

#include <cstdint>

namespace heed::platform {

// A number that this process has and none of its ancestors by fork, never 0. Costs no system call.
uint32_t process_number() noexcept;

// The system's number of this process, for names of files.
int64_t process_id() noexcept;

// An environment variable; null where it is not set, and in programs that run with another user's rights, which must
// not load what their caller names.
const char* safe_environment(const char* name) noexcept;

}  // namespace heed::platform
