// SPDX-License-Identifier: Apache-2.0
#include "base/logger.h"

#include <cstdarg>
#include <cstdio>

#include "base/last_error.h"
#include "platform/threads.h"

namespace heed {
namespace {

thread_local constinit const LogMessage* the_current_message = nullptr;

}  // namespace

const LogMessage* current_message() noexcept { return the_current_message; }

void log(const Logger& logger, LogLevel level, const char* format, ...) noexcept {
  if (logger.write == nullptr || the_current_message != nullptr) return;
  char sentence[kMarkedCapacity];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  LogMessage message;
  print(sentence, message.text, sizeof message.text, message.marked);

  // A logger may write to a file, which is a cancellation point of POSIX threads. A cancellation there would unwind
  // through the handler below.
  const platform::NoCancellation no_cancellation;
  const LastError before = last_error();
  the_current_message = &message;
  try {
    logger.write(logger.user, static_cast<int32_t>(level), message.text);
  } catch (...) {
    // A logger must not throw. If it does, its message is lost, and the call goes on.
  }
  the_current_message = nullptr;
  last_error() = before;
}

}  // namespace heed
