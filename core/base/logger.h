// SPDX-License-Identifier: Apache-2.0
// Messages to the host program. Without a logger heed writes none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace heed {

// Same numbers as HEED_LOG_ in heed.h; capi/src asserts it.
enum class LogLevel : int32_t { Error = 1, Warning = 2, Info = 3, Debug = 4 };

// The members of heed_logger; without `write` messages are dropped.
struct Logger {
  void (*write)(void* user, int32_t level, const char* text) = nullptr;
  void* user = nullptr;
};

// Room for a function's name and an error's sentence.
inline constexpr size_t kLogCapacity = kErrorCapacity + 64;

// A message to the host: the text that its logger gets, and the same with its terms marked (base/terms.h).
struct LogMessage {
  char text[kLogCapacity];
  char marked[kMarkedCapacity];
};

// The message that the logger of this thread is being given; null outside of its call.
const LogMessage* current_message() noexcept;

// Writes one message as one line of ASCII, by convention "function: sentence". Allocates nothing, holds no lock, and
// restores the thread's last error after the call of the logger. Do not call it in a catch block, since the logger may
// throw an exception of another C++ runtime. Drops messages from a thread that is inside its logger.
__attribute__((format(printf, 3, 4))) void log(const Logger& logger, LogLevel level, const char* format, ...) noexcept;

}  // namespace heed
