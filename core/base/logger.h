// SPDX-License-Identifier: Apache-2.0
// Messages to the program that uses heed. Without its logger heed says nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace heed {

// Same numbers as HEED_LOG_ in heed.h; capi/src asserts it.
enum class LogLevel : int32_t { Error = 1, Warning = 2, Info = 3, Debug = 4 };

// The members of heed_logger; by default silence.
struct Logger {
  void (*write)(void* user, int32_t level, const char* text) = nullptr;
  void* user = nullptr;
};

// An error's sentence behind the name of the function that failed.
inline constexpr size_t kLogCapacity = kErrorCapacity + 64;

// Writes one message, "function: sentence" by custom, as one line of ASCII. Allocates nothing, holds no lock, and
// leaves the thread's last error as it was, whatever the logger does; so it may stand anywhere. Messages of a thread
// that is inside its logger are dropped.
__attribute__((format(printf, 3, 4))) void log(const Logger& logger, LogLevel level, const char* format, ...) noexcept;

}  // namespace heed
