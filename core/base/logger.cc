// SPDX-License-Identifier: Apache-2.0
#include "base/logger.h"

#include <cstdarg>
#include <cstdio>

#include "base/last_error.h"
#include "base/shown_text.h"
#include "platform/threads.h"

namespace heed {
namespace {

thread_local constinit bool inside_logger = false;

}  // namespace

void log(const Logger& logger, LogLevel level, const char* format, ...) noexcept {
  if (logger.write == nullptr || inside_logger) return;
  char message[kLogCapacity];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  char text[kLogCapacity];
  copy_printable(text, sizeof text, message);

  // A logger may write to a file, which is a cancellation point of POSIX threads. A cancellation there would unwind
  // through the handler below.
  const platform::NoCancellation no_cancellation;
  const Error before = last_error();
  inside_logger = true;
  try {
    logger.write(logger.user, static_cast<int32_t>(level), text);
  } catch (...) {
    // A logger must not throw. If it does, its message is lost, and the call goes on.
  }
  inside_logger = false;
  last_error() = before;
}

}  // namespace heed
